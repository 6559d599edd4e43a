# Install: the program, the library, its headers, and the package that find_package(dromedary) reads.
# The target drom::drom brings its dependencies along; nothing of the build tree leaks into it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(DROM_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dromedary)

foreach(library ${DROM_LINK_LIBRARIES})
  target_link_libraries(drom INTERFACE $<INSTALL_INTERFACE:${library}>)
endforeach()
target_compile_definitions(drom INTERFACE $<INSTALL_INTERFACE:${DROM_PUBLIC_DEFINITIONS}>)
target_compile_features(drom INTERFACE cxx_std_20)

install(TARGETS drom EXPORT dromedary-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/drom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(EXPORT dromedary-targets NAMESPACE drom:: DESTINATION ${DROM_CONFIG_DIR})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/dromedary-config.cmake.in
  ${CMAKE_BINARY_DIR}/dromedary-config.cmake INSTALL_DESTINATION ${DROM_CONFIG_DIR})
# 0.x: every minor version may break.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dromedary-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dromedary-config.cmake
  ${CMAKE_BINARY_DIR}/dromedary-config-version.cmake DESTINATION ${DROM_CONFIG_DIR})

if(TARGET drom_exe)
  install(TARGETS drom_exe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(folder examples docs)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${folder})
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
