#include "halftone/shape.h"

#include "base/call.h"
#include "ops/conv/conv.h"
#include "ops/padding.h"
#include "ops/shape/shape.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// `tensors` must not be NULL even if count is 0.
std::vector<Tensor> tensor_list(size_t count, htone_tensor* const* tensors) {
  require(tensors, "tensors");
  return held_objects(count, tensors, "tensors");
}

std::vector<int64_t> size_list(size_t count, const int64_t* sizes) {
  require(sizes, "sizes");
  return std::vector<int64_t>(sizes, sizes + count);
}

Tensor pad(const Tensor& input, int32_t pair_count, const int64_t* padding, double value) {
  return ops::pad(input, checked_padding(input, pair_count, padding), value);
}

}  // namespace

htone_status htone_permute(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return Pure(ops::permute, input, as<dim_list>(dim_count, dims), out);
}

htone_status htone_unsqueeze(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return Pure(ops::unsqueeze, input, dim, out);
}

htone_status htone_squeeze(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return Pure(ops::squeeze, input, as<dim_list>(dim_count, dims), out);
}

htone_status htone_broadcast_to(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out) {
  return Pure(ops::broadcast_to, input, as<open_shape>(ndim, shape), out);
}

htone_status htone_cat(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out) {
  return Pure(ops::cat, as<tensor_list>(count, tensors), dim, out);
}

htone_status htone_stack(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out) {
  return Pure(ops::stack, as<tensor_list>(count, tensors), dim, out);
}

htone_status htone_split(htone_tensor* input, int64_t dim, size_t count, const int64_t* sizes, htone_tensor** out) {
  return Pure(ops::split, input, dim, as<size_list>(count, sizes), tensors(out));
}

htone_status htone_pad(htone_tensor* input, int32_t pair_count, const int64_t* padding, double value,
                       htone_tensor** out) {
  return Pure(pad, input, pair_count, padding, value, out);
}

htone_status htone_flip(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return Pure(ops::flip, input, as<dim_list>(dim_count, dims), out);
}

htone_status htone_tril(htone_tensor* input, int64_t diagonal, htone_tensor** out) {
  return Pure(ops::tril, input, diagonal, out);
}

htone_status htone_triu(htone_tensor* input, int64_t diagonal, htone_tensor** out) {
  return Pure(ops::triu, input, diagonal, out);
}
