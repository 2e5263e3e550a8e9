#include "optim/saved_moments.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "backend/chunks.h"
#include "backend/formula/block_code.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::optim {
namespace {

constexpr const char* kVersionName = "moment_codes";
constexpr int64_t kVersion = 3;  // no release wrote 2

bool is_coded(const StateTensor& entry) { return entry.dtype() == DType::kI8 || entry.dtype() == DType::kU8; }

// True if the state has the codes of the first version: they were powers, 2 of a first moment and 4 of a second one.
bool has_powers(const StateDict& state) {
  const StateScalar* version = state.find_scalar(kVersionName);
  if (version == nullptr) return true;
  if (std::holds_alternative<int64_t>(*version) && std::get<int64_t>(*version) == kVersion) return false;
  fail(Code::kFormat, "", "%s is of another version than %lld", kVersionName, static_cast<long long>(kVersion));
}

// How codes of one kind, with a scale of 1, are read.
class Decoder {
 public:
  Decoder(DType dtype, bool is_power) : is_signed_(dtype == DType::kI8), is_power_(is_power) {}

  float operator()(uint8_t byte) const {
    const auto code = static_cast<int8_t>(byte);
    if (!is_power_) return is_signed_ ? decode_signed(code, 1.0f) : decode_unsigned(byte, 1.0f);
    const float share = is_signed_ ? static_cast<float>(code) / 127.0f : static_cast<float>(byte) / 255.0f;
    return is_signed_ ? share * std::fabs(share) : share * share * (share * share);
  }
  // The nearest code of this version.
  uint8_t recoded(uint8_t byte) const {
    constexpr uint16_t kMiddle = 0x7fff;
    const float value = (*this)(byte);
    return is_signed_ ? static_cast<uint8_t>(encode_signed(value, 1.0f, kMiddle))
                      : encode_unsigned(value, 1.0f, kMiddle);
  }

 private:
  bool is_signed_;
  bool is_power_;
};

// Elements [begin, begin + count) of the flattened tensor that an entry is a range of.
template <class Element>
std::vector<Element> elements_of(const StateTensor& entry, int64_t begin, int64_t count) {
  std::vector<Element> elements(static_cast<size_t>(count));
  if (count == 0) return elements;
  const int64_t first = begin - entry.offset();
  if (entry.reader) {
    const Tensor read = empty(entry.reader->device(), entry.dtype(), {count}, Category::kWorkspace);
    entry.reader->read(first, read);
    read_to_host(read, entry.dtype(), elements.data());
  } else {
    const Tensor flat = contiguous(entry.tensor);
    read_to_host(flat.as_strided({count}, {1}, flat.offset() + first), entry.dtype(), elements.data());
  }
  return elements;
}

bool has_range(const StateTensor& entry, int64_t begin, int64_t end) {
  const BoxRange held = entry.held();
  return held.box == nullptr && contains(held, {.box = nullptr, .begin = begin, .end = end});
}

// The target's range of `saved`, in the target's dtype. REQUIRES: saved and scales have the range.
Tensor converted_range(const StateTensor& target, const StateTensor& saved, const StateTensor* scales, bool is_power) {
  const Decoder decode(saved.dtype(), is_power);
  ContextDevice& device = target.reader ? target.reader->device() : target.tensor.device();
  std::vector<uint8_t> codes = elements_of<uint8_t>(saved, target.offset(), target.numel());
  if (is_coded(target)) {
    for (uint8_t& code : codes) code = decode.recoded(code);
    return from_host(device, target.dtype(), target.shape(), codes.data(), Category::kWorkspace);
  }
  const int64_t blocks = (target.numel() + kBlockSize - 1) / kBlockSize;
  const std::vector<float> of_blocks = elements_of<float>(*scales, target.offset() / kBlockSize, blocks);
  std::vector<float> values(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) values[i] = decode(codes[i]) * of_blocks[i / kBlockSize];
  return from_host(device, DType::kF32, target.shape(), values.data(), Category::kWorkspace);
}

// An entry that cannot be converted stays, and the copy refuses it with its dtype, shape or range.
void add_converted(StateDict& result, const StateTensor& target, const StateTensor& saved, const StateTensor* scales,
                   bool is_power) {
  const int64_t end = target.offset() + target.numel();
  const bool decodes = target.dtype() == DType::kF32;
  const bool fits =
      is_coded(saved) && saved.global_shape() == target.global_shape() && has_range(saved, target.offset(), end);
  const bool has_scales = scales != nullptr && scales->dtype() == DType::kF32 &&
                          has_range(*scales, target.offset() / kBlockSize, (end + kBlockSize - 1) / kBlockSize);
  const bool recodes = is_power && target.dtype() == saved.dtype();
  if (!fits || !(recodes || (decodes && has_scales))) return result.add_entry(target.name, saved);
  result.add_entry(
      target.name,
      {.name = target.name, .tensor = converted_range(target, saved, scales, is_power), .range = target.range});
}

}  // namespace

void add_code_version(StateDict& state) {
  const auto& entries = state.tensors();
  if (std::any_of(entries.begin(), entries.end(), is_coded)) state.add(kVersionName, kVersion);
}

StateDict in_codes_of(const StateDict& targets, const StateDict& state) {
  const bool is_power = has_powers(state);
  StateDict result;
  for (const StateTensor& target : targets.tensors()) {
    const StateTensor* saved = state.find(target.name);
    if (saved != nullptr) add_converted(result, target, *saved, state.find(target.name + "_scales"), is_power);
  }
  return result;
}

}  // namespace halftone::optim
