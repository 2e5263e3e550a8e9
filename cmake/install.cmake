# The content of an installed halftone: headers, both libraries, their .pc files and the CMake package. None of these files
# contains the prefix, so the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS halftone halftone_static EXPORT halftone
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halftone
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Programs find the library from their own place.
file(RELATIVE_PATH library_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(halftone-analyze halftone-report PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_program}")
install(TARGETS halftone-run halftone-analyze halftone-report RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The plugin lies beside the library, which looks for it there.
if(TARGET halftone_cuda)
  install(TARGETS halftone_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET halftone_nccl)
  install(TARGETS halftone_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET halftone_gloo)
  install(TARGETS halftone_gloo LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
file(GLOB cpp_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/capi/include/halftone/*.hpp)
install(FILES ${cpp_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halftone)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

file(RELATIVE_PATH HALFTONE_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH HALFTONE_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH HALFTONE_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
string(REGEX REPLACE "/$" "" HALFTONE_PC_PREFIX ${HALFTONE_PC_PREFIX})
get_target_property(HALFTONE_PC_LIBS_PRIVATE halftone_static INTERFACE_LINK_LIBRARIES)
list(TRANSFORM HALFTONE_PC_LIBS_PRIVATE PREPEND "-l")
list(JOIN HALFTONE_PC_LIBS_PRIVATE " " HALFTONE_PC_LIBS_PRIVATE)
foreach(name halftone halftone-static)
  configure_file(${PROJECT_SOURCE_DIR}/pkgconfig/${name}.pc.in ${PROJECT_BINARY_DIR}/generated/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/generated/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halftone)
install(EXPORT halftone NAMESPACE halftone:: FILE halftoneTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/halftoneConfig.cmake.in
    ${PROJECT_BINARY_DIR}/generated/halftoneConfig.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Until 1.0 a new minor version may break a program, as the library's SOVERSION shows.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/halftoneConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/halftoneConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/halftoneConfigVersion.cmake DESTINATION ${package_dir})
