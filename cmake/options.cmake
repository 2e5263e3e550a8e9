# The options of a build, and the flags that all our targets share.

option(HALFTONE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(HALFTONE_SAMPLES "Build the samples" ${PROJECT_IS_TOP_LEVEL})
option(HALFTONE_BINDINGS "Build the SWIG bindings whose language is installed" OFF)
option(HALFTONE_BENCHMARKS "Build the benchmarks" OFF)
option(HALFTONE_CUDA "Build libhalftone_cuda.so, the plugin for NVIDIA's GPUs (needs nvcc of CUDA 12.4 or later)" OFF)
option(HALFTONE_NCCL "Build libhalftone_nccl.so, the plugin for process groups on GPUs (needs HALFTONE_CUDA and nccl.h)"
       OFF)
set(HALFTONE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "The GPUs to compile for; PTX of the last one serves later ones")
option(HALFTONE_UNITY "Compile the sources of a folder as one file" ON)
option(HALFTONE_WERROR "Treat warnings as errors" OFF)
set(HALFTONE_SANITIZE "" CACHE STRING "Sanitizers of the whole tree: address,undefined,fuzzer-no-link or thread")
option(HALFTONE_ALL_CHECKS "Give kernels all checks of the sanitizers, which takes twice as long to compile" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# -ffp-contract=off: the compiler must not fuse products into sums, so that a formula gives one result on every path
# that does not request fused arithmetic. -fno-math-errno: kernels do not use errno, and setting it prevents the
# vectorisation of loops with sqrt.
add_compile_options(-Wall -Wextra -ffp-contract=off -fno-math-errno)
if(HALFTONE_WERROR)
  add_compile_options(-Werror)
endif()
if(HALFTONE_SANITIZE)
  add_compile_options(-fsanitize=${HALFTONE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(HALFTONE_SANITIZE MATCHES "undefined")
    # A C caller may pass any number as an enumeration; the library checks it and says so.
    add_compile_options(-fno-sanitize=enum)
  endif()
  add_link_options(-fsanitize=${HALFTONE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # gold links three times faster than the default linker.
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=gold HALFTONE_HAS_GOLD)
    if(HALFTONE_HAS_GOLD)
      add_link_options(-fuse-ld=gold)
    endif()
    # The runtime is part of the program. It needs libstdc++ for the library's C++, also where the program is C.
    add_link_options(-fsanitize-link-c++-runtime -Wl,--push-state,--no-as-needed,-lstdc++,--pop-state)
  endif()
endif()
