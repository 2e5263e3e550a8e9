// Conversions, compared bitwise.
#include <cstdint>
#include <cstring>

#include "runner/topics.h"

namespace vectors {
namespace {

size_t width_of(htone_dtype dtype) {
  size_t bytes = 0;
  ok(htone_dtype_size(dtype, &bytes));
  return bytes;
}

// Codes of `width` bytes in memory order; the library runs on little-endian machines only.
std::vector<uint8_t> bytes_of(const Json& codes, size_t width) {
  std::vector<uint8_t> bytes(codes.size() * width);
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<uint32_t>(std::stoul(codes[i].get<std::string>(), nullptr, 16));
    std::memcpy(&bytes[i * width], &code, width);
  }
  return bytes;
}

bool is_nan(uint32_t code, htone_dtype dtype) {
  switch (dtype) {
    case HTONE_F32:
      return (code & 0x7fffffff) > 0x7f800000;
    case HTONE_F16:
      return (code & 0x7fff) > 0x7c00;
    case HTONE_BF16:
      return (code & 0x7fff) > 0x7f80;
    case HTONE_F8E4M3:
      return (code & 0x7f) == 0x7f;
    default:
      return (code & 0x7f) > 0x7c;
  }
}

void compare(uint32_t actual, const std::string& expected, htone_dtype dtype, const std::string& input) {
  const bool right = expected == "nan" ? is_nan(actual, dtype) : actual == std::stoul(expected, nullptr, 16);
  if (right) return;
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", actual);
  throw Mismatch(input + " became " + text + ", expected " + expected);
}

}  // namespace

std::string run_cast(htone_device* device, const Json& vector) {
  if (vector["to"] == "f8e4m3" && vector["overflow"] != "saturate") return "htone_cast to f8e4m3 always saturates";
  const htone_dtype from = dtype_of(vector["from"]), to = dtype_of(vector["to"]);
  const Json &inputs = vector["input"], &expected = vector["expected"];
  const std::vector<uint8_t> given = bytes_of(inputs, width_of(from));
  const int64_t shape[] = {static_cast<int64_t>(inputs.size())};
  const Tensor source = make<Tensor>(htone_tensor_create_copy, device, from, 1, shape, given.data());
  const Tensor result = make<Tensor>(htone_cast, source.get(), to);
  std::vector<uint8_t> codes(inputs.size() * width_of(to));
  ok(htone_tensor_read(result.get(), to, codes.data(), codes.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    uint32_t code = 0;
    std::memcpy(&code, &codes[i * width_of(to)], width_of(to));
    compare(code, expected[i], to, inputs[i]);
  }
  return "";
}

}  // namespace vectors
