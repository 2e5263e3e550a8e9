#include "parallel/coded/coded_average.h"

#include <memory>
#include <optional>
#include <string>

#include "parallel/coded/coded_sum.h"
#include "tensor/factory.h"

namespace halftone::parallel {
namespace {

class CodedAverage final : public Reduction {
 public:
  CodedAverage(const ReductionCall& call, Remainders& remainders)
      : call_(call), remainders_(remainders), sum_(call, remainders) {}

  bool advance() override {
    if (!sums_) {
      start_sums();
      return false;
    }
    take_sums();
    return true;
  }

 private:
  void start_sums() {
    const Tensor own = sum_.finish();
    const Tensor remainder = remainders_.find(call_.index, Remainders::Stage::kSum, own.device(), own.numel());
    sums_.emplace(call_, CodedMessage::Way::kGather, encode(own, remainder));
  }
  // The elements between gradients stay 0, also where all numbers read NaN: the next backward does not write them.
  void take_sums() {
    const Tensor all = ops::from_scaled(sums_->finish(), call_.bucket.flat.dtype());
    for (const GradientBuckets::Slot& slot : call_.bucket.slots) {
      copy(all.as_strided(slot.view.shape(), slot.view.strides(), slot.view.offset()), slot.view);
    }
  }

  const ReductionCall call_;
  Remainders& remainders_;
  CodedSum sum_;
  std::optional<CodedMessage> sums_;
};

class CodedHook final : public ReductionHook {
 public:
  explicit CodedHook(bool has_error_feedback)
      : has_error_feedback_(has_error_feedback), remainders_(has_error_feedback) {}

  std::string name() const override {
    return std::string("average in ") + name_of(DType::kF8E5M2) + (has_error_feedback_ ? ", error feedback" : "");
  }
  std::unique_ptr<Reduction> start(const ReductionCall& call) override {
    return std::make_unique<CodedAverage>(call, remainders_);
  }
  int32_t status_factor(const Exchange&) const noexcept override { return 0; }
  void follow(const GradientBuckets&) override { remainders_.forget(); }
  void begin(bool) override { remainders_.begin(); }
  void drop() noexcept override { remainders_.drop(); }

 private:
  const bool has_error_feedback_;
  Remainders remainders_;
};

}  // namespace

Ref<ReductionHook> coded_average(bool has_error_feedback) { return make_ref<CodedHook>(has_error_feedback); }

}  // namespace halftone::parallel
