# Third-party libraries, all from Debian; nothing is vendored.
# What users of the installed library need as well: cmake/dromedary-config.cmake.in finds the same.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS system json url)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
set(DROM_LINK_LIBRARIES
  Threads::Threads Boost::headers Boost::system Boost::json Boost::url OpenSSL::SSL OpenSSL::Crypto
  SQLite::SQLite3 ZLIB::ZLIB yaml-cpp spdlog::spdlog)
if(DROM_POSTGRES)
  find_package(PostgreSQL REQUIRED)
  list(APPEND DROM_LINK_LIBRARIES PostgreSQL::PostgreSQL)
endif()
# A part of the product that is switched off where its library is not installed.
function(drom_optional option header library without)
  if(NOT ${option})
    return()
  endif()
  find_path(${option}_INCLUDE ${header})
  find_library(${option}_LIBRARY ${library})
  if(${option}_INCLUDE AND ${option}_LIBRARY)
    set(DROM_LINK_LIBRARIES ${DROM_LINK_LIBRARIES} ${library} PARENT_SCOPE)
  else()
    message(STATUS "lib${library} is not here: ${without}")
    set(${option} OFF PARENT_SCOPE)
  endif()
endfunction()
drom_optional(DROM_MYSQL mariadb/mysql.h mariadb "no MariaDB and MySQL data sources")
drom_optional(DROM_BROTLI brotli/decode.h brotlidec "HTTP bodies in the coding br are refused")
drom_optional(DROM_RABBITMQ amqp_ssl_socket.h rabbitmq "no RabbitMQ endpoints")
drom_optional(DROM_KAFKA librdkafka/rdkafka.h rdkafka "no Kafka endpoints")
# Users of the library must compile with these too: the library carries Asio's own code.
set(DROM_PUBLIC_DEFINITIONS
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_BEAST_SEPARATE_COMPILATION)

# Only this repository needs the rest.
find_package(CLI11 REQUIRED)
if(DROM_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
endif()
if(DROM_BENCH)
  find_package(benchmark REQUIRED)
endif()

add_library(drom_options INTERFACE)
target_include_directories(drom_options INTERFACE
  ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_options(drom_options INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wshadow)
target_compile_definitions(drom_options INTERFACE
  ${DROM_PUBLIC_DEFINITIONS}
  SPDLOG_FMT_EXTERNAL $<$<BOOL:${DROM_POSTGRES}>:DROM_POSTGRES=1>
  $<$<BOOL:${DROM_MYSQL}>:DROM_MYSQL=1>
  $<$<BOOL:${DROM_BROTLI}>:DROM_BROTLI=1>
  $<$<BOOL:${DROM_RABBITMQ}>:DROM_RABBITMQ=1>
  $<$<BOOL:${DROM_KAFKA}>:DROM_KAFKA=1>
  DROM_VERSION="${PROJECT_VERSION}")
target_link_libraries(drom_options INTERFACE ${DROM_LINK_LIBRARIES})
