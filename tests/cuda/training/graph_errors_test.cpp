// Captures and replays that fail, and memory of graphs, through the C interface. A failure leaves the run as before the
// capture, and the device usable.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "plugin_under_test.h"

namespace htone {
namespace {

using Function = std::function<void()>;

// Exceptions must not pass the C interface.
htone_status call_function(void* user) {
  try {
    (*static_cast<Function*>(user))();
  } catch (const Error& error) {
    return error.status();
  }
  return HTONE_OK;
}

// A layer with dropout and AdamW.
class GraphErrors : public testing::Test {
 protected:
  GraphErrors() {
    call(htone_context_set_seed, context_, uint64_t{3});
    call(htone_context_load_plugin, context_, plugin());
    device_ = make<Device>(htone_device_create, context_, "cuda");
    const Module linear = make<Module>(htone_module_create_linear, device_, 6, 4, nullptr);
    model_ = sequential({linear, make<Module>(htone_module_create_dropout, 0.5)});
    input_ = Tensor::from(device_, {5, 6}, wave(30));
    optimizer_ = make<Optimizer>(htone_optimizer_create, model_, nullptr);
  }

  void backward() {
    const Tensor output = make<Tensor>(htone_module_forward, model_, input_, nullptr);
    loss_ = make<Tensor>(htone_mean, output * output, 0, nullptr, 0);
    call(htone_tensor_backward, loss_, nullptr, 0);
  }
  void step() {
    call(htone_optimizer_zero_grad, optimizer_);
    backward();
    call(htone_optimizer_step, optimizer_);
  }
  Graph capture(Function& function) {
    return make<Graph>(htone_graph_capture, device_, call_function, static_cast<void*>(&function), nullptr);
  }
  // The error of a capture.
  Error failure(Function function) {
    try {
      capture(function);
    } catch (const Error& error) {
      return error;
    }
    return Error(HTONE_OK, "no error");
  }
  std::vector<float> weights() {
    const StateDict state = make<StateDict>(htone_module_state_dict, model_);
    return make<Tensor>(htone_state_dict_tensor, state, size_t{0}).values<float>();
  }
  uint64_t sequences() {
    htone_generator_state state = {};
    state.struct_size = sizeof state;
    call(htone_context_generator_state, context_, &state);
    return state.sequence;
  }
  float third_loss(bool releases);
  int64_t gradient_bytes();
  htone_memory_stats memory() {
    htone_memory_stats stats = {};
    stats.struct_size = sizeof stats;
    call(htone_device_memory_stats, device_, &stats);
    return stats;
  }

