#include "nn/transformer/left_padding.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

void require_mask(const Tensor& mask, const Tensor& tokens) {
  if (mask.dtype() != DType::kBool && mask.dtype() != DType::kU8) {
    fail(Code::kDtypeMismatch, "options", "options.mask is %s, expected bool or u8", name_of(mask.dtype()));
  }
  if (mask.shape() != tokens.shape()) {
    fail(Code::kShapeMismatch, "options", "options.mask %s, expected the shape %s of tokens",
         ShapeText(mask.shape()).text, ShapeText(tokens.shape()).text);
  }
  if (&mask.device() != &tokens.device()) {
    fail(Code::kDevice, "options", "options.mask is on another device than tokens");
  }
}

int64_t width_of(std::span<const uint8_t> shown, size_t row) {
  const auto first = std::find_if(shown.begin(), shown.end(), [](uint8_t value) { return value != 0; });
  if (first == shown.end()) {
    fail(Code::kInvalidArgument, "options", "options.mask shows no token of row %zu", row);
  }
  const auto hole = std::find(first, shown.end(), uint8_t{0});
  if (hole == shown.end()) return first - shown.begin();
  fail(Code::kInvalidArgument, "options",
       "options.mask hides the token %lld of row %zu behind one that it shows; padding must come first",
       static_cast<long long>(hole - shown.begin()), row);
}

}  // namespace

LeftPadding::LeftPadding(const Tensor& mask, const Tensor& tokens) : device_(&tokens.device()) {
  require_mask(mask, tokens);
  const auto rows = static_cast<size_t>(tokens.size(0)), time = static_cast<size_t>(tokens.size(1));
  std::vector<uint8_t> shown(rows * time);
  if (!shown.empty()) read_to_host(mask, DType::kU8, shown.data());
  for (size_t row = 0; row < rows; ++row) {
    widths_.push_back(width_of(std::span(shown).subspan(row * time, time), row));
  }
  if (std::all_of(widths_.begin(), widths_.end(), [](int64_t width) { return width == 0; })) widths_.clear();
}

int64_t LeftPadding::most_tokens(int64_t begin, int64_t end) const noexcept {
  return end - std::max(begin, *std::min_element(widths_.begin(), widths_.end()));
}

Tensor LeftPadding::mask(int64_t begin, int64_t end) const {
  std::vector<uint8_t> shown;
  for (const int64_t width : widths_) {
    for (int64_t column = begin; column < end; ++column) shown.push_back(column >= width);
  }
  const Tensor made = empty(*device_, DType::kBool, {static_cast<int64_t>(widths_.size()), 1, 1, end - begin});
  write_from_host(made, DType::kBool, shown.data());
  return made;
}

Tensor LeftPadding::positions(int64_t begin, int64_t from, int64_t end) const {
  std::vector<int64_t> places;
  for (const int64_t width : widths_) {
    const int64_t first = std::max(begin, width);
    for (int64_t column = from; column < end; ++column) places.push_back(std::max<int64_t>(column - first, 0));
  }
  const Tensor made = empty(*device_, DType::kI64, {static_cast<int64_t>(widths_.size()), end - from});
  write_from_host(made, DType::kI64, places.data());
  return made;
}

}  // namespace halftone::nn
