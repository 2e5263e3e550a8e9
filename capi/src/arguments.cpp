#include "arguments.h"

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

void require_finite(double value, const char* argument) {
  if (!std::isfinite(value)) fail(Code::kInvalidArgument, argument, "%s=%g is not finite", argument, value);
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
