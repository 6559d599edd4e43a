# Third-party libraries, all from Debian; nothing is vendored.
# What users of the installed library need as well: cmake/dromedary-config.cmake.in finds the same.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS system json url)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
set(DROM_LINK_LIBRARIES
  Threads::Threads Boost::headers Boost::system Boost::json Boost::url OpenSSL::SSL OpenSSL::Crypto
  SQLite::SQLite3 yaml-cpp spdlog::spdlog)
if(DROM_POSTGRES)
  find_package(PostgreSQL REQUIRED)
  list(APPEND DROM_LINK_LIBRARIES PostgreSQL::PostgreSQL)
endif()
if(DROM_MYSQL)
  find_path(DROM_MARIADB_INCLUDE mariadb/mysql.h)
  find_library(DROM_MARIADB_LIBRARY mariadb)
  if(DROM_MARIADB_INCLUDE AND DROM_MARIADB_LIBRARY)
    list(APPEND DROM_LINK_LIBRARIES mariadb)
  else()
    message(STATUS "libmariadb is not here: no MariaDB and MySQL data sources")
    set(DROM_MYSQL OFF)
  endif()
endif()
if(DROM_RABBITMQ)
  find_path(DROM_RABBITMQ_INCLUDE amqp_ssl_socket.h)
  find_library(DROM_RABBITMQ_LIBRARY rabbitmq)
  if(DROM_RABBITMQ_INCLUDE AND DROM_RABBITMQ_LIBRARY)
    list(APPEND DROM_LINK_LIBRARIES rabbitmq)
  else()
    message(STATUS "librabbitmq is not here: no RabbitMQ endpoints")
    set(DROM_RABBITMQ OFF)
  endif()
endif()
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
  $<$<BOOL:${DROM_RABBITMQ}>:DROM_RABBITMQ=1>
  DROM_VERSION="${PROJECT_VERSION}")
target_link_libraries(drom_options INTERFACE ${DROM_LINK_LIBRARIES})
