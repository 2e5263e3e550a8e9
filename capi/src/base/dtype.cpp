#include "halftone/dtype.h"

#include "base/call.h"
#include "core/dtype.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(DType::kF64) == HTONE_F64 && static_cast<int32_t>(DType::kF32) == HTONE_F32);
static_assert(static_cast<int32_t>(DType::kF16) == HTONE_F16 && static_cast<int32_t>(DType::kBF16) == HTONE_BF16);
static_assert(static_cast<int32_t>(DType::kF8E4M3) == HTONE_F8E4M3);
static_assert(static_cast<int32_t>(DType::kF8E5M2) == HTONE_F8E5M2);
static_assert(static_cast<int32_t>(DType::kI64) == HTONE_I64 && static_cast<int32_t>(DType::kI32) == HTONE_I32);
static_assert(static_cast<int32_t>(DType::kI16) == HTONE_I16 && static_cast<int32_t>(DType::kI8) == HTONE_I8);
static_assert(static_cast<int32_t>(DType::kU8) == HTONE_U8 && static_cast<int32_t>(DType::kBool) == HTONE_BOOL);

const char* htone_dtype_name(htone_dtype dtype) { return name_of(static_cast<DType>(dtype)); }

htone_status htone_dtype_size(htone_dtype dtype, size_t* out_bytes) {
  return Pure([](DType known) { return size_of(known); }, as<checked_dtype>(dtype), out_bytes);
}

htone_status htone_dtype_promote(htone_dtype a, htone_dtype b, htone_dtype* out_dtype) {
  return Pure(promote, as<checked_dtype>(a), as<checked_dtype>(b), out_dtype);
}
