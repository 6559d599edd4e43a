// How far the sources of partitioned logs are behind. Consumers enter themselves on the board that
// all endpoints of an engine share; the metrics page reads it. Shard thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace drom {

struct SourceLag {
  std::string topic;
  int32_t partition = 0;
  int64_t records = 0;  // that are there and not done
};

class SourceLagBoard {
 public:
  using Reader = std::function<std::vector<SourceLag>()>;

  // `source` identifies the entry until remove(); the reader is called on the shard.
  void add(const void* source, std::string uri, Reader reader) {
    entries_[source] = {std::move(uri), std::move(reader)};
  }
  void remove(const void* source) { entries_.erase(source); }
  // By the URI of the endpoint.
  std::vector<std::pair<std::string, std::vector<SourceLag>>> read() const {
    std::vector<std::pair<std::string, std::vector<SourceLag>>> out;
    for (const auto& [source, entry] : entries_) out.emplace_back(entry.uri, entry.reader());
    return out;
  }

 private:
  struct Entry {
    std::string uri;
    Reader reader;
  };
  std::map<const void*, Entry> entries_;
};

}  // namespace drom
