// Roundings to formats: all numbers of a dtype of 16 bits, compared by a hash of the results.
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>

#include "runner/topics.h"

namespace vectors {
namespace {

constexpr int64_t kCodes = 1 << 16;

htone_format format_of(const std::string& name) {
  static const std::map<std::string, htone_format> formats = {{"f16", HTONE_FORMAT_F16},
                                                              {"bf16", HTONE_FORMAT_BF16},
                                                              {"e4m3", HTONE_FORMAT_E4M3},
                                                              {"e5m2", HTONE_FORMAT_E5M2},
                                                              {"e2m1", HTONE_FORMAT_E2M1}};
  return formats.at(name);
}

// FNV-1a over the bytes of FP32 patterns, of which every NaN counts as the quiet one without a sign.
uint64_t hash_of(const std::vector<uint32_t>& words) {
  uint64_t state = 0xcbf29ce484222325;
  for (const uint32_t word : words) {
    const uint32_t counted = (word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word;
    for (int shift = 0; shift < 32; shift += 8) state = (state ^ (counted >> shift & 0xff)) * 0x100000001b3;
  }
  return state;
}

}  // namespace

std::string run_format(htone_device* device, const Json& vector) {
  std::vector<uint16_t> codes(kCodes);
  std::iota(codes.begin(), codes.end(), uint16_t{0});
  const Tensor source =
      make<Tensor>(htone_tensor_create_copy, device, dtype_of(vector["from"]), 1, &kCodes, codes.data());
  const Tensor wide = make<Tensor>(htone_cast, source.get(), HTONE_F32);
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  options.overflow = vector["overflow"] == "saturate" ? HTONE_OVERFLOW_SATURATE : HTONE_OVERFLOW_NON_FINITE;
  const Tensor rounded = make<Tensor>(htone_round_to, wide.get(), format_of(vector["to"]), &options);
  std::vector<uint32_t> words(kCodes);
  ok(htone_tensor_read(rounded.get(), HTONE_F32, words.data(), words.size() * sizeof(uint32_t)));
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(hash_of(words)));
  if (vector["expected"] != text) throw Mismatch(std::string("the hash is ") + text);
  return "";
}

}  // namespace vectors
