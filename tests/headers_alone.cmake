# Test headers_alone: each header compiles as the only include of a file, without precompiled headers,
# so that nobody depends on the order of includes. About a second each when nothing is cached.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/include/*.hpp ${CMAKE_SOURCE_DIR}/src/*.hpp ${CMAKE_SOURCE_DIR}/tests/support/*.hpp)
if(NOT DROM_POSTGRES)
  list(FILTER headers EXCLUDE REGEX "postgres")
endif()
set(sources)
foreach(header ${headers})
  string(REPLACE "/" "__" name ${header})
  set(source ${CMAKE_BINARY_DIR}/headers_alone/${name}.cpp)
  # Twice: `#pragma once` or a double definition.
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()

add_library(headers_alone OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(headers_alone PRIVATE drom_options GTest::gtest)
target_include_directories(headers_alone PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests)
target_compile_options(headers_alone PRIVATE -Wno-unused -g0)
add_test(NAME headers_alone COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target headers_alone)
set_tests_properties(headers_alone PROPERTIES LABELS repository TIMEOUT 900)
