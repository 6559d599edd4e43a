#include "chaos/clock_shift.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

namespace drom::chaos {
namespace {

constexpr long kHour = 3600;
std::atomic<long> shift_s{0};

void jump(int) {
  const long now = shift_s.load();
  shift_s.store(now == 0 ? kHour : now > 0 ? -kHour : 0);
}

}  // namespace

void jump_on_sigusr1() { std::signal(SIGUSR1, jump); }

bool clock_jumps() {
  const auto before = std::chrono::system_clock::now();
  jump(0);
  const auto after = std::chrono::system_clock::now();
  shift_s = 0;
  return after - before > std::chrono::minutes(59);
}

}  // namespace drom::chaos

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const long done = ::syscall(SYS_clock_gettime, clock, out);
  if (done == 0 && clock == CLOCK_REALTIME) out->tv_sec += drom::chaos::shift_s.load();
  return static_cast<int>(done);
}
