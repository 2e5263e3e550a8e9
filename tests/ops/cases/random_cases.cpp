// Operations that draw random numbers.
#include "calls.h"
#include "core/philox.h"
#include "ops/ops.h"
#include "room_fixture.h"
#include "runtime/context.h"

namespace halftone {

namespace {

constexpr double kShare = 0.3;  // the proportion of elements that are dropped
constexpr uint64_t kStream = 5;

// Uses the same random sequence in every call, so that a run can be repeated and the reference can draw the same
// numbers.
Tensor drop(const Tensor& x) {
  x.device().context->set_generator(x.device().context->seed(), kStream);
  return ops::dropout(x, kShare, true);
}

Arrays dropped(const Arrays& in) {
  const PhiloxKey key = {.seed = kRoomSeed, .sequence = kStream};
  Array out(in[0].shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const uint32_t word = philox(key, static_cast<uint64_t>(i / 4))[static_cast<size_t>(i % 4)];
    out[i] = static_cast<double>(word >> 8) * 0x1p-24 >= kShare ? in[0][i] / (1 - kShare) : 0;
  }
  return {out};
}

OpCase dropout_case() {
  return {.op = Op::kDropout,
          .what = "in training",
          .inputs = {{uniform(-2, 2)}},
          .shapes = shapes_of_one(),
          .run = call_of_one(drop),
          .reference = dropped};
}

OpCase idle_case() {
  OpCase result = dropout_case();
  result.what = "after training";
  result.run = call_of_one([](const Tensor& x) { return ops::dropout(x, kShare, false); });
  result.reference = each([](double x) { return x; });
  result.is_exact = true;
  return result;
}

}  // namespace

std::vector<OpCase> random_cases() { return {dropout_case(), idle_case()}; }

}  // namespace halftone
