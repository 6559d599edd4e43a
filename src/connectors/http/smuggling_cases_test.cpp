#include "connectors/http/smuggling_test_support.hpp"

namespace drom::http {
namespace {

using namespace std::string_literals;

const std::string kPost = "POST /a HTTP/1.1\r\nHost: h\r\n";
const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n";
// What a smuggler would like to see answered.
const std::string kSecond = "GET /a/2 HTTP/1.1\r\nHost: h\r\n\r\n";

std::string sized(const std::string& length) { return kPost + "Content-Length: " + length; }
std::string coded(const std::string& line) { return kPost + line + "\r\n\r\n0\r\n\r\n" + kSecond; }
std::string chunked(const std::string& body) {
  return kPost + "Transfer-Encoding: chunked\r\n\r\n" + body;
}

}  // namespace

std::vector<SmugglingCase> two_length_cases() {
  const std::string length = "Content-Length: 6\r\n";
  const std::string coding = "Transfer-Encoding: chunked\r\n";
  const std::string body = "\r\n0\r\n\r\nG" + kSecond;
  return {
      {"CL.TE", kPost + length + coding + body, "400 close"},
      {"TE.CL", kPost + coding + length + body, "400 close"},
      {"CL.TE in other letters",
       kPost + "content-length: 6\r\ntransfer-ENCODING: Chunked\r\n" + body, "400 close"},
      {"CL.TE with an unknown coding", kPost + length + "Transfer-Encoding: x\r\n" + body,
       "501 close"},
      {"CL.TE with a list", kPost + length + "Transfer-Encoding: identity, chunked\r\n" + body,
       "501 close"},
      {"CL.TE with a blank before the colon",
       kPost + length + "Transfer-Encoding : chunked\r\n" + body, "400 close"},
      {"CL.TE with a folded value", kPost + length + "Transfer-Encoding:\r\n chunked\r\n" + body,
       "400 close"},
      {"CL.TE with a tab as fold",
       kPost + length + "X: a\r\n\tTransfer-Encoding: chunked\r\n" + body, "400 close"},
      {"CL.TE behind a bare CR", kPost + length + "X: a\rTransfer-Encoding: chunked\r\n" + body,
       "400 close"},
      {"CL.TE behind a bare LF", kPost + length + "X: a\nTransfer-Encoding: chunked\r\n" + body,
       "400 close"},
      {"CL.TE behind a NUL", kPost + length + "X: a\0Transfer-Encoding: chunked\r\n"s + body,
       "400 close"},
      {"CL.0 is no request of its own", kPost + "Content-Length: 33\r\n\r\n" + kSecond + kSecond,
       "[POST /a GET /a/2 HTTP/1.1\r\nHost: h\r\n\r\nGET] 400 close"},
      {"GET with a body", kGet + "Content-Length: 2\r\n\r\nhi" + kSecond,
       "[GET /a hi] [GET /a/2 ] open"},
  };
}

std::vector<SmugglingCase> content_length_cases() {
  return {
      {"twice the same", sized("2\r\nContent-Length: 2\r\n\r\nhi") + kSecond, "400 close"},
      {"twice, different", sized("2\r\nContent-Length: 3\r\n\r\nhi") + kSecond, "400 close"},
      {"list of the same", sized("2, 2\r\n\r\nhi") + kSecond, "400 close"},
      {"list of different", sized("2,3\r\n\r\nhi") + kSecond, "400 close"},
      {"list with an empty element", sized("2,\r\n\r\nhi") + kSecond, "400 close"},
      {"plus", sized("+2\r\n\r\nhi") + kSecond, "400 close"},
      {"minus", sized("-2\r\n\r\nhi") + kSecond, "400 close"},
      {"minus zero", sized("-0\r\n\r\n") + kSecond, "400 close"},
      {"inner blank", sized("1 0\r\n\r\n0123456789") + kSecond, "400 close"},
      {"hexadecimal", sized("0x2\r\n\r\nhi") + kSecond, "400 close"},
      {"underscore", sized("1_0\r\n\r\n0123456789") + kSecond, "400 close"},
      {"fraction", sized("2.0\r\n\r\nhi") + kSecond, "400 close"},
      {"exponent", sized("2e0\r\n\r\nhi") + kSecond, "400 close"},
      {"quoted", sized("\"2\"\r\n\r\nhi") + kSecond, "400 close"},
      {"empty", sized("\r\n\r\n") + kSecond, "400 close"},
      {"word", sized("two\r\n\r\nhi") + kSecond, "400 close"},
      {"parameter", sized("2;q=1\r\n\r\nhi") + kSecond, "400 close"},
      {"over 64 bits", sized("18446744073709551618\r\n\r\nhi") + kSecond, "400 close"},
      {"all 64 bits", sized("18446744073709551615\r\n\r\nhi"), "413 close"},
      {"forty digits", sized("1000000000000000000000000000000000000000\r\n\r\nhi"), "400 close"},
      {"over the limit", sized("2097152\r\n\r\nhi"), "413 close"},
      {"leading zeros", sized("002\r\n\r\nhi") + kSecond, "[POST /a hi] [GET /a/2 ] open"},
      {"blanks around", sized(" \t 2 \t \r\n\r\nhi") + kSecond, "[POST /a hi] [GET /a/2 ] open"},
      {"vertical tab before", sized("\v2\r\n\r\nhi") + kSecond, "400 close"},
      {"no-break space before",
       sized("\xa0"
             "2\r\n\r\nhi") +
           kSecond,
       "400 close"},
      {"blank in the name", kPost + "Content Length: 2\r\n\r\nhi" + kSecond, "400 close"},
      {"underscore in the name", kPost + "Content_Length: 30\r\n\r\n" + kSecond,
       "[POST /a ] [GET /a/2 ] open"},
      {"none is no body", kPost + "\r\n" + kSecond, "[POST /a ] [GET /a/2 ] open"},
  };
}

std::vector<SmugglingCase> transfer_encoding_cases() {
  const std::string both = "Transfer-Encoding: chunked\r\n";
  return {
      {"plain", coded("Transfer-Encoding: chunked"), "[POST /a ] [GET /a/2 ] open"},
      {"capitals", coded("TRANSFER-ENCODING: CHUNKED"), "[POST /a ] [GET /a/2 ] open"},
      {"tab before", coded("Transfer-Encoding:\tchunked"), "[POST /a ] [GET /a/2 ] open"},
      {"blanks behind", coded("Transfer-Encoding: chunked \t "), "[POST /a ] [GET /a/2 ] open"},
      {"letter before", coded("Transfer-Encoding: xchunked"), "501 close"},
      {"letter behind", coded("Transfer-Encoding: chunkedx"), "501 close"},
      {"comma before", coded("Transfer-Encoding: ,chunked"), "501 close"},
      {"comma behind", coded("Transfer-Encoding: chunked,"), "501 close"},
      {"identity", coded("Transfer-Encoding: identity"), "501 close"},
      {"chunked, identity", coded("Transfer-Encoding: chunked, identity"), "501 close"},
      {"gzip, chunked", coded("Transfer-Encoding: gzip, chunked"), "501 close"},
      {"chunked twice in one line", coded("Transfer-Encoding: chunked, chunked"), "501 close"},
      {"chunked twice in two lines", coded(both + "Transfer-Encoding: chunked"), "501 close"},
      {"chunked, then another", coded(both + "Transfer-Encoding: cow"), "501 close"},
      {"another, then chunked", coded("Transfer-Encoding: cow\r\nTransfer-Encoding: chunked"),
       "501 close"},
      {"quoted", coded("Transfer-Encoding: \"chunked\""), "501 close"},
      {"single quotes", coded("Transfer-Encoding: 'chunked'"), "501 close"},
      {"parameter", coded("Transfer-Encoding: chunked;q=1"), "501 close"},
      {"empty", coded("Transfer-Encoding:"), "501 close"},
      {"vertical tab", coded("Transfer-Encoding: \vchunked"), "400 close"},
      {"form feed", coded("Transfer-Encoding: chunked\f"), "400 close"},
      {"NUL", coded("Transfer-Encoding: chunked\0"s), "400 close"},
      {"delete character",
       coded("Transfer-Encoding: \x7f"
             "chunked"),
       "400 close"},
      {"no-break space",
       coded("Transfer-Encoding:\xa0"
             "chunked"),
       "501 close"},
      {"bare CR behind", coded("Transfer-Encoding: chunked\r"), "400 close"},
      {"bare LF before", coded("Transfer-Encoding:\nchunked"), "400 close"},
      {"blank before the name", coded(" Transfer-Encoding: chunked"), "400 close"},
      {"blank before the colon", coded("Transfer-Encoding : chunked"), "400 close"},
      {"tab before the colon", coded("Transfer-Encoding\t: chunked"), "400 close"},
      {"no colon", coded("Transfer-Encoding chunked"), "400 close"},
      {"two colons", coded("Transfer-Encoding:: chunked"), "501 close"},
      {"NUL in the name", coded("Transfer\0-Encoding: chunked"s), "400 close"},
      {"byte over 127 in the name", coded("Tr\xe4nsfer-Encoding: chunked"), "400 close"},
      {"HTTP/1.0", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + kSecond,
       "400 close"},
      {"HTTP/1.0 keep-alive",
       "POST /a HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
           kSecond,
       "400 close"},
  };
}

std::vector<SmugglingCase> chunk_cases() {
  const std::string end = "0\r\n\r\n";
  const std::string next = end + kSecond;
  const std::string long_extension(9'000, 'e');
  return {
      {"two chunks", chunked("2\r\nhi\r\n1\r\n!\r\n") + next, "[POST /a hi!] [GET /a/2 ] open"},
      {"hexadecimal sizes", chunked("A\r\n0123456789\r\nb\r\n0123456789a\r\n") + next,
       "[POST /a 01234567890123456789a] [GET /a/2 ] open"},
      {"leading zeros", chunked("0002\r\nhi\r\n") + next, "[POST /a hi] [GET /a/2 ] open"},
      {"several zeros at the end", chunked("2\r\nhi\r\n000\r\n\r\n") + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"too many zeros", chunked(std::string(40, '0') + "2\r\nhi\r\n") + next, "400 close"},
      {"size over 64 bits", chunked("10000000000000002\r\nhi\r\n") + next, "400 close"},
      {"all 64 bits", chunked("FFFFFFFFFFFFFFFF\r\nhi\r\n") + next, "413 close"},
      {"size over 32 bits", chunked("100000002\r\nhi\r\n") + next, "413 close"},
      {"sum over the limit", chunked("FFFFF\r\n" + std::string(0xFFFFF, 'x') + "\r\n2\r\nhi\r\n"),
       "413 close"},
      {"minus", chunked("-2\r\nhi\r\n") + next, "400 close"},
      {"plus", chunked("+2\r\nhi\r\n") + next, "400 close"},
      {"0x", chunked("0x2\r\nhi\r\n") + next, "400 close"},
      {"blank before the size", chunked(" 2\r\nhi\r\n") + next, "400 close"},
      {"blank behind the size", chunked("2 \r\nhi\r\n") + next, "400 close"},
      {"no size", chunked("\r\nhi\r\n") + next, "400 close"},
      {"semicolon for a size", chunked(";a\r\nhi\r\n") + next, "400 close"},
      {"no hexadecimal digit", chunked("2g\r\nhi\r\n") + next, "400 close"},
      {"underscore", chunked("1_0\r\n0123456789abcdef\r\n") + next, "400 close"},
      {"NUL in the size", chunked("2\0\r\nhi\r\n"s) + next, "400 close"},
      {"LF ends the size", chunked("2\nhi\r\n") + next, "400 close"},
      {"CR ends the size", chunked("2\rhi\r\n") + next, "400 close"},
      {"CR CR LF ends the size", chunked("2\r\r\nhi\r\n") + next, "400 close"},
      {"LF ends the data", chunked("2\r\nhi\n") + next, "400 close"},
      {"nothing ends the data", chunked("2\r\nhi") + next, "400 close"},
      {"data longer than its size", chunked("2\r\nhi!\r\n") + next, "400 close"},
      {"data shorter than its size", chunked("4\r\nhi\r\n") + next, "400 close"},
      {"LF ends the last chunk", chunked("0\n\r\n") + kSecond, "400 close"},
      {"LF ends the body", chunked("0\r\n\n") + kSecond, "400 close"},
      {"extension", chunked("2;a=b\r\nhi\r\n0;c\r\n\r\n") + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"quoted extension", chunked("2;a=\"b;c\"\r\nhi\r\n") + next,
       "[POST /a hi] [GET /a/2 ] open"},
      {"LF in an extension", chunked("2;a\nxx\r\nhi\r\n") + next, "400 close"},
      {"CR in an extension", chunked("2;a\rxx\r\nhi\r\n") + next, "400 close"},
      {"NUL in an extension", chunked("2;a\0\r\nhi\r\n"s) + next, "400 close"},
      {"line end in a quoted extension", chunked("2;a=\"\r\n\"\r\nhi\r\n") + next, "400 close"},
      {"long extension", chunked("2;" + long_extension + "\r\nhi\r\n") + next, "400 close"},
      {"trailers", chunked("2\r\nhi\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n") + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"length as a trailer", chunked("2\r\nhi\r\n0\r\nContent-Length: 40\r\n\r\n") + kSecond,
       "400 close"},
      {"coding as a trailer", chunked("2\r\nhi\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n") + next,
       "400 close"},
      {"host as a trailer", chunked("2\r\nhi\r\n0\r\nHost: evil\r\n\r\n") + kSecond, "400 close"},
      {"folded trailer", chunked("0\r\nX: 1\r\n 2\r\n\r\n") + kSecond, "400 close"},
      {"trailer without a colon", chunked("0\r\nGET /a/3 HTTP/1.1\r\n\r\n") + kSecond, "400 close"},
      {"LF in the trailers", chunked("0\r\nX: 1\n\r\n") + kSecond, "400 close"},
      {"trailer with a NUL", chunked("0\r\nX: \0\r\n\r\n"s) + kSecond, "400 close"},
      {"many trailers",
       chunked("0\r\n" +
               [] {
                 std::string out;
                 for (int i = 0; i < 200; ++i) out += "X: 1\r\n";
                 return out;
               }() +
               "\r\n") +
           kSecond,
       "431 close"},
      {"long trailer", chunked("0\r\nX: " + std::string(40'000, 'y') + "\r\n\r\n") + kSecond,
       "431 close"},
      {"unfinished", chunked("2\r\nhi\r\n"), "open"},
      {"unfinished end", chunked("2\r\nhi\r\n0\r\n"), "open"},
  };
}

std::vector<SmugglingCase> line_cases() {
  const std::string rest = "\r\nHost: h\r\n\r\n";
  return {
      {"HTTP/0.9", "GET /a\r\n", "400 close"},
      {"HTTP/0.9 with a blank line", "GET /a\r\n\r\n", "400 close"},
      {"HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", "[GET /a ] close"},
      {"HTTP/1.0 keep-alive",
       "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /a/2 HTTP/1.0\r\n\r\n",
       "[GET /a ] [GET /a/2 ] close"},
      {"HTTP/1.2", "GET /a HTTP/1.2" + rest, "505 close"},
      {"HTTP/2.0", "GET /a HTTP/2.0" + rest, "505 close"},
      {"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 close"},
      {"version without a minor", "GET /a HTTP/1" + rest, "400 close"},
      {"version with two digits", "GET /a HTTP/1.10" + rest, "400 close"},
      {"version with a leading zero", "GET /a HTTP/01.1" + rest, "400 close"},
      {"version in small letters", "GET /a http/1.1" + rest, "400 close"},
      {"version of something else", "GET /a ICAP/1.1" + rest, "400 close"},
      {"two blanks before the target", "GET  /a HTTP/1.1" + rest, "400 close"},
      {"two blanks behind the target", "GET /a  HTTP/1.1" + rest, "400 close"},
      {"tab for a blank", "GET\t/a\tHTTP/1.1" + rest, "400 close"},
      {"blank behind the version", "GET /a HTTP/1.1 " + rest, "400 close"},
      {"blank before the method", " GET /a HTTP/1.1" + rest, "400 close"},
      {"blank in the target", "GET /a b HTTP/1.1" + rest, "400 close"},
      {"a request line in the target", "GET /a HTTP/1.1 /b HTTP/1.1" + rest, "400 close"},
      {"NUL in the target", "GET /a\0b HTTP/1.1"s + rest, "400 close"},
      {"delete character in the target", "GET /a\x7f HTTP/1.1" + rest, "400 close"},
      {"byte over 127 in the target", "GET /a/\xff\xfe HTTP/1.1" + rest, "400 close"},
      {"bare CR in the request line", "GET /a\rX: b HTTP/1.1" + rest, "400 close"},
      {"LF ends the request line", "GET /a HTTP/1.1\nHost: h\r\n\r\n", "400 close"},
      {"LF everywhere", "GET /a HTTP/1.1\nHost: h\n\n", "400 close"},
      {"CR everywhere", "GET /a HTTP/1.1\rHost: h\r\r", "400 close"},
      {"no method", "/a HTTP/1.1" + rest, "400 close"},
      {"no target", "GET HTTP/1.1" + rest, "400 close"},
      {"method with a colon", "GET: /a HTTP/1.1" + rest, "400 close"},
      {"method in small letters", "get /a HTTP/1.1" + rest, "501 open"},
      {"unknown method", "BREW /a HTTP/1.1" + rest, "501 open"},
      {"unknown method with a body",
       "BREW /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi" + kSecond, "501 close"},
      {"empty lines before the request", "\r\n\r\n" + kSecond, "[GET /a/2 ] open"},
      {"LF before the request", "\n" + kSecond, "400 close"},
      {"a lone CR before the request", "\rGET /a HTTP/1.1" + rest, "400 close"},
      {"a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, "400 close"},
      {"a byte order mark", "\xef\xbb\xbfGET /a HTTP/1.1" + rest, "400 close"},
  };
}

std::vector<SmugglingCase> field_cases() {
  const std::string end = "\r\n\r\n";
  std::string hundred;
  for (int i = 0; i < 99; ++i) hundred += "X: y\r\n";
  return {
      {"folded", kGet + "X: a\r\n b" + end + kSecond, "400 close"},
      {"folded with a tab", kGet + "X: a\r\n\tb" + end + kSecond, "400 close"},
      {"folded before the first", "GET /a HTTP/1.1\r\n Host: h" + end + kSecond, "400 close"},
      {"a line of blanks", kGet + " \r\n\r\n" + kSecond, "400 close"},
      {"blank before the colon", kGet + "X : a" + end + kSecond, "400 close"},
      {"blank in the name", kGet + "X Y: a" + end + kSecond, "400 close"},
      {"no name", kGet + ": a" + end + kSecond, "400 close"},
      {"no colon", kGet + "X" + end + kSecond, "400 close"},
      {"no value", kGet + "X:" + end + kSecond, "[GET /a ] [GET /a/2 ] open"},
      {"brackets in the name", kGet + "X[0]: a" + end + kSecond, "400 close"},
      {"quote in the name", kGet + "\"X\": a" + end + kSecond, "400 close"},
      {"NUL in the name", kGet + "X\0Y: a"s + end + kSecond, "400 close"},
      {"NUL in the value", kGet + "X: a\0b"s + end + kSecond, "400 close"},
      {"escape character in the value", kGet + "X: \x1b[2J" + end + kSecond, "400 close"},
      {"backspace in the value", kGet + "X: a\bb" + end + kSecond, "400 close"},
      {"delete character in the value", kGet + "X: a\x7f" + end + kSecond, "400 close"},
      {"bare CR in the value", kGet + "X: a\rb" + end + kSecond, "400 close"},
      {"bare LF in the value", kGet + "X: a\nY: b" + end + kSecond, "400 close"},
      {"CR CR LF ends a line", kGet + "X: a\r\r\nY: b" + end + kSecond, "400 close"},
      {"LF CR ends the head", kGet + "X: a\n\r\n" + kSecond, "400 close"},
      {"LF LF ends the head", kGet + "X: a\n\n" + kSecond, "400 close"},
      {"tab in the value", kGet + "X: a\tb" + end + kSecond, "[GET /a ] [GET /a/2 ] open"},
      {"bytes that are no UTF-8", kGet + "X: \xff\xc3(" + end + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"no Host", "GET /a HTTP/1.1" + end + kSecond, "400 close"},
      {"Host twice", kGet + "Host: h" + end + kSecond, "400 close"},
      {"two Hosts", kGet + "Host: evil" + end + kSecond, "400 close"},
      {"Host twice in HTTP/1.0", "GET /a HTTP/1.0\r\nHost: h\r\nHost: i" + end, "400 close"},
      {"list of Hosts", "GET /a HTTP/1.1\r\nHost: h, evil" + end + kSecond, "400 close"},
      {"Host with a path", "GET /a HTTP/1.1\r\nHost: h/b" + end + kSecond, "400 close"},
      {"Host with a user", "GET /a HTTP/1.1\r\nHost: me@h" + end + kSecond, "400 close"},
      {"Host with a blank", "GET /a HTTP/1.1\r\nHost: h evil" + end + kSecond, "400 close"},
      {"Host with a bad port", "GET /a HTTP/1.1\r\nHost: h:80x" + end + kSecond, "400 close"},
      {"Host with bytes over 127", "GET /a HTTP/1.1\r\nHost: h\xe4" + end + kSecond, "400 close"},
      {"Host with a port", "GET /a HTTP/1.1\r\nHost: h:8080" + end + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"Host as an address", "GET /a HTTP/1.1\r\nHost: [::1]:80" + end + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"empty Host", "GET /a HTTP/1.1\r\nHost:" + end + kSecond, "[GET /a ] [GET /a/2 ] open"},
      {"Content-Type twice", kPost + "Content-Type: a/b\r\nContent-Type: c/d" + end + kSecond,
       "400 close"},
      {"a hundred fields", kGet + hundred + "\r\n" + kSecond, "[GET /a ] [GET /a/2 ] open"},
      {"more than a hundred", kGet + hundred + "Y: z\r\n\r\n" + kSecond, "431 close"},
      {"a field of 12 KB", kGet + "X: " + std::string(12'000, 'y') + end + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"a field of 20 KB", kGet + "X: " + std::string(20'000, 'y') + end + kSecond, "431 close"},
      {"a target of 20 KB", "GET /a/" + std::string(20'000, 'y') + " HTTP/1.1\r\nHost: h" + end,
       "414 close"},
      {"a line without an end", kGet + "X: " + std::string(20'000, 'y'), "431 close"},
  };
}

std::vector<SmugglingCase> target_cases() {
  const std::string rest = " HTTP/1.1\r\nHost: h\r\n\r\n";
  return {
      {"absolute, same host", "GET http://h/a?b=c" + rest + kSecond,
       "[GET /a?b=c ] [GET /a/2 ] open"},
      {"absolute, host in capitals", "GET HTTP://H/a" + rest + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"absolute without a Host in HTTP/1.0", "GET http://h/a HTTP/1.0\r\n\r\n", "[GET /a ] close"},
      {"absolute without a Host", "GET http://h/a HTTP/1.1\r\n\r\n" + kSecond, "400 close"},
      {"absolute, other host", "GET http://evil/a" + rest + kSecond, "400 close"},
      {"absolute, other port", "GET http://h:81/a" + rest + kSecond, "400 close"},
      {"absolute with a user", "GET http://me@h/a" + rest + kSecond, "400 close"},
      {"absolute without an authority", "GET http:///a" + rest + kSecond, "400 close"},
      {"absolute of another scheme", "GET gopher://h/a" + rest + kSecond, "400 close"},
      {"absolute with a blank path", "OPTIONS http://h" + rest, "404 open"},
      {"double slash is a path", "GET //evil/a" + rest, "404 open"},
      {"no slash", "GET a" + rest + kSecond, "400 close"},
      {"star for GET", "GET *" + rest + kSecond, "400 close"},
      {"star for OPTIONS", "OPTIONS *" + rest + kSecond, "204 [GET /a/2 ] open"},
      {"fragment", "GET /a#b" + rest + kSecond, "400 close"},
      {"backslash", "GET \\a" + rest + kSecond, "400 close"},
      {"dot segment", "GET /b/../a" + rest, "400 open"},
      {"encoded dot segment", "GET /b/%2e%2E/a" + rest, "400 open"},
      {"encoded NUL", "GET /a/%00" + rest, "400 open"},
      {"encoded line end", "GET /a/%0d%0aX" + rest, "400 open"},
      {"bad escape", "GET /a/%zz" + rest, "400 open"},
      {"cut escape", "GET /a/%4" + rest, "400 open"},
      {"CONNECT", "CONNECT h:80" + rest + kSecond, "400 close"},
      {"authority for GET", "GET h:80" + rest + kSecond, "400 close"},
  };
}

std::vector<SmugglingCase> connection_cases() {
  return {
      {"pipelined", kGet + "\r\n" + kSecond + kSecond, "[GET /a ] [GET /a/2 ] [GET /a/2 ] open"},
      {"the second is bad", kGet + "\r\nGET /a\r\n\r\n" + kSecond, "[GET /a ] 400 close"},
      {"the second is smuggling",
       kGet + "\r\n" + sized("6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG") + kSecond,
       "[GET /a ] 400 close"},
      {"nothing behind close", kGet + "Connection: close\r\n\r\n" + kSecond, "[GET /a ] close"},
      {"close in a list", kGet + "Connection: foo, Close\r\n\r\n" + kSecond, "[GET /a ] close"},
      {"close and keep-alive", kGet + "Connection: keep-alive, close\r\n\r\n" + kSecond,
       "[GET /a ] close"},
      {"Connection does not drop the length",
       kPost + "Connection: Content-Length\r\nContent-Length: 2\r\n\r\nhi" + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"Upgrade to a WebSocket",
       kGet + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"Upgrade to HTTP/2",
       kGet +
           "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n" +
           kSecond,
       "[GET /a ] [GET /a/2 ] open"},
      {"Upgrade with a body",
       kPost + "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi" + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"Expect with the body behind it",
       kPost + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi" + kSecond,
       "[POST /a hi] [GET /a/2 ] open"},
      {"Expect without a body", kPost + "Expect: 100-continue\r\n\r\n" + kSecond,
       "[POST /a ] [GET /a/2 ] open"},
      {"Expect of HTTP/1.0",
       "POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
       "[POST /a hi] close"},
      {"Expect something else", kPost + "Expect: tea\r\nContent-Length: 2\r\n\r\nhi" + kSecond,
       "417 close"},
      {"Expect twice",
       kPost + "Expect: 100-continue\r\nExpect: tea\r\nContent-Length: 2\r\n\r\nhi" + kSecond,
       "417 close"},
      {"a body for an unknown path",
       "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi" + kSecond, "404 close"},
      {"no body for an unknown path", "GET /b HTTP/1.1\r\nHost: h\r\n\r\n" + kSecond,
       "404 [GET /a/2 ] open"},
      {"TRACE", "TRACE /a HTTP/1.1\r\nHost: h\r\n\r\n" + kSecond, "501 [GET /a/2 ] open"},
      {"half a body", sized("4\r\n\r\nhi"), "open"},
      {"half a head", kGet + "X: y\r\n", "open"},
  };
}

}  // namespace drom::http
