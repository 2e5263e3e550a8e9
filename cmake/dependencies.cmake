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
