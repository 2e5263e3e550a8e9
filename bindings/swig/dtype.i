/* Element types. */

%{
#include "halftone/dtype.h"
%}

/* Java and C# copy these literal values; the assertions compare them with the C header. */
%inline %{
enum class Dtype : int32_t {
  F64 = 1,
  F32 = 2,
  F16 = 3,
  BF16 = 4,
  F8E4M3 = 5,
  F8E5M2 = 6,
  I64 = 7,
  I32 = 8,
  I16 = 9,
  I8 = 10,
  U8 = 11,
  BOOL = 12
};
%}

%{
static_assert(int32_t(Dtype::F64) == HTONE_F64);
static_assert(int32_t(Dtype::F32) == HTONE_F32);
static_assert(int32_t(Dtype::F16) == HTONE_F16);
static_assert(int32_t(Dtype::BF16) == HTONE_BF16);
static_assert(int32_t(Dtype::F8E4M3) == HTONE_F8E4M3);
static_assert(int32_t(Dtype::F8E5M2) == HTONE_F8E5M2);
static_assert(int32_t(Dtype::I64) == HTONE_I64);
static_assert(int32_t(Dtype::I32) == HTONE_I32);
static_assert(int32_t(Dtype::I16) == HTONE_I16);
static_assert(int32_t(Dtype::I8) == HTONE_I8);
static_assert(int32_t(Dtype::U8) == HTONE_U8);
static_assert(int32_t(Dtype::BOOL) == HTONE_BOOL);
%}
