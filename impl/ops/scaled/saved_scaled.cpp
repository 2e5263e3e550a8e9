#include "ops/scaled/saved_scaled.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// By value of the enumeration.
constexpr std::string_view kLayoutNames[] = {"",        "tensor",  "row",     "block_1x128", "block_128x128",
                                             "mx_1x32", "nv_1x16", "nv_16x16"};
constexpr std::string_view kFormatNames[] = {"", "", "", "", "e4m3", "e5m2", "e2m1"};

std::string layout_text(const ShapedScaled& value) {
  std::string text(kLayoutNames[static_cast<size_t>(value.scaled.layout)]);
  text.append(" ").append(kFormatNames[static_cast<size_t>(value.scaled.format)]).append(" ");
  for (int i = 0; i < value.shape.rank(); ++i) text.append(i == 0 ? "" : "x").append(std::to_string(value.shape[i]));
  return text;
}

// Takes the text up to `end`, and that with it, off the front.
std::string_view take_word(std::string_view& text, char end) {
  const size_t length = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return word;
}

// 0 for a name that is not in the list.
template <size_t count>
int32_t number_of(std::string_view name, const std::string_view (&names)[count]) {
  const auto place = std::find(names + 1, names + count, name);
  return name.empty() || place == names + count ? 0 : static_cast<int32_t>(place - names);
}

bool parse_shape(std::string_view text, Shape& shape) {
  while (!text.empty()) {
    const std::string_view word = take_word(text, 'x');
    int64_t size = -1;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), size);
    if (end.ec != std::errc() || end.ptr != word.data() + word.size() || size < 0) return false;
    if (shape.rank() == kMaxRank) return false;
    shape.push_back(size);
  }
  return shape.rank() > 0;
}

// The description in a text, without tensors.
ShapedScaled described(const std::string& text) {
  std::string_view rest = text;
  const int32_t layout = number_of(take_word(rest, ' '), kLayoutNames);
  const int32_t format = number_of(take_word(rest, ' '), kFormatNames);
  ShapedScaled result;
  result.scaled.layout = static_cast<ScaleLayout>(layout);
  result.scaled.format = static_cast<NumberFormat>(format);
  // Only the text that a scaled tensor is saved with describes it.
  const bool is_shape = parse_shape(rest, result.shape);
  if (layout != 0 && format != 0 && is_shape && layout_text(result) == text) return result;
  fail(Code::kFormat, "name", "\"%.100s\" describes no scaled tensor", text.c_str());
}

const std::string& text_of(const SharedStateDict& state, const std::string& key) {
  const auto text =
      std::find_if(state.texts.begin(), state.texts.end(), [&](auto& known) { return known.first == key; });
  if (text != state.texts.end()) return text->second;
  fail(Code::kInvalidArgument, "name", "the text %.200s is not in the state dict", key.c_str());
}

// The entry's tensor, contiguous, checked against what the layout needs.
Tensor entry_of(const SharedStateDict& state, const std::string& key, DType dtype, const Shape& shape) {
  const StateTensor* const entry = state.state.find(key);
  if (entry == nullptr) fail(Code::kInvalidArgument, "name", "%.200s is not in the state dict", key.c_str());
  if (entry->dtype() != dtype) {
    fail(Code::kDtypeMismatch, "name", "%.200s is %s, expected %s", key.c_str(), name_of(entry->dtype()),
         name_of(dtype));
  }
  if (!(entry->shape() == shape)) {
    fail(Code::kShapeMismatch, "name", "%.200s is %s, expected %s", key.c_str(), ShapeText(entry->shape()).text,
         ShapeText(shape).text);
  }
  return contiguous(in_memory(*entry).detach());
}

}  // namespace

Tensor shaped_codes(const ShapedScaled& value) {
  const Shape shape = code_shape(value.scaled.format, value.shape);
  return value.scaled.codes.as_strided(shape, contiguous_strides(shape), value.scaled.codes.offset());
}

void save_scaled(const ShapedScaled& value, const std::string& name, SharedStateDict& state) {
  const std::string lead = name + ".";
  for (const char* part : {"codes", "scales", "tensor_scale"}) {
    if (state.state.find(lead + part) == nullptr && state.state.find_scalar(lead + part) == nullptr) continue;
    fail(Code::kInvalidArgument, "name", "%.200s%s is in the state dict already", lead.c_str(), part);
  }
  const auto is_layout = [&](const auto& known) { return known.first == lead + "layout"; };
  if (std::any_of(state.texts.begin(), state.texts.end(), is_layout)) {
    fail(Code::kInvalidArgument, "name", "the text %.200slayout is in the state dict already", lead.c_str());
  }
  state.state.add(lead + "codes", shaped_codes(value));
  state.state.add(lead + "scales", value.scaled.scales);
  if (value.scaled.tensor_scale.defined()) state.state.add(lead + "tensor_scale", value.scaled.tensor_scale);
  state.texts.emplace_back(lead + "layout", layout_text(value));
}

ShapedScaled load_scaled(const SharedStateDict& state, const std::string& name) {
  const std::string lead = name + ".";
  ShapedScaled result = described(text_of(state, lead + "layout"));
  result.shape = checked_shape(result.shape.begin(), result.shape.rank(), "name");
  Scaled& scaled = result.scaled;
  scaled.shape = matrix_shape(result.shape);
  require_format(scaled.layout, scaled.format, "name");
  const Tensor codes =
      entry_of(state, lead + "codes", code_dtype(scaled.format), code_shape(scaled.format, result.shape));
  const Shape stored = code_shape(scaled.format, scaled.shape);
  scaled.codes = codes.as_strided(stored, contiguous_strides(stored), codes.offset());
  scaled.scales =
      entry_of(state, lead + "scales", scale_dtype(scaled.layout), scale_shape(scaled.layout, scaled.shape));
  if (is_nv(scaled.layout)) scaled.tensor_scale = entry_of(state, lead + "tensor_scale", DType::kF32, {});
  return result;
}

}  // namespace halftone::ops
