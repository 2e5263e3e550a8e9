#include "parallel/rounds/averages.h"

#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "parallel/rounds/wire_reduction.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

class AverageHook final : public ReductionHook {
 public:
  explicit AverageHook(std::optional<DType> wire) : wire_(wire) {}
  std::string name() const override { return wire_ ? std::string("average in ") + name_of(*wire_) : "average"; }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override {
    const Tensor& flat = call.bucket.flat;
    if (!wire_) return std::make_unique<WireReduction>(call, flat, ReduceOp::kAverage);
    return std::make_unique<WireReduction>(call, divided(flat, call.exchange.size(), *wire_), ReduceOp::kSum);
  }

 private:
  const std::optional<DType> wire_;
};

class Reduced final : public Reduction {
 public:
  bool advance() override { return true; }
};

class CallersHook final : public ReductionHook {
 public:
  explicit CallersHook(BucketFunction reduce) : reduce_(std::move(reduce)) {}
  std::string name() const override { return "callback"; }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override {
    try {
      reduce_(call.bucket.flat, call.index);
    } catch (const Error& error) {
      // The others wait for this rank in operations that the callback does not call any more.
      call.exchange.group().abort((std::string("its reduction of gradients failed: ") + error.what()).c_str());
      throw;
    }
    return std::make_unique<Reduced>();
  }
  int32_t status_factor(const Exchange&) const noexcept override { return 0; }

 private:
  const BucketFunction reduce_;
};

}  // namespace

Tensor divided(const Tensor& flat, int32_t ranks, DType dtype) {
  const Tensor made = empty(flat.device(), dtype, flat.shape(), Category::kCommunication);
  launch("divide_gradients", flat.device(), &Kernels::elementwise, &ElementwiseKernels::affine, 1.0 / ranks, 0.0,
         flat.view(), made.view());
  return made;
}

Ref<ReductionHook> average() { return make_ref<AverageHook>(std::nullopt); }

Ref<ReductionHook> narrow_average(DType dtype) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    fail(Code::kDtypeMismatch, "options", "an average in %s, expected f16 or bf16", name_of(dtype));
  }
  return make_ref<AverageHook>(dtype);
}

Ref<ReductionHook> callers_average(BucketFunction reduce) { return make_ref<CallersHook>(std::move(reduce)); }

}  // namespace halftone::parallel
