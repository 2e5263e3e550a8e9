#include "backend/plugin.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernels/kernels.h"
#include "core/error.h"
#include "runtime/context.h"
#include "runtime/plugin_loader.h"

namespace halftone {
namespace {

Error error_of_loading(const char* path) {
  const auto context = make_ref<Context>(ContextOptions{});
  try {
    context->load_plugin(path);
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, 0, "", "");
}

bool names(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

// Returns the output of a command.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char part[4096];
  while (pipe != nullptr && std::fgets(part, sizeof part, pipe.get()) != nullptr) text += part;
  return text;
}

TEST(BuildId, NamesVersionCompilerAndSeam) {
  const std::string id = build_id();
  EXPECT_EQ(id.rfind("halftone " PROJECT_VERSION_TEXT " ", 0), 0u) << id;
  EXPECT_NE(id.find(__VERSION__), std::string::npos) << id;
  const size_t seam = id.find(" seam ");
  ASSERT_NE(seam, std::string::npos) << id;
  EXPECT_EQ(id.size() - seam, std::strlen(" seam ") + 64) << id;
}

// A13
TEST(Plugin, OfAnotherBuildIsRefusedNamingBoth) {
  const Error error = error_of_loading(FAKE_PLUGIN_OF_ANOTHER_BUILD);
  EXPECT_EQ(error.code(), Code::kUnsupported);
  EXPECT_TRUE(names(error, "halftone 9.9.9 from elsewhere")) << error.what();
  EXPECT_TRUE(names(error, build_id())) << error.what();
}

TEST(Plugin, NeedsNoSymbolOfTheLibrary) {
  const std::string undefined = output_of(NM_PROGRAM " -D -u " FAKE_PLUGIN);
  EXPECT_NE(undefined.find("memcpy"), std::string::npos) << "nm did not run: " << undefined;
  EXPECT_EQ(undefined.find("halftone"), std::string::npos) << undefined;
  EXPECT_EQ(undefined.find("htone"), std::string::npos) << undefined;
  const std::string exported = output_of(NM_PROGRAM " -D --defined-only " FAKE_PLUGIN);
  EXPECT_NE(exported.find("T halftone_plugin"), std::string::npos) << exported;
}

class FakeDeviceTest : public testing::Test {
 protected:
  FakeDeviceTest() : context_(make_ref<Context>(ContextOptions{})) { context_->load_plugin(FAKE_PLUGIN); }

  Ref<Context> context_;
};

TEST_F(FakeDeviceTest, IsServedByName) {
  ContextDevice& fake = context_->device("fake:0");
  EXPECT_EQ(&context_->device("fake"), &fake);
  EXPECT_STREQ(fake.device->name(), "fake:0");
  EXPECT_EQ(fake.device->kind(), DeviceKind::kOther);
  EXPECT_NE(&context_->device("cpu"), &fake);
  context_->load_plugin(FAKE_PLUGIN);
  EXPECT_EQ(&context_->device("fake"), &fake) << "a plugin may be loaded again";
}

// A12
TEST_F(FakeDeviceTest, AnswersItsOwnReasonForADeviceItHasNot) {
  try {
    context_->device("fake:99");
    FAIL() << "there is no such device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDevice);
    EXPECT_TRUE(names(error, "no fake device 99")) << error.what();
  }
}

TEST_F(FakeDeviceTest, ComputesThroughTheSeam) {
  ContextDevice& fake = context_->device("fake:0");
  Device& device = *fake.device;
  Stream& stream = device.stream();
  const Kernels& kernels = device.kernels();
  const auto view_of = [](const Allocation& memory) {
    return View{.data = memory.data, .dtype = DType::kF32, .shape = {7}, .strides = {1}};
  };
  const Allocation a = fake.allocator->allocate(7 * sizeof(float), Category::kOther);
  const Allocation b = fake.allocator->allocate(7 * sizeof(float), Category::kOther);
  const std::vector<float> host = {1, 2, 3, 4, 5, 6, 7};
  ASSERT_TRUE(device.copy_from_host(stream, a.data, host.data(), a.size).ok());
  ASSERT_TRUE(kernels.convert.fill(stream, 0.5, view_of(b)).ok());
  ASSERT_TRUE(kernels.elementwise.binary(stream, BinaryOp::kAdd, view_of(a), view_of(b), view_of(b)).ok());
  ASSERT_TRUE(stream.synchronize().ok());
  std::vector<float> sums(7);
  ASSERT_TRUE(device.copy_to_host(stream, sums.data(), b.data, b.size).ok());
  EXPECT_EQ(sums, (std::vector<float>{1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5}));
  const Status refused = kernels.elementwise.binary(stream, BinaryOp::kDivide, view_of(a), view_of(b), view_of(b));
  EXPECT_EQ(refused.code, Code::kUnsupported);
  EXPECT_NE(refused.message[0], '\0');
  Event* event = nullptr;
  ASSERT_TRUE(device.create_event(&event).ok());
  EXPECT_TRUE(event->record(stream).ok());
  event->destroy();
  fake.allocator->release(a);
  fake.allocator->release(b);
}

TEST_F(FakeDeviceTest, LeavesWhatItHasNotNull) {
  const Kernels& kernels = context_->device("fake").device->kernels();
  EXPECT_EQ(kernels.gemm.run, nullptr);
  EXPECT_EQ(kernels.elementwise.unary, nullptr);
  EXPECT_NE(kernels.convert.cast, nullptr);
}

}  // namespace
}  // namespace halftone
