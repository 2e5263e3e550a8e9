// The build id. Plugins compile this file into themselves.
#include "backend/plugin.h"
#include "seam_hash.h"

namespace halftone {
namespace {

// The version must match project(VERSION) in CMakeLists.txt.
#if defined(__clang__)
constexpr char kBuildId[] = "halftone 0.1.0 clang " __VERSION__ " seam " HALFTONE_SEAM_HASH;
#else
constexpr char kBuildId[] = "halftone 0.1.0 gcc " __VERSION__ " seam " HALFTONE_SEAM_HASH;
#endif

}  // namespace

const char* build_id() noexcept { return kBuildId; }

}  // namespace halftone
