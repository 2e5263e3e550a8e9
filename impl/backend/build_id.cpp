// The build id, computed at compile time. Plugins compile this file into themselves.
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/kernels.h"
#include "backend/plugin.h"

namespace halftone {
namespace {

// Must match project(VERSION) in CMakeLists.txt.
constexpr char kVersion[] = "0.1.0";

// The size and alignment of the structs that cross the seam, in a fixed order.
constexpr size_t kLayout[] = {
    sizeof(Status),
    sizeof(Shape),
    sizeof(View),
    alignof(View),
    sizeof(PluginHost),
    sizeof(PluginTable),
    sizeof(Kernels),
    sizeof(ConvertKernels),
    sizeof(ElementwiseKernels),
    sizeof(ReduceKernels),
    sizeof(GemmKernels),
    sizeof(NormKernels),
    sizeof(LossKernels),
    sizeof(ClassTargets),
    sizeof(ClassLosses),
    sizeof(IndexKernels),
    sizeof(RandomKernels),
    sizeof(OptimKernels),
    sizeof(GemmArgs),
    offsetof(GemmArgs, store),
    offsetof(GemmArgs, c),
    sizeof(MultiTensor<GradSlot>),
    sizeof(GradSlot),
    sizeof(MomentSlot),
    sizeof(UpdateSlot),
    offsetof(UpdateSlot, size),
    sizeof(OptimizerState),
    sizeof(Schedule),
    sizeof(ScalerSettings),
    sizeof(ScalerState),
    sizeof(AdamwGroup),
    sizeof(SgdGroup),
    sizeof(PhiloxKey),
    static_cast<size_t>(kDTypeLast),
};

// FNV-1a over the layout's bytes.
constexpr uint64_t layout_hash() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const size_t value : kLayout) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((uint64_t{value} >> shift) & 0xff)) * 0x100000001b3u;
    }
  }
  return hash;
}

#if defined(__clang__)
constexpr char kCompiler[] = " clang ";
#else
constexpr char kCompiler[] = " gcc ";
#endif

struct Text {
  std::array<char, 160> characters{};
  size_t length = 0;

  constexpr void append(const char* text) {
    for (; *text != '\0'; ++text) characters[length++] = *text;
  }
  constexpr void append_hex(uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) characters[length++] = "0123456789abcdef"[(value >> shift) & 15];
  }
};

constexpr Text make_build_id() {
  Text text;
  text.append("halftone ");
  text.append(kVersion);
  text.append(kCompiler);
  text.append(__VERSION__);
  text.append(" seam ");
  text.append_hex(layout_hash());
  return text;
}

constexpr Text kBuildId = make_build_id();

}  // namespace

const char* build_id() noexcept { return kBuildId.characters.data(); }

}  // namespace halftone
