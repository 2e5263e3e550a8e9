// The library that the plugin opens as cuDNN.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chosen_cudnn.h"
#include "cuda/base/warning.h"
#include "cuda/dnn/call.h"
#include "cuda/dnn/functions.h"
#include "emulated_cudnn.h"

namespace halftone::cuda {
namespace {

std::vector<std::string> said;
void hear(const char* message) noexcept { said.emplace_back(message); }

// The warning comes once in a process, so one test has all of it.
TEST(DnnLibrary, IsReplacedWithOneWarning) {
  set_warning_receiver(hear);
  DnnFunctions functions = {};
  const ChosenCudnn none("");
  EXPECT_FALSE(open_dnn(&functions));
  EXPECT_TRUE(said.empty());
  const ChosenCudnn missing("/nowhere/libcudnn.so.9");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(open_dnn(&functions));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "convolutions on GPUs run without cuDNN: /nowhere/libcudnn.so.9 cannot be loaded");
}

TEST(DnnLibrary, IsCuDnn9OrLater) {
  DnnFunctions functions = {};
  const auto set_version = dnn_emulation_function<void(int64_t)>("cudnn_emulation_set_version");
  EXPECT_STREQ(open_dnn("/nowhere/libcudnn.so.9", &functions), "cannot be loaded");
  EXPECT_STREQ(open_dnn("libm.so.6", &functions), "is another library");
  set_version(8907);
  EXPECT_STREQ(open_dnn(CUDNN_EMULATION, &functions), "is older than cuDNN 9.0");
  set_version(90000);
  EXPECT_EQ(open_dnn(CUDNN_EMULATION, &functions), nullptr);
  EXPECT_EQ(functions.get_version(), 90000u);
}

// NVIDIA's own library, if it is installed: it has every function, and its descriptors take ours, without a GPU.
TEST(DnnLibrary, OfNvidiaHasTheFunctions) {
  if (HALFTONE_ADDRESS_SANITIZER) GTEST_SKIP() << "skipped: NVIDIA's library is not built for AddressSanitizer";
  DnnFunctions functions = {};
  const char* const reason = open_dnn("libcudnn.so.9", &functions);
  if (reason != nullptr && std::string(reason) == "cannot be loaded") GTEST_SKIP() << "skipped: there is no cuDNN";
  ASSERT_EQ(reason, nullptr);
  DnnProblem problem = {.type = DnnType::kBfloat16,
                        .math = DnnMath::kTensor,
                        .input = {2, 6, 9, 11},
                        .weight = {8, 3, 3, 2},
                        .output = {2, 8, 4, 11},
                        .padding = {1, 1},
                        .stride = {2, 1},
                        .dilation = {2, 2},
                        .groups = 2,
                        .has_bias = true};
  EXPECT_TRUE(DnnCall(functions, problem).is_complete());
  problem.groups = 0;
  EXPECT_FALSE(DnnCall(functions, problem).is_complete());
}

}  // namespace
}  // namespace halftone::cuda
