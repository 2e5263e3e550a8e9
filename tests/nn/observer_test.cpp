// An observer sees the operations of a model's forward with their layers, once each, and changes nothing.
#include "autograd/observer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "nn/recompute_models.h"

namespace halftone::nn {
namespace {

using Lines = std::vector<std::string>;

// Notes "layer: operation".
class Notes final : public Observer {
 public:
  void saw(const Recorded& recorded) override {
    lines.push_back((recorded.layer == nullptr ? "none" : recorded.layer->path()) + ": " + recorded.op);
  }
  int64_t count(const std::string& line) const { return std::count(lines.begin(), lines.end(), line); }

  Lines lines;
};

class ObserverTest : public RecomputeTest {
 protected:
  // The notes on a forward, and on a backward if operations were recorded.
  Notes notes_of(const Module& model, const Tensor& input) {
    Notes notes;
    const ThreadGuard<&Thread::observer> watched(&notes);
    const Tensor loss = loss_of(model.run(input));
    if (requires_grad(loss)) run_backward(loss, Tensor(), false);
    return notes;
  }

  const Tensor input_ = noise({4, 6});
};

TEST_F(ObserverTest, SeesEveryOperationWithItsLayerOnce) {
  const Ref<Module> model = chain({chain({linear(6, 5), make_ref<Relu>()}), linear(5, 3)});
  EXPECT_EQ(notes_of(*model, input_).lines,
            (Lines{"0.0: linear", "0.1: relu", "1: linear", "none: sigmoid", "none: mul", "none: mean"}));
}

TEST_F(ObserverTest, SeesResultAndInputs) {
  struct Shapes final : Observer {
    void saw(const Recorded& recorded) override {
      results.push_back(recorded.result.shape());
      for (const Tensor* input : recorded.inputs) inputs.push_back(input->defined() ? input->shape() : Shape());
    }
    std::vector<Shape> results, inputs;
  } shapes;
  const Ref<Module> model = make_ref<Linear>(device(), 6, 5, false, DType::kF32);
  const ThreadGuard<&Thread::observer> watched(&shapes);
  model->run(input_);
  EXPECT_EQ(shapes.results, std::vector<Shape>({{4, 5}}));
  EXPECT_EQ(shapes.inputs, std::vector<Shape>({{4, 6}, {5, 6}, {}}));
}

TEST_F(ObserverTest, SeesOperationsThatAreNotRecorded) {
  const Ref<Module> model = chain({linear(6, 5), make_ref<Relu>()});
  const Lines recorded = notes_of(*model, input_).lines;
  const ScopeGuard restore;
  scope().grad_enabled = false;
  EXPECT_EQ(notes_of(*model, input_).lines, recorded);
}

TEST_F(ObserverTest, SeesEveryPartOfASplit) {
  Notes notes;
  const ThreadGuard<&Thread::observer> watched(&notes);
  ops::split(input_, 1, {1, 2, 3});
  EXPECT_EQ(notes.lines, Lines(3, "none: split"));
}

// Anomaly mode and hooks compute the same layers apart.
TEST_F(ObserverTest, LeavesLayersFused) {
  const Ref<Module> model = gpt(2);
  const Notes fused = notes_of(*model, tokens());
  EXPECT_EQ(fused.count("h.0.mlp.c_proj: activation_linear"), 1);
  EXPECT_EQ(fused.count("h.0.mlp: gelu"), 0);
  EXPECT_EQ(fused.count("h.0.ln_2: layer_norm"), 2);  // the sum and the norm
  EXPECT_EQ(fused.count("h.0: add"), 0);
  scope().anomaly = Anomaly::kNan;
  const Notes plain = notes_of(*model, tokens());
  scope().anomaly = Anomaly::kNothing;
  EXPECT_EQ(plain.count("h.0.mlp.c_proj: linear"), 1);
  EXPECT_EQ(plain.count("h.0.mlp: gelu"), 1);
  EXPECT_EQ(plain.count("h.0.ln_2: layer_norm"), 1);
  EXPECT_EQ(plain.count("h.0: add"), 2);  // a fused one belongs to the norm of the next block
}

TEST_F(ObserverTest, SeesTheFirstRunAloneOfARecomputedForward) {
  const Ref<Module> model = mlp();
  const Lines plain = notes_of(*model, input_).lines;
  for (const char* path : {"0", "1"}) const_cast<Module&>(*model->find(path)).set_recompute(true);
  EXPECT_EQ(notes_of(*model, input_).lines, plain);
}

TEST_F(ObserverTest, ItsOwnOperationsAreNeitherSeenNorRecordedNorKept) {
  struct Summing final : Observer {
    void saw(const Recorded& recorded) override {
      ++calls;
      const Tensor sum = ops::sum(recorded.result, {}, false);
      is_recorded = is_recorded || requires_grad(sum);
      sums.push_back(item(sum));
    }
    int calls = 0;
    bool is_recorded = false;
    std::vector<double> sums;
  };
  const Ref<Module> model = mlp();
  for (const bool recompute : {false, true}) {
    const_cast<Module&>(*model->find("0")).set_recompute(recompute);
    const auto step = [&](Observer* observer) {
      for (const NamedParameter& named : model->parameters()) named.parameter->zero_grad();
      context().set_generator(kRoomSeed, 1000);
      const ThreadGuard<&Thread::observer> watched(observer);
      const Tensor loss = loss_of(model->run(input_));
      run_backward(loss, Tensor(), false);
      return result_of(*model, loss);
    };
    Summing observer;
    const StepResult plain = step(nullptr);
    EXPECT_EQ(step(&observer), plain);
    EXPECT_EQ(observer.calls, 14);
    EXPECT_EQ(observer.sums.size(), 14u);
    EXPECT_FALSE(observer.is_recorded);
  }
}

TEST_F(ObserverTest, ItsErrorFailsTheOperationInItsLayer) {
  struct Refusing final : Observer {
    void saw(const Recorded&) override { fail(Code::kState, "", "refused"); }
  } observer;
  const Ref<Module> model = chain({linear(6, 5), make_ref<Relu>()});
  const ThreadGuard<&Thread::observer> watched(&observer);
  try {
    model->run(input_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "layer 0 (linear): refused");
  }
  EXPECT_EQ(thread().observer, &observer);
}

}  // namespace
}  // namespace halftone::nn
