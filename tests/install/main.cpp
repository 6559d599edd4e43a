// Proves that an installed Dromedary compiles, links and runs outside of its repository.
#include <drom/base/error.hpp>
#include <iostream>

int main() {
  std::cout << drom::to_string(drom::ErrorKind::transient) << "\n";
  return 0;
}
