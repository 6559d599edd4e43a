# Test install_consumer: installs into a private prefix, then configures and builds each project of
# DROM_CONSUMERS with find_package(dromedary) alone, into install_consumer/<folder name>. A program of
# the name `consumer` is run as well.
set(DROM_CONSUMERS ${CMAKE_SOURCE_DIR}/tests/install ${CMAKE_SOURCE_DIR}/examples/quickstart_cpp)

add_test(NAME install_consumer COMMAND ${CMAKE_COMMAND}
  -D BUILD_DIR=${CMAKE_BINARY_DIR}
  -D CXX=${CMAKE_CXX_COMPILER}
  -D LINKER_FLAGS=${CMAKE_EXE_LINKER_FLAGS}
  -D SANITIZE=${DROM_SANITIZE}
  "-D CONSUMERS=${DROM_CONSUMERS}"
  -P ${CMAKE_CURRENT_LIST_DIR}/run_consumer.cmake)
set_tests_properties(install_consumer PROPERTIES LABELS repository FIXTURES_SETUP installed)