  Context context_ = make<Context>(htone_context_create, nullptr);
  Device device_;
  Module model_;
  Tensor input_;
  Optimizer optimizer_;
  Tensor loss_;
};

TEST_F(GraphErrors, ReadingAValueIsRefusedAndNothingHasRun) {
  step();
  const std::vector<float> before = weights();
  const uint64_t drawn = sequences();
  const Error error = failure([&] {
    step();
    (void)loss_.item();
  });
  EXPECT_EQ(error.status(), HTONE_ERROR_CALLBACK);
  EXPECT_EQ(error.native_code(), HTONE_ERROR_STATE);
  EXPECT_NE(std::string(error.what()).find("htone_tensor_item: reading the device's memory cannot be part of a graph"),
            std::string::npos)
      << error.what();
  EXPECT_EQ(weights(), before);
  EXPECT_EQ(sequences(), drawn);
  EXPECT_THROW(call(htone_optimizer_step, optimizer_), Error);  // the gradients were never computed
  step();
  EXPECT_NE(weights(), before);
}

TEST_F(GraphErrors, ARefusalThatTheFunctionIgnoresFailsTheCapture) {
  step();
  double value = 0;
  const Error error = failure([&] {
    step();
    EXPECT_EQ(htone_tensor_item(loss_.get(), &value), HTONE_ERROR_STATE);
  });
  EXPECT_EQ(error.status(), HTONE_ERROR_STATE);
  step();
}

TEST_F(GraphErrors, WaitsAndTransfersOfHostMemoryAreRefused) {
  step();
  const std::vector<float> data = wave(30);
  const struct {
    Function function;
    const char* message;
  } cases[] = {
      {[&] { call(htone_device_synchronize, device_); }, "htone_device_synchronize: a wait for the device"},
      {[&] { call(htone_tensor_write, input_, HTONE_F32, data.data(), data.size() * sizeof(float)); },
       "htone_tensor_write: a transfer of host memory that is not pinned"},
  };
  for (const auto& one : cases) {
    const Error error = failure(one.function);
    EXPECT_EQ(error.native_code(), HTONE_ERROR_STATE);
    EXPECT_NE(std::string(error.what()).find(one.message), std::string::npos) << error.what();
  }
  step();
}

// Lists of the optimizer are made in its first step, and made anew where other parameters have gradients.
TEST_F(GraphErrors, AStepBeforeTheCaptureIsNecessary) {
  const Error error = failure([&] { step(); });
  EXPECT_EQ(error.native_code(), HTONE_ERROR_STATE);
  step();
  Function function = [&] { step(); };
  call(htone_graph_replay, capture(function));
}

TEST_F(GraphErrors, CapturesAndReplaysWithinACaptureAreRefused) {
  step();
  Function function = [&] { step(); };
  const Graph graph = capture(function);
  EXPECT_EQ(failure([&] { capture(function); }).native_code(), HTONE_ERROR_STATE);
  EXPECT_EQ(failure([&] { call(htone_graph_replay, graph); }).native_code(), HTONE_ERROR_STATE);
  call(htone_graph_replay, graph);
}

TEST_F(GraphErrors, TheFunctionsOwnStatusIsReported) {
  const Error error = failure([] { throw Error(HTONE_ERROR_CANCELLED, "enough"); });
  EXPECT_EQ(error.status(), HTONE_ERROR_CALLBACK);
  EXPECT_EQ(error.native_code(), HTONE_ERROR_CANCELLED);
}

TEST_F(GraphErrors, MemoryThatRunsOutInTheCaptureIsGivenBack) {
  step();
  call(htone_device_release_cached, device_);
  const htone_memory_stats before = memory();
  call(htone_device_set_memory_limit, device_, before.reserved + (int64_t{1} << 20));
  const int64_t large[] = {1 << 22};
  const Error error = failure([&] {
    step();
    const Tensor tensor = make<Tensor>(htone_tensor_create_full, device_, HTONE_F32, 1, large, 1.0);
  });
  EXPECT_EQ(error.native_code(), HTONE_ERROR_OUT_OF_MEMORY);
  call(htone_device_set_memory_limit, device_, int64_t{0});
  loss_ = Tensor();
  step();
  loss_ = Tensor();
  call(htone_device_release_cached, device_);
  EXPECT_EQ(memory().reserved, before.reserved);
}

TEST_F(GraphErrors, GradientsThatAreThereUnexpectedlyRefuseTheReplay) {
  step();
  call(htone_optimizer_zero_grad, optimizer_);
  Function function = [&] {
    backward();
    call(htone_optimizer_step, optimizer_);
  };
  const Graph graph = capture(function);
  try {
    call(htone_graph_replay, graph);
    FAIL() << "the replay would have written over gradients";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), HTONE_ERROR_STATE);
    EXPECT_NE(std::string(error.what()).find("zero gradients in the graph"), std::string::npos) << error.what();
  }
  call(htone_optimizer_zero_grad, optimizer_);
  call(htone_graph_replay, graph);
}

int64_t GraphErrors::gradient_bytes() { return memory().by_category[HTONE_MEMORY_GRADIENTS]; }

// zero_grad has released the gradients, so that the capture allocates them, and the optimizer's lists change in it.
TEST_F(GraphErrors, AnAbandonedCaptureThatAllocatedTheGradientsLeavesTheOptimizerUsable) {
  step();
  call(htone_optimizer_zero_grad, optimizer_);
  EXPECT_EQ(gradient_bytes(), 0);
  const std::vector<float> before = weights();
  const Error error = failure([&] {
    backward();
    call(htone_optimizer_step, optimizer_);
    (void)loss_.item();
  });
  EXPECT_EQ(error.native_code(), HTONE_ERROR_STATE);
  EXPECT_EQ(weights(), before);
  step();
  EXPECT_NE(weights(), before);
}

// A replay writes gradients to the addresses that the capture knew.
TEST_F(GraphErrors, AGraphKeepsTheMemoryOfItsGradientsWhileItLives) {
  step();
  call(htone_optimizer_zero_grad, optimizer_);
  EXPECT_EQ(gradient_bytes(), 0);
  Function function = [&] { step(); };
  Graph graph = capture(function);
  const int64_t bytes = gradient_bytes();
  EXPECT_GT(bytes, 0);
  for (int i = 0; i < 2; ++i) {
    call(htone_graph_replay, graph);
    call(htone_optimizer_zero_grad, optimizer_);
    EXPECT_EQ(gradient_bytes(), bytes);
    step();
  }
  call(htone_graph_replay, graph);
  graph = Graph();
  EXPECT_EQ(gradient_bytes(), bytes);
  call(htone_optimizer_zero_grad, optimizer_);
  EXPECT_EQ(gradient_bytes(), 0);
  step();
  step();
}

