#include "data/source.h"

#include <utility>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::data {

namespace {

Tensor gather(const Tensor& source, const Tensor& indices) {
  Shape shape = source.shape();
  shape[0] = indices.numel();
  Tensor rows = empty(source.device(), source.dtype(), shape);
  launch("batches", source.device(), &Kernels::index, &IndexKernels::gather, 0, source.view(), indices.view(),
         rows.view());
  return rows;
}

Tensor index_tensor(ContextDevice& device, const std::vector<int64_t>& indices) {
  return from_host(device, DType::kI64, {static_cast<int64_t>(indices.size())}, indices.data());
}

}  // namespace

TensorSource::TensorSource(std::vector<Tensor> tensors, int64_t count) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) fail(Code::kInvalidArgument, "count", "count=0, expected at least one tensor");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& tensor = tensors_[i];
    if (tensor.rank() == 0 || tensor.size(0) != count) {
      fail(Code::kShapeMismatch, "tensors", "tensors[%zu] %s does not begin with the sampler's count=%lld", i,
           ShapeText(tensor.shape()).text, static_cast<long long>(count));
    }
    if (&tensor.device() != &tensors_[0].device()) {
      fail(Code::kDevice, "tensors", "tensors[%zu] is on another device than tensors[0]", i);
    }
    tensor = contiguous(tensor.detach());
  }
}

std::vector<Tensor> TensorSource::batch(const std::vector<int64_t>& indices) const {
  const Tensor rows = index_tensor(tensors_[0].device(), indices);
  std::vector<Tensor> batch;
  for (const Tensor& tensor : tensors_) batch.push_back(gather(tensor, rows));
  return batch;
}

int64_t WindowSource::window_count(int64_t token_count, int64_t length, int64_t stride) noexcept {
  return token_count > length ? (token_count - length - 1) / stride + 1 : 0;
}

WindowSource::WindowSource(const Tensor& tokens, int64_t length, int64_t stride)
    : tokens_(contiguous(tokens.detach())), length_(length), stride_(stride) {}

// A window and its target share all tokens but one, so length + 1 of them are gathered once.
std::vector<Tensor> WindowSource::batch(const std::vector<int64_t>& indices) const {
  const int64_t width = length_ + 1;
  std::vector<int64_t> places;
  places.reserve(indices.size() * static_cast<size_t>(width));
  for (int64_t index : indices) {
    for (int64_t i = 0; i < width; ++i) places.push_back(index * stride_ + i);
  }
  const Tensor tokens = gather(tokens_, index_tensor(tokens_.device(), places));
  const Shape shape = {static_cast<int64_t>(indices.size()), length_};
  const auto windows = [&](int64_t first) {
    return converted(tokens.as_strided(shape, {width, 1}, tokens.offset() + first), DType::kI64);
  };
  return {windows(0), windows(1)};
}

}  // namespace halftone::data
