# What the library itself links. Tests, samples and bindings look for their own tools in their folders.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy>=1.0)
# Both are headers alone: nothing is linked.
find_package(nlohmann_json 3.10 REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
