#include "nn/module.h"

#include "nn/activations.h"
#include "nn/sequential.h"
#include "room_fixture.h"

namespace halftone::nn {
namespace {

// Counts its calls in training mode in one buffer, and all its calls in a second one.
class Counter final : public Module {
 public:
  explicit Counter(ContextDevice& device)
      : trained_(full(device, DType::kI64, {}, 0.0)), called_(full(device, DType::kI64, {}, 0.0)) {}
  const char* kind() const noexcept override { return "counter"; }

  Tensor forward(const Tensor& input) const override {
    if (is_training()) fill(trained_, item(trained_) + 1);
    fill(called_, item(called_) + 1);
    return input;
  }
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override {
    out.push_back({prefix + "trained", trained_});
    out.push_back({prefix + "called", called_});
  }

 private:
  Tensor trained_;
  Tensor called_;
};

class ModuleTest : public RoomTest {
 protected:
  Ref<Module> nested() {
    std::vector<Ref<Module>> inner = {make_ref<Relu>(), make_ref<Counter>(device())};
    std::vector<Ref<Module>> outer = {make_ref<Counter>(device()), make_ref<Sequential>(std::move(inner))};
    return make_ref<Sequential>(std::move(outer));
  }
};

TEST_F(ModuleTest, BuffersAreNamedByTheirPlaceInOrder) {
  std::vector<std::string> names;
  for (const NamedBuffer& buffer : nested()->buffers()) names.push_back(buffer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.trained", "0.called", "1.1.trained", "1.1.called"}));
  EXPECT_TRUE(nested()->parameters().empty());
}

TEST_F(ModuleTest, BuffersAreTheTensorsThatForwardWrites) {
  const Ref<Module> module = nested();
  const std::vector<NamedBuffer> buffers = module->buffers();
  module->forward(tensor({1}, {1}));
  for (const NamedBuffer& buffer : buffers) EXPECT_EQ(item(buffer.tensor), 1) << buffer.name;
}

TEST_F(ModuleTest, TheModeReachesPartsOfParts) {
  const Ref<Module> module = nested();
  EXPECT_TRUE(module->is_training());
  module->set_training(false);
  EXPECT_FALSE(module->is_training());
  module->forward(tensor({1}, {1}));
  module->set_training(true);
  module->forward(tensor({1}, {1}));
  module->forward(tensor({1}, {1}));
  std::vector<double> counts;
  for (const NamedBuffer& buffer : module->buffers()) counts.push_back(item(buffer.tensor));
  EXPECT_EQ(counts, (std::vector<double>{2, 3, 2, 3}));
}

}  // namespace
}  // namespace halftone::nn
