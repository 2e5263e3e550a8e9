#include "halftone/shape.h"

#include <algorithm>

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

std::vector<Tensor> unwrap_tensors(size_t count, htone_tensor* const* tensors) {
  require(tensors, "tensors");
  std::vector<Tensor> result;
  for (size_t i = 0; i < count; ++i) result.push_back(unwrap(tensors[i], "tensors"));
  return result;
}

// Handles for all tensors or for none.
void wrap_all(htone_tensor** out, const std::vector<Tensor>& tensors) {
  std::vector<htone_tensor*> handles;
  handles.reserve(tensors.size());
  try {
    for (const Tensor& tensor : tensors) {
      htone_tensor* handle = nullptr;
      wrap(&handle, tensor);
      handles.push_back(handle);
    }
  } catch (...) {
    for (htone_tensor* handle : handles) release_handle(handle, "out");
    throw;
  }
  std::copy(handles.begin(), handles.end(), out);
}

// Pairs from the last dimension on, as the C API has them.
ops::Padding unwrap_padding(int rank, int32_t pair_count, const int64_t* padding) {
  if (pair_count < 0 || pair_count > rank) {
    fail(Code::kInvalidArgument, "pair_count", "pair_count=%d is outside [0, %d], the dimensions of input", pair_count,
         rank);
  }
  if (pair_count > 0) require(padding, "padding");
  ops::Padding result;
  for (int i = 0; i < rank; ++i) {
    const int pair = rank - 1 - i;
    result.before.push_back(pair < pair_count ? padding[2 * pair] : 0);
    result.after.push_back(pair < pair_count ? padding[2 * pair + 1] : 0);
  }
  return result;
}

}  // namespace

htone_status htone_permute(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::permute(x, checked_dims_argument(dim_count, dims)));
  });
}

htone_status htone_unsqueeze(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::unsqueeze(unwrap(input, "input"), dim)); });
}

htone_status htone_squeeze(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::squeeze(x, checked_dims_argument(dim_count, dims)));
  });
}

htone_status htone_broadcast_to(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::broadcast_to(x, open_shape_argument(ndim, shape)));
  });
}

htone_status htone_cat(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::cat(unwrap_tensors(count, tensors), dim)); });
}

htone_status htone_stack(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::stack(unwrap_tensors(count, tensors), dim)); });
}

htone_status htone_split(htone_tensor* input, int64_t dim, size_t count, const int64_t* sizes, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require(sizes, "sizes");
    require(out, "out");
    wrap_all(out, ops::split(x, dim, std::vector<int64_t>(sizes, sizes + count)));
  });
}

htone_status htone_pad(htone_tensor* input, int32_t pair_count, const int64_t* padding, double value,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::pad(x, unwrap_padding(x.rank(), pair_count, padding), value));
  });
}

htone_status htone_flip(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::flip(x, checked_dims_argument(dim_count, dims)));
  });
}

htone_status htone_tril(htone_tensor* input, int64_t diagonal, htone_tensor** out) {
  return guard([&] { wrap(out, ops::tril(unwrap(input, "input"), diagonal)); });
}

htone_status htone_triu(htone_tensor* input, int64_t diagonal, htone_tensor** out) {
  return guard([&] { wrap(out, ops::triu(unwrap(input, "input"), diagonal)); });
}
