// Scaled tensors, compared bitwise.
#include <cstdint>

#include "runner/topics.h"

namespace vectors {
namespace {

using Scaled = Owner<htone_scaled, htone_scaled_release>;

// The bytes of lines of hexadecimal digits.
std::vector<uint8_t> bytes_of(const Json& lines) {
  std::vector<uint8_t> bytes;
  for (const std::string line : lines) {
    for (size_t i = 0; i < line.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoul(line.substr(i, 2), nullptr, 16)));
    }
  }
  return bytes;
}

htone_scaled_options scaled_options(const Json& vector) {
  htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
  options.layout = vector["layout"] == "mx_1x32" ? HTONE_SCALE_LAYOUT_MX_1X32 : HTONE_SCALE_LAYOUT_NV_1X16;
  options.format = vector["format"] == "e4m3"   ? HTONE_FORMAT_E4M3
                   : vector["format"] == "e5m2" ? HTONE_FORMAT_E5M2
                                                : HTONE_FORMAT_E2M1;
  options.scale_rounds_up = vector.value("scale_rounds_up", false) ? 1 : 0;
  return options;
}

void compare(const char* part, const Tensor& tensor, const Json& lines) {
  htone_dtype dtype = HTONE_U8;
  ok(htone_tensor_dtype(tensor.get(), &dtype));
  const std::vector<uint8_t> expected = bytes_of(lines);
  std::vector<uint8_t> bytes(expected.size());
  ok(htone_tensor_read(tensor.get(), dtype, bytes.data(), bytes.size()));
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == expected[i]) continue;
    throw Mismatch("byte " + std::to_string(i) + " of " + part + " is " + std::to_string(bytes[i]) + ", expected " +
                   std::to_string(expected[i]));
  }
}

}  // namespace

std::string run_scaled(htone_device* device, const Json& vector) {
  const std::vector<uint8_t> given = bytes_of(vector["input"]);
  const int64_t shape[] = {static_cast<int64_t>(vector["input"].size()), vector["columns"]};
  const htone_scaled_options options = scaled_options(vector);
  const Tensor x = make<Tensor>(htone_tensor_create_copy, device, HTONE_BF16, 2, shape, given.data());
  const Scaled scaled = make<Scaled>(htone_scaled_create, x.get(), &options, nullptr, nullptr);
  compare("scales", make<Tensor>(htone_scaled_scales, scaled.get()), vector["scales"]);
  compare("codes", make<Tensor>(htone_scaled_codes, scaled.get()), vector["codes"]);
  if (vector.contains("tensor_scale")) {
    compare("tensor_scale", make<Tensor>(htone_scaled_tensor_scale, scaled.get()),
            Json::array({vector["tensor_scale"]}));
  }
  return "";
}

}  // namespace vectors
