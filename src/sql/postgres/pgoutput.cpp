#include "sql/postgres/pgoutput.hpp"

#include "sql/postgres/pg_values.hpp"

namespace drom::sql {
namespace {

constexpr WallTime kPostgresEpoch{std::chrono::seconds(946'684'800)};  // 2000-01-01

// Big-endian numbers and texts from the front of a message. After reading past the end everything
// is zero and failed() true.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool failed() const { return failed_; }
  std::string_view rest() const { return rest_; }

  uint64_t number(size_t size) {
    uint64_t out = 0;
    for (const char c : bytes(size)) out = out << 8 | static_cast<unsigned char>(c);
    return out;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  WallTime time() { return kPostgresEpoch + microseconds(static_cast<int64_t>(u64())); }
  std::string_view bytes(size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view text() {
    const size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return out;
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

std::shared_ptr<const WalRelation> read_relation(Reader& in) {
  auto out = std::make_shared<WalRelation>();
  out->schema = in.text();
  out->name = in.text();
  in.u8();  // replica identity
  const uint16_t columns = in.u16();
  for (uint16_t i = 0; i < columns && !in.failed(); ++i) {
    in.u8();  // flags
    out->columns.emplace_back(in.text());
    out->types.push_back(in.u32());
    in.u32();  // type modifier
  }
  return out;
}

bool read_tuple(Reader& in, const WalRelation& relation, List& out) {
  const uint16_t columns = in.u16();
  if (columns != relation.columns.size()) return false;
  out.reserve(columns);
  for (uint16_t i = 0; i < columns; ++i) {
    const uint8_t kind = in.u8();
    if (kind == 't') {
      const uint32_t size = in.u32();
      out.push_back(decode(in.bytes(size), relation.types[i]));
    } else if (kind == 'n' || kind == 'u') {
      out.emplace_back();
    } else {
      return false;
    }
  }
  return !in.failed();
}

void put(std::string& out, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

}  // namespace

Result<std::optional<WalEvent>> PgOutput::decode(std::string_view message, bool& reply_wanted) {
  Reader in(message);
  WalEvent event;
  const uint8_t wrapper = in.u8();
  const Lsn start = in.u64();
  if (wrapper == 'k') {
    event.lsn = start;
    event.sent = in.time();
    reply_wanted = reply_wanted || in.u8() != 0;
    if (!in.failed()) return std::optional(std::move(event));
  }
  in.u64();  // the end of the log
  event.sent = in.time();
  const uint8_t type = wrapper == 'w' ? in.u8() : 0;
  bool good = wrapper == 'w';
  bool wanted = true;
  switch (type) {
    case 'B':
      event.kind = WalEvent::Kind::begin;
      event.lsn = in.u64();
      in.u64();  // the time of the commit
      event.xid = in.u32();
      break;
    case 'C':
      event.kind = WalEvent::Kind::commit;
      in.u8();   // flags
      in.u64();  // where the commit begins
      event.lsn = in.u64();
      break;
    case 'M':
      event.kind = WalEvent::Kind::message;
      event.transactional = (in.u8() & 1) != 0;
      event.lsn = in.u64();
      event.prefix = in.text();
      event.content = in.bytes(in.u32());
      break;
    case 'R': {
      const uint32_t id = in.u32();
      relations_[id] = read_relation(in);
      wanted = false;
      break;
    }
    case 'I': {
      event.kind = WalEvent::Kind::insert;
      const auto relation = relations_.find(in.u32());
      good = relation != relations_.end() && in.u8() == 'N';
      if (!good) break;
      event.relation = relation->second;
      good = read_tuple(in, *event.relation, event.values);
      break;
    }
    default: wanted = false;
  }
  if (!good || in.failed())
    return Error(ErrorKind::transient, "the replication stream cannot be read");
  if (!wanted) return std::optional<WalEvent>();
  return std::optional(std::move(event));
}

std::string status_update(Lsn received, Lsn flushed, WallTime now) {
  std::string out = "r";
  put(out, received);
  put(out, flushed);
  put(out, flushed);
  put(out, static_cast<uint64_t>((now - kPostgresEpoch).count()));
  out += '\0';
  return out;
}

}  // namespace drom::sql
