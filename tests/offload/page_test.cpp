// Pieces of state that are on the device only while they are used, in host memory and in files.
#include "offload/page.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "offload/file_space.h"
#include "offload/host_space.h"
#include "room_fixture.h"
#include "temporary_folder.h"

namespace halftone::offload {
namespace {

// The caller of a file by a table of its own does not move bytes itself.
enum class Kind { kHost, kFile, kFileOfTable };

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"memory", "file", "file_of_a_table"};
  return kNames[static_cast<int>(kind)];
}

// Reads fail while this is set.
std::atomic<bool> reads_fail{false};

// A context whose files are reached by functions that are not the system's.
Ref<Context> make_context_with_table() {
  ContextOptions options;
  options.num_threads = 2;
  options.io = system_io();
  options.io.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
    return reads_fail ? -EIO : system_io().read(user, file, offset, buffer, std::min(size, size_t{100'000}));
  };
  return make_ref<Context>(options);
}

class PageTest : public RoomTest, public testing::WithParamInterface<Kind> {
 protected:
  static constexpr int64_t kSize = 3000;

  ContextDevice& device() { return table_context_ ? table_context_->device("cpu") : RoomTest::device(); }
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

  const Ref<Context> table_context_ = GetParam() == Kind::kFileOfTable ? make_context_with_table() : nullptr;
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

TEST_P(PageTest, PagesOfManyPiecesKeepTheirOwn) {
  constexpr int64_t kLarge = (3 << 18) + 5;
  std::vector<std::unique_ptr<Page>> pages;
  for (int i = 0; i < 4; ++i) pages.push_back(make_page(kLarge + i));
  for (int round = 1; round < 3; ++round) {
    for (const auto& page : pages) page->start_fetch();
    for (size_t i = 0; i < pages.size(); ++i) {
      pages[i]->fetch();
      EXPECT_EQ(values(pages[i]->tensor()).back(), (round - 1) * static_cast<double>(i + 1));
      fill(pages[i]->tensor(), round * static_cast<double>(i + 1));
      pages[i]->start_put_back();
    }
    for (const auto& page : pages) page->finish_put_back();
  }
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(content(*pages[i]),
              std::vector<double>(static_cast<size_t>(kLarge) + i, 2.0 * static_cast<double>(i + 1)));
  }
}

TEST_P(PageTest, ACopyTakesNoMemoryOfThePage) {
  const auto page = make_page();
  const Tensor target = full(device(), DType::kF32, {kSize}, -1.0);
  page->start_copy(target);
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 0.0)) << "nothing was written yet";
  change(*page, 2.5);
  page->start_copy(target);
  EXPECT_EQ(bytes(), kSize * 4) << "the target alone";
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 2.5));
  EXPECT_NE(page->tensor().storage()->restorer(), nullptr);
}

TEST_P(PageTest, ACopyOfContentThatIsHereOrLeavesHasIt) {
  const auto page = make_page();
  const Tensor target = full(device(), DType::kF32, {kSize}, -1.0);
  page->fetch();
  fill(page->tensor(), 4.0);
  page->start_copy(target);
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 4.0));
  fill(page->tensor(), 5.0);
  page->start_put_back();
  page->start_copy(target);
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 5.0));
}

TEST_P(PageTest, ACopyThatIsUnderWayEndsBeforeThePageIsUsed) {
  const auto page = make_page();
  change(*page, 2.0);
  const Tensor target = full(device(), DType::kF32, {kSize}, -1.0);
  page->start_copy(target);
  change(*page, 3.0);
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 2.0));
  page->start_copy(target);
  page->write(page->tensor().as_strided({kSize}, {1}, 0), full(device(), DType::kF32, {kSize}, 4.0));
  page->finish_copy();
  EXPECT_EQ(values(target), std::vector<double>(kSize, 3.0));
  EXPECT_EQ(content(*page), std::vector<double>(kSize, 4.0));
}

// AddressSanitizer sees bytes that arrive afterwards.
TEST_P(PageTest, APageGoesInTheMiddleOfAnyTransfer) {
  constexpr int64_t kLarge = 5 << 18;
  for (int transfer = 0; transfer < 3; ++transfer) {
    auto page = make_page(kLarge);
    change(*page, 1.0);
    Tensor target = full(device(), DType::kF32, {kLarge}, 0.0);
    if (transfer == 0) page->start_fetch();
    if (transfer == 1) page->start_copy(target);
    if (transfer == 2) {
      page->fetch();
      page->start_put_back();
    }
    page.reset();
    target = Tensor();
    EXPECT_EQ(bytes(), 0) << transfer;
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

INSTANTIATE_TEST_SUITE_P(Kinds, PageTest, testing::Values(Kind::kHost, Kind::kFile, Kind::kFileOfTable),
                         [](const auto& info) { return name_of(info.param); });

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

TEST_F(FilePageTest, AFailedCopyIsToldAtItsEnd) {
  const Ref<Context> context = make_context_with_table();
  ContextDevice& device = context->device("cpu");
  const auto space = make_ref<FileSpace>(device, folder_.path());
  Page page(device, DType::kF32, 1 << 20, Category::kOptimizer, *space);
  page.write(page.tensor(), full(device, DType::kF32, {1 << 20}, 8.0));
  const Tensor target = full(device, DType::kF32, {1 << 20}, 0.0);
  for (const bool is_disturbed : {false, true}) {
    reads_fail = true;
    page.start_copy(target);
    EXPECT_EQ(is_disturbed ? code_of([&] { page.fetch(); }) : Code::kIo, Code::kIo) << "reads of its own";
    EXPECT_EQ(code_of([&] { page.finish_copy(); }), Code::kIo);
    reads_fail = false;
    page.start_copy(target);
    EXPECT_NO_THROW(page.finish_copy());
    EXPECT_EQ(values(target), std::vector<double>(1 << 20, 8.0));
  }
}

TEST_F(FilePageTest, AForkedChildIsToldAndEnds) {
  const auto space = make_ref<FileSpace>(device(), folder_.path());
  auto page = std::make_unique<Page>(device(), DType::kF32, 1000, Category::kOptimizer, *space);
  const Tensor part = page->tensor().as_strided({10}, {1}, 5), part_values = full(device(), DType::kF32, {10}, 1.0);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_told = code_of([&] { page->fetch(); }) == Code::kState &&
                         code_of([&] { page->write(part, part_values); }) == Code::kState;
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
