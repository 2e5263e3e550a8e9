# libhalftone_gloo.so, the plugin for groups of processes over TCP: its own folders, and those objects of the library that
# it needs, compiled into it. It links Gloo and OpenSSL, and nothing of the library. It lies beside libhalftone.so.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/comm/gloo/*.cpp
     ${CMAKE_CURRENT_SOURCE_DIR}/comm/tcp_store/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/comm/control/*.cpp
     ${CMAKE_CURRENT_SOURCE_DIR}/comm/collectives/*.cpp)
include(comm/plugin_sources.cmake)
add_library(halftone_gloo MODULE ${sources} comm/threads/memory_store.cpp ${HALFTONE_GROUP_PLUGIN_SOURCES})
set_target_properties(halftone_gloo PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/capi SKIP_BUILD_RPATH ON
                      INSTALL_RPATH "")
add_dependencies(halftone_gloo halftone_seam_hash)
target_include_directories(halftone_gloo PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated
                           ${XXHASH_INCLUDE_DIR})
target_link_libraries(halftone_gloo PRIVATE ${HALFTONE_GLOO_LIBRARY} OpenSSL::Crypto Threads::Threads)
# nodelete: Gloo's thread and thread-local errors outlive a dlclose.
target_link_options(halftone_gloo PRIVATE -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-Bsymbolic)
# With Clang's sanitizers, the program provides their functions, so they are undefined here.
if(NOT (HALFTONE_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
  target_link_options(halftone_gloo PRIVATE -Wl,-z,defs)
endif()
