// Pieces of state that are on the device only while somebody uses them, in host memory and in files.
#include "offload/page.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "offload/file_space.h"
#include "offload/host_space.h"
#include "room_fixture.h"
#include "temporary_folder.h"

namespace halftone::offload {
namespace {

enum class Kind { kHost, kFile };

class PageTest : public RoomTest, public testing::WithParamInterface<Kind> {
 protected:
  static constexpr int64_t kSize = 3000;

  Ref<SwapSpace> make_space() {
    if (GetParam() == Kind::kHost) return make_ref<HostSpace>(device());
    return make_ref<FileSpace>(device(), folder_.path());
  }
  std::unique_ptr<Page> make_page(int64_t size = kSize) {
    return std::make_unique<Page>(device(), DType::kF32, size, Category::kOptimizer, *space_);
  }
  void change(Page& page, double value) {
    page.fetch();
    fill(page.tensor(), value);
    page.start_put_back();
    page.finish_put_back();
  }
  static std::vector<double> content(Page& page) {
    page.fetch();
    std::vector<double> all = values(page.tensor());
    page.drop();
    return all;
  }
  int64_t bytes() { return device().allocator->stats().current; }

  TemporaryFolder folder_;
  Ref<SwapSpace> space_ = make_space();
};

TEST_P(PageTest, IsZeroAtFirstAndTakesNoMemory) {
  const auto page = make_page();
  EXPECT_EQ(bytes(), 0);
  EXPECT_NE(page->tensor().storage()->restorer(), nullptr);
  page->fetch();
  EXPECT_EQ(bytes(), kSize * 4);
  EXPECT_EQ(page->tensor().storage()->restorer(), nullptr);
  EXPECT_EQ(values(page->tensor()), std::vector<double>(kSize, 0.0));
}

TEST_P(PageTest, KeepsWhatWasPutBackAndForgetsWhatWasDropped) {
  const auto page = make_page();
  change(*page, 2.5);
  EXPECT_EQ(bytes(), 0);
  page->fetch();
  fill(page->tensor(), 9.0);
  page->drop();
  EXPECT_EQ(bytes(), 0);
  EXPECT_EQ(content(*page), std::vector<double>(kSize, 2.5));
}

TEST_P(PageTest, ContentThatLeavesIsFetchedBack) {
  const auto page = make_page();
  page->fetch();
  fill(page->tensor(), 4.0);
  page->start_put_back();
  EXPECT_NE(page->tensor().storage()->restorer(), nullptr);
  page->drop();  // it is not lost
  page->fetch();
  EXPECT_EQ(values(page->tensor()), std::vector<double>(kSize, 4.0));
}

TEST_P(PageTest, ManyPagesOnTheirWayAtOnceKeepTheirOwn) {
  std::vector<std::unique_ptr<Page>> pages;
  for (int i = 0; i < 20; ++i) pages.push_back(make_page(kSize + i));
  for (const auto& page : pages) page->start_fetch();
  for (int i = 0; i < 20; ++i) {
    pages[static_cast<size_t>(i)]->fetch();
    fill(pages[static_cast<size_t>(i)]->tensor(), i);
    pages[static_cast<size_t>(i)]->start_put_back();
  }
  for (const auto& page : pages) page->finish_put_back();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(content(*pages[static_cast<size_t>(i)]), std::vector<double>(static_cast<size_t>(kSize + i), i));
  }
}

TEST_P(PageTest, RangesAreReadAndWrittenWhereTheyAre) {
  const auto page = make_page();
  const Tensor part = page->tensor().as_strided({40}, {1}, 100), target = full(device(), DType::kF32, {10}, -1.0);
  page->read(part, 5, target);
  EXPECT_EQ(values(target), std::vector<double>(10, 0.0)) << "nothing was written yet";
  page->write(part, full(device(), DType::kF32, {40}, 3.0));
  EXPECT_EQ(bytes(), 40) << "the target alone";
  page->read(part, 30, target);
  EXPECT_EQ(values(target), std::vector<double>(10, 3.0));
  std::vector<double> expected(kSize, 0.0);
  std::fill_n(expected.begin() + 100, 40, 3.0);
  EXPECT_EQ(content(*page), expected);
}

TEST_P(PageTest, ANewPageIsZeroWhereAnOtherWasBefore) {
  change(*make_page(), 7.0);
  const auto page = make_page();
  const Tensor part = page->tensor().as_strided({8}, {1}, 8);
  page->write(part, full(device(), DType::kF32, {8}, 1.0));
  std::vector<double> expected(kSize, 0.0);
  std::fill_n(expected.begin() + 8, 8, 1.0);
  EXPECT_EQ(content(*page), expected);
}

TEST_P(PageTest, APageWithoutElementsIsNoTrouble) {
  const auto page = make_page(0);
  change(*page, 1.0);
  EXPECT_EQ(content(*page), std::vector<double>());
}

TEST_P(PageTest, WhatFindsNoMemoryIsFetchedLater) {
  const auto page = make_page(1 << 20);
  change(*page, 6.0);
  device().allocator->release_cached();
  device().allocator->set_limit(1 << 16);
  EXPECT_EQ(code_of([&] { page->fetch(); }), Code::kOutOfMemory);
  device().allocator->set_limit(0);
  EXPECT_EQ(content(*page).back(), 6.0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PageTest, testing::Values(Kind::kHost, Kind::kFile),
                         [](const auto& info) { return info.param == Kind::kHost ? "memory" : "file"; });

class FilePageTest : public RoomTest {
 protected:
  TemporaryFolder folder_;
};

TEST_F(FilePageTest, NothingIsLeftInTheDirectory) {
  const auto space = make_ref<FileSpace>(device(), folder_.path());
  Page page(device(), DType::kF32, 1000, Category::kOptimizer, *space);
  page.fetch();
  page.start_put_back();
  page.finish_put_back();
  DIR* const directory = opendir(folder_.path().c_str());
  int entries = 0;
  while (readdir(directory) != nullptr) ++entries;
  closedir(directory);
  EXPECT_EQ(entries, 2) << "the directory itself and the one above";
}

TEST_F(FilePageTest, ADirectoryThatIsNotThereIsNamed) {
  try {
    make_ref<FileSpace>(device(), folder_.path() + "/missing");
    FAIL() << "made a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kIo);
    EXPECT_NE(std::string(error.what()).find("/missing"), std::string::npos) << error.what();
  }
}

// A file that may not grow: the content stays in memory, and goes to the file when there is room.
TEST_F(FilePageTest, AFullDiskLosesNothing) {
  const auto space = make_ref<FileSpace>(device(), folder_.path());
  Page page(device(), DType::kF32, 1 << 20, Category::kOptimizer, *space);
  page.fetch();
  fill(page.tensor(), 8.0);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 1 << 16, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  page.start_put_back();
  EXPECT_EQ(code_of([&] { page.finish_put_back(); }), Code::kIo);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(values(page.tensor()), std::vector<double>(1 << 20, 8.0));
  page.drop();
  EXPECT_EQ(values(page.tensor()), std::vector<double>(1 << 20, 8.0)) << "it is the only copy";
  page.start_put_back();
  page.finish_put_back();
  page.fetch();
  EXPECT_EQ(values(page.tensor()), std::vector<double>(1 << 20, 8.0));
}

TEST_F(FilePageTest, AForkedChildIsToldAndEnds) {
  const auto space = make_ref<FileSpace>(device(), folder_.path());
  auto page = std::make_unique<Page>(device(), DType::kF32, 1000, Category::kOptimizer, *space);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told = code_of([&] { page->fetch(); }) == Code::kState;
    page.reset();
    _exit(is_told ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  page->fetch();
  EXPECT_EQ(values(page->tensor()), std::vector<double>(1000, 0.0));
}

}  // namespace
}  // namespace halftone::offload