TEST_F(GraphErrors, AReplayCountsAsAWriteOfTheWeights) {
  step();
  Function function = [&] { step(); };
  const Graph graph = capture(function);
  const Tensor output = make<Tensor>(htone_module_forward, model_, input_, nullptr);
  const Tensor loss = make<Tensor>(htone_mean, output * output, 0, nullptr, 0);
  call(htone_graph_replay, graph);
  EXPECT_EQ(htone_tensor_backward(loss.get(), nullptr, 0), HTONE_ERROR_STATE);
}

// Tensors that are made later get other memory, and those of the step outlive the graph.
TEST_F(GraphErrors, MemoryOfAGraphServesNothingElse) {
  step();
  Function function = [&] { step(); };
  Graph graph = capture(function);
  void* address = nullptr;
  call(htone_tensor_data, loss_, &address);
  std::vector<Tensor> others;
  const int64_t shape[] = {5, 6};
  for (int i = 0; i < 200; ++i) {
    others.push_back(make<Tensor>(htone_tensor_create_full, device_, HTONE_F32, 2, shape, 7.0));
    void* other = nullptr;
    call(htone_tensor_data, others.back(), &other);
    EXPECT_NE(other, address);
  }
  call(htone_graph_replay, graph);
  for (const Tensor& other : others) EXPECT_EQ(other.values<float>(), std::vector<float>(30, 7.0f));
  const std::vector<float> loss = loss_.values<float>();
  graph = Graph();
  EXPECT_EQ(loss_.values<float>(), loss);
  others.clear();
  loss_ = Tensor();
  model_ = Module();
  optimizer_ = Optimizer();
  input_ = Tensor();
  call(htone_device_release_cached, device_);
  EXPECT_EQ(memory().reserved, 0);
}

// The loss of the third replay. `releases`: everything that the step uses is released before, and other tensors are
// made and written.
float GraphErrors::third_loss(bool releases) {
  step();
  Function function = [&] { step(); };
  const Graph graph = capture(function);
  call(htone_graph_replay, graph);
  call(htone_graph_replay, graph);
  std::vector<Tensor> others;
  if (releases) {
    model_ = Module();
    optimizer_ = Optimizer();
    input_ = Tensor();
    for (const int64_t size : {1, 4, 16, 24, 30, 100, 400}) {
      for (int i = 0; i < 50; ++i) {
        others.push_back(make<Tensor>(htone_tensor_create_full, device_, HTONE_F32, 1, &size, 9.0));
      }
    }
  }
  call(htone_graph_replay, graph);
  for (const Tensor& other : others) EXPECT_EQ(other.values<float>()[0], 9.0f);
  return loss_.values<float>()[0];
}

TEST_F(GraphErrors, ReplaysRunAfterTheObjectsOfTheStepAreReleased) {
  class Other : public GraphErrors {
   public:
    using GraphErrors::third_loss;
    void TestBody() override {}
  } other;
  const float expected = other.third_loss(false);
  EXPECT_EQ(third_loss(true), expected);
}

// The user data goes with the graph, and not where the capture fails.
TEST_F(GraphErrors, UserDataIsDestroyedOnceWithTheGraph) {
  step();
  struct User {
    Function function;
    int destroyed = 0;
  } user;
  user.function = [&] { step(); };
  const auto run = [](void* data) { return call_function(&static_cast<User*>(data)->function); };
  const auto destroy = [](void* data) { ++static_cast<User*>(data)->destroyed; };
  htone_graph* graph = nullptr;
  ASSERT_EQ(htone_graph_capture(device_.get(), run, &user, destroy, &graph), HTONE_OK);
  ASSERT_EQ(htone_graph_retain(graph), HTONE_OK);
  ASSERT_EQ(htone_graph_release(graph), HTONE_OK);
  EXPECT_EQ(user.destroyed, 0);
  ASSERT_EQ(htone_graph_replay(graph), HTONE_OK);
  ASSERT_EQ(htone_graph_release(graph), HTONE_OK);
  EXPECT_EQ(user.destroyed, 1);
  EXPECT_EQ(htone_graph_replay(graph), HTONE_ERROR_INVALID_HANDLE);
  user.function = [] { throw Error(HTONE_ERROR_CANCELLED, ""); };
  EXPECT_EQ(htone_graph_capture(device_.get(), run, &user, destroy, &graph), HTONE_ERROR_CALLBACK);
  EXPECT_EQ(user.destroyed, 1);
}

}  // namespace
}  // namespace htone
