#include "drom/rt/body_stream.hpp"

namespace drom {

async<Result<std::string>> next_block(BodyStream& stream, size_t bytes) {
  std::string block;
  while (block.size() < bytes) {
    Result<std::string> piece = co_await stream.next();
    if (!piece) co_return piece;
    if (piece->empty()) break;
    if (block.empty())
      block = std::move(*piece);
    else
      block += *piece;
  }
  co_return block;
}

async<Result<void>> read_in(Message& message) {
  if (!message.stream) co_return Result<void>();
  const std::shared_ptr<BodyStream> stream = message.stream;
  if (!stream->rewind())
    co_return Error(ErrorKind::data, "the body is a stream that has been read already",
                    "leave out disableStreamCache or useStreaming to keep the body in memory");
  std::string whole;
  while (true) {
    Result<std::string> piece = co_await stream->next();
    if (!piece) co_return std::move(piece.error());
    if (piece->empty()) break;
    if (piece->size() > kStreamMemoryMax - whole.size())
      co_return Error(ErrorKind::rejected,
                      "a step wants to look at a streamed body that is too large for the memory",
                      "steps between two streaming endpoints may look at headers only");
    whole += *piece;
  }
  message.stream.reset();
  message.body = Value(Bytes(std::move(whole)));
  co_return Result<void>();
}

async<> read_in(Batch& batch) {
  for (Exchange& exchange : batch) {
    if (!exchange.running() || !exchange.message.stream) continue;
    Result<void> done = co_await read_in(exchange.message);
    if (!done) exchange.fail(std::move(done.error()));
  }
}

bool has_streams(const Batch& batch) {
  for (const Exchange& exchange : batch)
    if (exchange.message.stream) return true;
  return false;
}

}  // namespace drom
