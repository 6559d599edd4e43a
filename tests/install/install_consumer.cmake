# Test install_consumer: installs into a private prefix, then configures, builds and runs each project
# of DROM_CONSUMERS with find_package(dromedary) alone.
set(DROM_CONSUMERS ${CMAKE_SOURCE_DIR}/tests/install CACHE STRING
  "Projects that must build against the installed package; each makes the program `consumer`")

add_test(NAME install_consumer COMMAND ${CMAKE_COMMAND}
  -D BUILD_DIR=${CMAKE_BINARY_DIR}
  -D CXX=${CMAKE_CXX_COMPILER}
  -D LINKER_FLAGS=${CMAKE_EXE_LINKER_FLAGS}
  -D SANITIZE=${DROM_SANITIZE}
  "-D CONSUMERS=${DROM_CONSUMERS}"
  -P ${CMAKE_CURRENT_LIST_DIR}/run_consumer.cmake)
set_tests_properties(install_consumer PROPERTIES LABELS repository)
