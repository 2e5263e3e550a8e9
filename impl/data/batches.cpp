#include "data/batches.h"

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

}  // namespace

Batches::Batches(Ref<Sampler> sampler, std::vector<Tensor> tensors)
    : sampler_(std::move(sampler)), tensors_(std::move(tensors)), current_(tensors_.size()) {
  if (tensors_.empty()) fail(Code::kInvalidArgument, "count", "count=0, expected at least one tensor");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor& tensor = tensors_[i];
    if (tensor.rank() == 0 || tensor.size(0) != sampler_->count()) {
      fail(Code::kShapeMismatch, "tensors", "tensors[%zu] %s does not begin with the sampler's count=%lld", i,
           ShapeText(tensor.shape()).text, static_cast<long long>(sampler_->count()));
    }
    if (&tensor.device() != &tensors_[0].device()) {
      fail(Code::kDevice, "tensors", "tensors[%zu] is on another device than tensors[0]", i);
    }
    tensor = contiguous(tensor.detach());
  }
}

void Batches::next() {
  const std::vector<int64_t>& order = sampler_->peek();
  const Tensor indices =
      from_host(tensors_[0].device(), DType::kI64, {static_cast<int64_t>(order.size())}, order.data());
  std::vector<Tensor> batch;
  for (const Tensor& tensor : tensors_) batch.push_back(gather(tensor, indices));
  current_ = std::move(batch);
  sampler_->advance();
}

}  // namespace halftone::data
