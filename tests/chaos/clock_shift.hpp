// A wall clock that jumps: this program's clock_gettime stands before the C library's, and SIGUSR1
// moves the wall clock an hour ahead, then two back, then to where it was. Steady clocks are not
// touched, as no real jump touches them.
#pragma once

namespace drom::chaos {

void jump_on_sigusr1();
// Whether the C++ library's system_clock really goes through it.
bool clock_jumps();

}  // namespace drom::chaos
