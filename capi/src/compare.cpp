#include "halftone/compare.h"

#include "arguments.h"
#include "guard.h"
#include "ops/ops.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_eq(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::eq(left, unwrap(b, "b")));
  });
}

htone_status htone_ne(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::ne(left, unwrap(b, "b")));
  });
}

htone_status htone_lt(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::lt(left, unwrap(b, "b")));
  });
}

htone_status htone_le(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::le(left, unwrap(b, "b")));
  });
}

htone_status htone_gt(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::gt(left, unwrap(b, "b")));
  });
}

htone_status htone_ge(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::ge(left, unwrap(b, "b")));
  });
}

htone_status htone_logical_and(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::logical_and(left, unwrap(b, "b")));
  });
}

htone_status htone_logical_or(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::logical_or(left, unwrap(b, "b")));
  });
}

htone_status htone_logical_not(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::logical_not(unwrap(input, "input"))); });
}

htone_status htone_is_nan(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::is_nan(unwrap(input, "input"))); });
}

htone_status htone_is_finite(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::is_finite(unwrap(input, "input"))); });
}

htone_status htone_where(htone_tensor* condition, htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& chosen = unwrap(condition, "condition");
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::where(chosen, left, unwrap(b, "b")));
  });
}
