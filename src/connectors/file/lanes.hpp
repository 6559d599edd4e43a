// The lanes that file: endpoints of an engine work on: few threads however many endpoints there
// are, always the same one for a directory. Shard thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "rt/lane.hpp"

namespace drom::file {

class Lanes {
 public:
  explicit Lanes(boost::asio::io_context& io) : io_(io) {}

  Lane& lane(const std::string& directory) {
    std::unique_ptr<Lane>& slot = lanes_[std::hash<std::string>()(directory) % lanes_.size()];
    if (!slot) slot = std::make_unique<Lane>(io_, "file");
    return *slot;
  }

 private:
  boost::asio::io_context& io_;
  std::array<std::unique_ptr<Lane>, 4> lanes_;
};

}  // namespace drom::file
