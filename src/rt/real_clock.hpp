// The clock of production: the system's time, and one Asio timer per sleeper on the shard.
#pragma once

#include <memory>

#include "drom/rt/clock.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

// `io` is the shard's and outlives the clock.
std::unique_ptr<Clock> make_real_clock(boost::asio::io_context& io);

}  // namespace drom
