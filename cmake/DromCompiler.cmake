# ccache when present, and what it needs to be of use with precompiled headers: it may trust that the
# macros of a PCH do not change behind its back, and clang must not put time stamps into the PCH.
find_program(DROM_CCACHE ccache)
if(DROM_CCACHE AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$"))
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${DROM_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# No machine path in a binary: __FILE__ and debug lines are relative to the repository.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(DROM_SANITIZE)
  add_compile_options(-fsanitize=${DROM_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DROM_SANITIZE})
  if(DROM_SANITIZE MATCHES thread)
    add_library(drom_c11_threads OBJECT ${CMAKE_SOURCE_DIR}/tests/support/tsan_c11_threads.cpp)
    link_libraries($<BUILD_INTERFACE:drom_c11_threads>)
  endif()
endif()
if(DROM_FUZZ)
  # Coverage feedback in all code; the fuzz targets alone link libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# Libraries that nothing of ours calls are not loaded; relocations in the short form.
add_link_options("$<$<CONFIG:Release>:-Wl,--as-needed,-z,pack-relative-relocs>")

# drom_is_cold(TARGET), drom_sources_are_cold(FILE...): code that runs once. Inlining would only make
# the program larger. (Not -Os: that does not go with the shared precompiled headers.)
set(DROM_COLD "$<$<CONFIG:Release>:-mllvm=-inline-threshold=20>")
function(drom_is_cold target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(${target} PRIVATE ${DROM_COLD})
  endif()
endfunction()
function(drom_sources_are_cold)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND ARGN)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${DROM_COLD})
  endif()
endfunction()
