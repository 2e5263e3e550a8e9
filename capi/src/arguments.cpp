#include "arguments.h"

#include "core/utf8.h"
#include "ops/check.h"

namespace halftone::capi {

void fail_handle(const void* handle, HandleType expected, const char* argument) {
  if (handle == nullptr) {
    fail(Code::kInvalidHandle, argument, "%s is NULL, expected %s", argument, name_with_article(expected));
  }
  const HandleType actual = HandleTable::instance().type_of(handle);
  fail(Code::kInvalidHandle, argument, "%s is %s, expected %s", argument, name_with_article(actual),
       name_with_article(expected));
}

Shape checked_shape_argument(int32_t ndim, const int64_t* shape) {
  if (ndim < 0 || ndim > kMaxRank) {
    fail(Code::kInvalidArgument, "ndim", "ndim=%d is outside [0, %d]", ndim, kMaxRank);
  }
  if (ndim > 0) require(shape, "shape");
  return checked_shape(shape, ndim, "shape");
}

Shape open_shape_argument(int32_t ndim, const int64_t* shape) {
  if (ndim < 0 || ndim > kMaxRank) fail(Code::kInvalidArgument, "ndim", "ndim=%d is outside [0, %d]", ndim, kMaxRank);
  if (ndim > 0) require(shape, "shape");
  return Shape(shape, ndim);
}

Shape checked_dims_argument(int32_t dim_count, const int64_t* dims) {
  if (dim_count < 0 || dim_count > kMaxRank) {
    fail(Code::kInvalidArgument, "dim_count", "dim_count=%d is outside [0, %d]", dim_count, kMaxRank);
  }
  if (dim_count > 0) require(dims, "dims");
  return Shape(dims, dim_count);
}

DType checked_dtype(htone_dtype dtype, const char* argument) {
  const auto checked = static_cast<DType>(dtype);
  if (!is_valid(checked)) fail(Code::kInvalidArgument, argument, "%s=%d is no dtype", argument, dtype);
  return checked;
}

DType checked_weight_dtype(htone_dtype dtype, const char* argument, const char* shown) {
  const DType checked = static_cast<DType>(dtype);
  if (!is_arithmetic_float(checked)) {
    fail(Code::kInvalidArgument, argument, "%s=%s, expected f64, f32, f16 or bf16", shown, htone_dtype_name(dtype));
  }
  return checked;
}

void require_name(const char* name) {
  constexpr size_t kMost = 4096;
  const size_t length = std::strlen(name);
  if (length == 0) fail(Code::kInvalidArgument, "name", "name is empty");
  if (length > kMost) fail(Code::kInvalidArgument, "name", "name has %zu bytes, expected at most %zu", length, kMost);
  if (!is_utf8(name, length)) fail(Code::kInvalidArgument, "name", "name is no UTF-8");
  for (size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte < 0x20 || byte == 0x7f) {
      fail(Code::kInvalidArgument, "name", "name has the control character 0x%02x at byte %zu", byte, i);
    }
  }
}

void require_finite(double value, const char* argument) {
  if (!std::isfinite(value)) fail(Code::kInvalidArgument, argument, "%s=%g is not finite", argument, value);
}

void require_probability(double value, const char* argument) {
  if (!(value >= 0.0 && value <= 1.0)) {
    fail(Code::kInvalidArgument, argument, "%s=%g is outside [0, 1]", argument, value);
  }
}

ops::GeluForm checked_gelu_form(htone_gelu_form form) {
  if (form != HTONE_GELU_ERF && form != HTONE_GELU_TANH) {
    fail(Code::kInvalidArgument, "form", "form=%d, expected HTONE_GELU_ERF or HTONE_GELU_TANH", form);
  }
  return form == HTONE_GELU_ERF ? ops::GeluForm::kErf : ops::GeluForm::kTanh;
}

void copy_text(const char* text, char* out_text, const char* text_argument, size_t capacity, size_t* out_length) {
  require_memory(out_text, text_argument);
  require(out_length, "out_length");
  const size_t length = std::strlen(text);
  *out_length = length;
  if (capacity <= length) {
    if (capacity > 0) out_text[0] = '\0';
    fail(Code::kBufferTooSmall, "capacity", "capacity=%zu, expected at least %zu", capacity, length + 1);
  }
  std::memcpy(out_text, text, length + 1);
}

void copy_sizes(const Shape& sizes, int32_t capacity, int64_t* out_sizes, const char* sizes_argument,
                int32_t* out_ndim) {
  if (capacity < 0) fail(Code::kInvalidArgument, "capacity", "capacity=%d is negative", capacity);
  if (capacity > 0) require_memory(out_sizes, sizes_argument);
  require(out_ndim, "out_ndim");
  *out_ndim = sizes.rank();
  if (capacity < sizes.rank()) {
    fail(Code::kBufferTooSmall, "capacity", "capacity=%d, expected at least %d", capacity, sizes.rank());
  }
  for (int i = 0; i < sizes.rank(); ++i) out_sizes[i] = sizes[i];
}

void copy_options(void* defaults, size_t size, const void* options, const char* argument) {
  uint32_t known;
  std::memcpy(&known, options, sizeof known);
  if (known < sizeof known || known > 4096) {
    fail(Code::kInvalidArgument, argument, "%s.struct_size=%u; fill options with the type's _init function", argument,
         known);
  }
  const auto* bytes = static_cast<const unsigned char*>(options);
  for (size_t i = size; i < known; ++i) {
    if (bytes[i] != 0) {
      fail(Code::kUnsupported, argument, "%s sets a field at byte %zu that this version of the library does not know",
           argument, i);
    }
  }
  std::memcpy(defaults, options, known < size ? known : size);
}

}  // namespace halftone::capi
