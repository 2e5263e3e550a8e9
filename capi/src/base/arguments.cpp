#include "base/arguments.h"

#include <cinttypes>
#include <cstdio>

#include "core/text/utf8.h"

namespace halftone::capi {

void fail_null(ArgumentName argument) { fail(Code::kInvalidArgument, argument.text(), "%s is NULL", argument.text()); }

Shape open_shape(int32_t ndim, const int64_t* shape) {
  if (ndim < 0 || ndim > kMaxRank) fail(Code::kInvalidArgument, "ndim", "ndim=%d is outside [0, %d]", ndim, kMaxRank);
  if (ndim > 0) require(shape, "shape");
  return Shape(shape, ndim);
}

Shape fixed_shape(int32_t ndim, const int64_t* shape) {
  open_shape(ndim, shape);
  return halftone::checked_shape(shape, ndim, "shape");
}

Shape dim_list(int32_t dim_count, const int64_t* dims) {
  if (dim_count < 0 || dim_count > kMaxRank) {
    fail(Code::kInvalidArgument, "dim_count", "dim_count=%d is outside [0, %d]", dim_count, kMaxRank);
  }
  if (dim_count > 0) require(dims, "dims");
  return Shape(dims, dim_count);
}

DType checked_dtype(htone_dtype dtype, ArgumentName argument) {
  const auto checked = static_cast<DType>(dtype);
  if (!is_valid(checked)) fail(Code::kInvalidArgument, argument.text(), "%s=%d is no dtype", argument.text(), dtype);
  return checked;
}

const char* checked_name(const char* name, ArgumentName argument) {
  constexpr size_t kMost = 4096;
  const size_t length = std::strlen(&require(name, argument));
  const char* shown = argument.text();
  if (length == 0) fail(Code::kInvalidArgument, shown, "%s is empty", shown);
  if (length > kMost) {
    fail(Code::kInvalidArgument, shown, "%s has %zu bytes, expected at most %zu", shown, length, kMost);
  }
  if (!is_utf8(name, length)) fail(Code::kInvalidArgument, shown, "%s is no UTF-8", shown);
  for (size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte < 0x20 || byte == 0x7f) {
      fail(Code::kInvalidArgument, shown, "%s has the control character 0x%02x at byte %zu", shown, byte, i);
    }
  }
  return name;
}

double finite_number(double value, ArgumentName argument) {
  if (!std::isfinite(value))
    fail(Code::kInvalidArgument, argument.text(), "%s=%g is not finite", argument.text(), value);
  return value;
}

double probability(double value, ArgumentName argument) {
  if (!(value >= 0.0 && value <= 1.0)) {
    fail(Code::kInvalidArgument, argument.text(), "%s=%g is outside [0, 1]", argument.text(), value);
  }
  return value;
}

int64_t at_least(int64_t value, int64_t least, ArgumentName argument) {
  if (value < least) {
    fail(Code::kInvalidArgument, argument.text(), "%s=%" PRId64 ", expected at least %" PRId64, argument.text(), value,
         least);
  }
  return value;
}

int64_t positive(int64_t value, ArgumentName argument) { return at_least(value, 1, argument); }

void require_index(size_t index, size_t count) {
  if (index >= count) fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, count);
}

void copy_text(std::string_view text, char* out, size_t capacity, size_t* out_length) {
  const size_t length = text.size();
  *out_length = length;
  if (capacity <= length) {
    // A caller that ignores the status prints no garbage.
    if (capacity > 0) out[0] = '\0';
    fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, length + 1);
  }
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

void copy_sizes(const Shape& sizes, int32_t capacity, int64_t* out, int32_t* out_ndim) {
  *out_ndim = sizes.rank();
  if (capacity < sizes.rank()) {
    fail(Code::kBufferTooSmall, "capacity", "capacity=%d, expected at least %d", capacity, sizes.rank());
  }
  for (int i = 0; i < sizes.rank(); ++i) out[i] = sizes[i];
}

void copy_options(void* defaults, size_t size, const void* options, ArgumentName argument) {
  uint32_t known;
  std::memcpy(&known, options, sizeof known);
  // No structure is this large: such a size is memory that was never filled.
  if (known < sizeof known || known > 4096) {
    fail(Code::kInvalidArgument, argument.text(), "%s.struct_size=%u; fill options with the type's _init function",
         argument.text(), known);
  }
  const auto* bytes = static_cast<const unsigned char*>(options);
  // A program of a newer header has a longer structure; it works as long as the new fields have their default, 0.
  for (size_t i = size; i < known; ++i) {
    if (bytes[i] != 0) {
      fail(Code::kUnsupported, argument.text(),
           "%s sets a field at byte %zu that this version of the library does not know", argument.text(), i);
    }
  }
  std::memcpy(defaults, options, known < size ? known : size);
}

}  // namespace halftone::capi
