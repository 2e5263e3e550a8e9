# libhalftone_cuda.so, the plugin for NVIDIA's GPUs: impl/cuda and those objects of the library that it needs, compiled
# into it. It links the CUDA runtime statically and nothing of the library; cuBLASLt is opened when it is needed, and the
# driver is never linked, so that the plugin loads on every machine. It lies beside libhalftone.so.
set(CMAKE_CUDA_ARCHITECTURES ${HALFTONE_CUDA_ARCHITECTURES})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cu ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cpp)
# Their headers have device code, too.
set(host_sources ${sources})
list(FILTER host_sources INCLUDE REGEX "\\.cpp$")
set_source_files_properties(${host_sources} PROPERTIES LANGUAGE CUDA)
add_library(halftone_cuda MODULE ${sources} backend/build_id.cpp backend/chunks.cpp core/dtype.cpp core/shape.cpp core/error.cpp
            core/fork_hook.cpp core/log.cpp)
set_target_properties(halftone_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/capi SKIP_BUILD_RPATH ON
                      INSTALL_RPATH "" CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden)
add_dependencies(halftone_cuda halftone_seam_hash)
target_include_directories(halftone_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated
                           ${CUDAToolkit_INCLUDE_DIRS})
# CMake 3.25 knows no standard later than C++17 for nvcc. -fmad=false: as -ffp-contract=off for the CPU, a formula gives
# one result on every path that does not ask for fused arithmetic.
target_compile_options(halftone_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr -fmad=false --Werror=cross-execution-space-call
    -Xcompiler=-fPIC>)
target_link_libraries(halftone_cuda PRIVATE CUDA::cudart_static Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(halftone_cuda PRIVATE -Wl,-z,defs -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,-Bsymbolic
                    -Wl,--exclude-libs,ALL)
