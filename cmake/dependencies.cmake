# The libraries that halftone itself links. Tests, samples and bindings find their own tools in their folders.

# Stops the configuration if `variable` is not set: names the missing tool and its Debian package.
function(halftone_require variable what package)
  if(NOT ${variable})
    message(FATAL_ERROR "halftone: ${what} is missing (Debian: ${package}). tools/install_for_library.sh installs what "
                        "the library needs, tests/run what its tests need; -DHALFTONE_TESTS=OFF builds without tests.")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
halftone_require(PKG_CONFIG_FOUND pkg-config pkg-config)
pkg_check_modules(HWY IMPORTED_TARGET libhwy>=1.0)
halftone_require(HWY_FOUND "Highway 1.0 or later" libhwy-dev)
# It consists only of headers, so nothing is linked.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
halftone_require(XXHASH_INCLUDE_DIR xxHash libxxhash-dev)
# Python reads the public headers at build time. Its standard library is enough, so the system's Python is preferred.
find_program(HALFTONE_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(HALFTONE_PYTHON NAMES python3)
halftone_require(HALFTONE_PYTHON "Python 3" python3)

# The plugin for groups of processes over TCP.
set(HALFTONE_GLOO AUTO CACHE STRING "Build libhalftone_gloo.so: ON, OFF, or AUTO (where Gloo and OpenSSL are installed)")
set_property(CACHE HALFTONE_GLOO PROPERTY STRINGS AUTO ON OFF)
set(HALFTONE_HAS_GLOO OFF)
if(HALFTONE_GLOO)
  find_path(HALFTONE_GLOO_INCLUDE_DIR gloo/transport/tcp/unbound_buffer.h)
  find_library(HALFTONE_GLOO_LIBRARY gloo)
  find_package(OpenSSL QUIET COMPONENTS Crypto)
  if(HALFTONE_GLOO_INCLUDE_DIR AND HALFTONE_GLOO_LIBRARY AND OpenSSL_FOUND)
    set(HALFTONE_HAS_GLOO ON)
  elseif(HALFTONE_GLOO STREQUAL "AUTO")
    message(STATUS "halftone: Gloo or OpenSSL is missing (Debian: libgloo-dev libssl-dev), so libhalftone_gloo.so, the "
                   "plugin for groups of processes over TCP, is left out")
  else()
    halftone_require(HALFTONE_HAS_GLOO "Gloo or OpenSSL" "libgloo-dev libssl-dev")
  endif()
endif()

# The plugins for NVIDIA's GPUs, and the programs that measure them. The whole tree sees what is found here.
if(HALFTONE_CUDA)
  if(NOT DEFINED ENV{CUDACXX})
    find_program(CMAKE_CUDA_COMPILER NAMES nvcc PATHS /usr/local/cuda/bin) # NVIDIA's packages leave PATH alone
    if(NOT CMAKE_CUDA_COMPILER)
      message(FATAL_ERROR "halftone: nvcc of CUDA 12.4 or later is missing (from NVIDIA); the variable CUDACXX names it, "
                          "-DHALFTONE_CUDA=OFF builds for the CPU alone")
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${HALFTONE_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit 12.4 REQUIRED)
endif()
