#include "connectors/http/answer_stream.hpp"

#include "connectors/http/client.hpp"

namespace drom::http {

AnswerStream::AnswerStream(Way way) : way_(std::move(way)), size_(way_->connection->rest_size()) {}

AnswerStream::~AnswerStream() = default;

async<Result<std::string>> AnswerStream::next() {
  if (!way_) co_return std::string();
  begun_ = true;
  Result<std::string> piece = co_await way_->connection->rest(way_->response_timeout);
  if (!piece) {
    piece.error().what =
        "the answer of " + way_->host->way.target.place() + " broke off: " + piece.error().what;
    way_.reset();
  } else if (piece->empty()) {
    if (way_->connection->keep_alive())
      way_->client->keep(way_->host, std::move(way_->connection), way_->idle_timeout);
    way_.reset();
  }
  co_return piece;
}

async<Result<std::string>> DecodedStream::next() {
  std::string plain;
  while (plain.empty() && !ended_) {
    Result<std::string> piece = co_await packed_->next();
    if (!piece) co_return piece;
    ended_ = piece->empty();
    const Decoded outcome = ended_ ? decoder_.finish() : decoder_.feed(*piece, plain);
    if (outcome != Decoded::ok) {
      ended_ = true;
      co_return Error(ErrorKind::data, "the body " + std::string(to_string(outcome)));
    }
  }
  co_return plain;
}

}  // namespace drom::http
