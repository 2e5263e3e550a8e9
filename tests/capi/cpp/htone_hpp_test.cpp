// The C++ headers: ownership, errors, operators, scopes, and modules whose forward is a lambda.
#include <gtest/gtest.h>

#include <halftone/htone.hpp>
#include <optional>
#include <thread>

namespace htone {
namespace {

int64_t live_handles() {
  int64_t count = 0;
  check(htone_debug_live_handles(&count));
  return count;
}

// Every test ends with the handles that it began with.
class CppTest : public testing::Test {
 protected:
  void TearDown() override {
    cpu_.reset();
    EXPECT_EQ(live_handles(), before_);
  }

  Tensor vector(const std::vector<float>& values) const {
    return Tensor::from(cpu_, {static_cast<int64_t>(values.size())}, values);
  }

  int64_t before_ = live_handles();
  Device cpu_ = make<Device>(htone_device_create, make<Context>(htone_context_default), "cpu");
};

TEST_F(CppTest, HandlesOfLowPrecisionAreReleased) {
  const int64_t before = live_handles();
  const htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
  const Recipe recipe = make<Recipe>(htone_recipe_create, HTONE_RECIPE_MXFP8, nullptr);
  const Scaled scaled = make<Scaled>(htone_scaled_create, vector({1, 2}), &options, nullptr, nullptr);
  EXPECT_EQ(live_handles(), before + 2);
}

TEST_F(CppTest, ACopySharesTheObjectAndAMoveEmptiesItsSource) {
  Tensor a = vector({1, 2});
  const int64_t with_one = live_handles();
  {
    Tensor copy = a;
    EXPECT_EQ(copy.get(), a.get());
    a = Tensor();
    EXPECT_FALSE(a);
    EXPECT_EQ(copy.values<float>(), (std::vector<float>{1, 2}));
    a = std::move(copy);
  }
  EXPECT_EQ(live_handles(), with_one);
  const Tensor& same = a;
  a = same;
  EXPECT_EQ(a.values<int64_t>(), (std::vector<int64_t>{1, 2}));
  htone_tensor* handed_over = a.release();
  EXPECT_THROW(static_cast<void>(a.item()), Error);
  EXPECT_EQ(htone_tensor_release(handed_over), HTONE_OK);
  static_assert(!std::is_copy_constructible_v<Scope> && std::is_nothrow_move_constructible_v<Tensor>, "");
}

TEST_F(CppTest, AFailedCallThrowsItsMessageAndStatus) {
  const Tensor a = vector({1, 2}), b = vector({1, 2, 3});
  try {
    static_cast<void>(a + b);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), HTONE_ERROR_SHAPE_MISMATCH);
    EXPECT_NE(std::string(error.what()).find("htone_add"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(Tensor::from(cpu_, {2, 2}, std::vector<double>{1, 2, 3})), Error);
  EXPECT_THROW(static_cast<void>(a + Tensor()), Error);
}

TEST_F(CppTest, OperatorsComputeAsTheFunctionsDo) {
  const Tensor a = vector({1, 2}), b = vector({4, 8});
  EXPECT_EQ((a + b - a * b / a).values<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ((-((a + 1) * 2 - 3) / 4).values<double>(), (std::vector<double>{-0.25, -0.75}));
  const Tensor row = Tensor::from(cpu_, {1, 2}, std::vector<float>{1, 2});
  const Tensor column = Tensor::from(cpu_, {2, 1}, std::vector<float>{4, 8});
  EXPECT_EQ(matmul(row, column).item(), 20);
  EXPECT_TRUE(Tensor::from(cpu_, {0, 3}, std::vector<int64_t>()).values<int64_t>().empty());
  EXPECT_EQ(Tensor::from(cpu_, {1, 2}, std::vector<int64_t>{5, 6}).shape(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Tensor::from(cpu_, {}, std::vector<double>{5}).dtype(), HTONE_F64);
}

TEST_F(CppTest, ScopesEndWithTheirBlock) {
  const Tensor x = vector({1, 0});
  call(htone_tensor_set_requires_grad, x, 1);
  int32_t requires_grad = -1;
  {
    NoGrad no_grad;
    call(htone_tensor_requires_grad, x * 2, &requires_grad);
    EXPECT_EQ(requires_grad, 0);
    Anomaly anomaly(HTONE_ANOMALY_NOT_FINITE);
    EXPECT_THROW(static_cast<void>(x / 0), Error);
  }
  call(htone_tensor_requires_grad, x / 0, &requires_grad);
  EXPECT_EQ(requires_grad, 1);
  Autocast bf16(make<AutocastPolicy>(htone_autocast_policy_create, HTONE_BF16));
  const Tensor one = Tensor::from(cpu_, {1, 1}, std::vector<float>{1});
  EXPECT_EQ(matmul(one, one).dtype(), HTONE_BF16);
}

TEST_F(CppTest, AScopeThatIsDestroyedElsewhereLeavesNoMode) {
  const Tensor x = vector({1, 0});
  call(htone_tensor_set_requires_grad, x, 1);
  const auto records = [&] {
    int32_t requires_grad = -1;
    call(htone_tensor_requires_grad, x * 2, &requires_grad);
    return requires_grad != 0;
  };
  std::optional<NoGrad> outer(std::in_place);
  std::thread([&] { outer.reset(); }).join();
  EXPECT_TRUE(records());
  outer.emplace();
  std::optional<Anomaly> inner(HTONE_ANOMALY_NAN);
  outer.reset();
  inner.reset();
  EXPECT_TRUE(records());
}

TEST_F(CppTest, AModelWithALambdaLearns) {
  const Tensor x = Tensor::from(cpu_, {4, 1}, std::vector<float>{-1, 0, 1, 2});
  const Tensor target = x * 3 - 1;
  const Module linear = make<Module>(htone_module_create_linear, cpu_, 1, 1, nullptr);
  const Module model = sequential({linear, custom([](const Module&, const Tensor& input) { return input * 2; })});
  htone_optimizer_options options = HTONE_SGD_OPTIONS_INIT;
  options.lr = 0.05;
  const Optimizer sgd = make<Optimizer>(htone_optimizer_create, model, &options);
  Tensor loss;
  for (int step = 0; step < 200; ++step) {
    call(htone_optimizer_zero_grad, sgd);
    const Tensor difference = make<Tensor>(htone_module_forward, model, x, nullptr) - target;
    loss = make<Tensor>(htone_mean, difference * difference, 0, nullptr, 0);
    call(htone_tensor_backward, loss, nullptr, 0);
    call(htone_optimizer_step, sgd);
  }
  EXPECT_LT(loss.item(), 1e-6);
}

TEST(HtoneHpp, ALambdaTakesSeveralInputsAndGivesSeveralOutputs) {
  const Device cpu = make<Device>(htone_device_create, make<Context>(htone_context_default), "cpu");
  htone_custom_options options = HTONE_CUSTOM_OPTIONS_INIT;
  options.input_count = 3;
  options.required_inputs = 2;
  options.output_count = 2;
  const Module module = custom(
      [](const Module&, const std::vector<Tensor>& inputs) {
        const Tensor sum = inputs[0] + inputs[1];
        return std::vector<Tensor>{inputs[2] ? sum + inputs[2] : sum, inputs[0] - inputs[1]};
      },
      &options);
  const Tensor one = Tensor::from<float>(cpu, {1}, {1}), two = Tensor::from<float>(cpu, {1}, {2});
  const std::vector<Tensor> outputs = forward(module, {one, two}, 2);
  EXPECT_EQ(outputs.at(0).item(), 3);
  EXPECT_EQ(outputs.at(1).item(), -1);
  EXPECT_EQ(forward(module, {one, two, two}).at(0).item(), 5);
  EXPECT_EQ(forward(module, {one, two, Tensor()}).at(0).item(), 3);
  EXPECT_THROW((void)forward(module, {one}), Error);
  const Module short_of = custom([](const Module&, const std::vector<Tensor>& inputs) { return inputs; }, &options);
  EXPECT_THROW((void)forward(short_of, {one, two}), Error);
}

TEST_F(CppTest, AnExceptionOfALambdaArrivesWithItsText) {
  auto alive = std::make_shared<int>(1);
  Module failing = custom([alive](const Module&, const Tensor&) -> Tensor { throw std::runtime_error("no mask"); });
  EXPECT_EQ(alive.use_count(), 2);
  try {
    static_cast<void>(make<Tensor>(htone_module_forward, failing, vector({1}), nullptr));
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), HTONE_ERROR_CALLBACK);
    EXPECT_NE(std::string(error.what()).find("no mask"), std::string::npos) << error.what();
  }
  failing.reset();
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace htone
