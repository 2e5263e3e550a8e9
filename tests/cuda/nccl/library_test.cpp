// The library that the plugin opens, and what the group's options must be.
#include <gtest/gtest.h>

#include "device_ranks.h"

namespace halftone {
namespace {

std::string message_of(const std::function<void()>& action, Code code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

class NcclLibrary : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_emulated()) GTEST_SKIP() << "skipped: a GPU's NCCL is there";
    setenv("HALFTONE_NCCL_LIBRARY", NCCL_EMULATION, 1);
  }
  void TearDown() override { setenv("HALFTONE_NCCL_LIBRARY", NCCL_EMULATION, 1); }
};

// The library is opened once, so these tests are a program of their own, and this one comes first.
TEST_F(NcclLibrary, AMissingOrOldOneIsNamed) {
  const Ref<Context> context = make_gpu_context();
  const auto create = [&] { make_gpu_group(*context, nullptr, 0, 1); };
  setenv("HALFTONE_NCCL_LIBRARY", "/nowhere/libnccl.so.2", 1);
  EXPECT_TRUE(holds(message_of(create, Code::kUnsupported), "need NCCL 2.20 or later, which cannot be loaded"));
  setenv("HALFTONE_NCCL_LIBRARY", "libm.so.6", 1);
  EXPECT_TRUE(holds(message_of(create, Code::kUnsupported), "libm.so.6 is another library"));
  setenv("HALFTONE_NCCL_LIBRARY", NCCL_EMULATION, 1);
  const auto set_version = nccl_function<void(int32_t)>("nccl_emulation_set_version");
  set_version(21805);
  EXPECT_TRUE(holds(message_of(create, Code::kUnsupported), "is NCCL 2.18, expected 2.20 or later"));
  set_version(22005);
  create();
}

TEST_F(NcclLibrary, AGroupNeedsACudaDeviceAndAStore) {
  const Ref<Context> context = make_gpu_context();
  const GroupOptions on_cpu{.device = context->device("cpu").device};
  EXPECT_TRUE(holds(message_of([&] { create_group("nccl", *context, on_cpu); }, Code::kUnsupported),
                    "need a CUDA device, unlike cpu"));
  EXPECT_TRUE(holds(message_of([&] { make_gpu_group(*context, nullptr, 0, 2); }, Code::kInvalidArgument), "a store"));
}

}  // namespace
}  // namespace halftone
