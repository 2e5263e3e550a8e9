#include "parallel/rounds/reduction.h"

#include <string>
#include <utility>

#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

class Average final : public Reduction {
 public:
  explicit Average(const ReductionCall& call)
      : work_(call.exchange.start_all_reduce(call.bucket.flat, ReduceOp::kAverage, call.options())) {}
  bool advance() override {
    work_.wait();
    return true;
  }

 private:
  StartedWork work_;
};

class AverageHook final : public ReductionHook {
 public:
  std::string name() const override { return "average"; }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override { return std::make_unique<Average>(call); }
};

// flat / size in another dtype.
Tensor divided(const Tensor& flat, int32_t size, DType dtype) {
  const Tensor made = empty(flat.device(), dtype, flat.shape(), Category::kCommunication);
  launch("narrow_average", flat.device(), &Kernels::elementwise, &ElementwiseKernels::affine, 1.0 / size, 0.0,
         flat.view(), made.view());
  return made;
}

class NarrowAverage final : public Reduction {
 public:
  NarrowAverage(const ReductionCall& call, DType dtype)
      : flat_(call.bucket.flat),
        wire_(divided(flat_, call.exchange.size(), dtype)),
        work_(call.exchange.start_all_reduce(wire_, ReduceOp::kSum, call.options())) {}
  bool advance() override {
    work_.wait();
    copy(wire_, flat_);
    return true;
  }

 private:
  const Tensor flat_;
  const Tensor wire_;
  StartedWork work_;
};

class NarrowAverageHook final : public ReductionHook {
 public:
  explicit NarrowAverageHook(DType dtype) : dtype_(dtype) {}
  std::string name() const override { return std::string("average in ") + name_of(dtype_); }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override {
    return std::make_unique<NarrowAverage>(call, dtype_);
  }

 private:
  const DType dtype_;
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

Ref<ReductionHook> average() { return make_ref<AverageHook>(); }

Ref<ReductionHook> narrow_average(DType dtype) {
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    fail(Code::kDtypeMismatch, "options", "an average in %s, expected f16 or bf16", name_of(dtype));
  }
  return make_ref<NarrowAverageHook>(dtype);
}

Ref<ReductionHook> callers_average(BucketFunction reduce) { return make_ref<CallersHook>(std::move(reduce)); }

}  // namespace halftone::parallel
