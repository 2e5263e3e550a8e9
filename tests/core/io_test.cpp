#include "core/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>

#include "core/clock.h"
#include "runtime/text_files.h"
#include "temporary_folder.h"

namespace halftone {
namespace {

class SystemIo : public testing::Test {
 protected:
  std::string path(const char* name) const { return directory_.path(name); }
  int64_t open(const std::string& file, int32_t flags) { return io_.open(io_.user, file.c_str(), flags, 0600); }
  int64_t close(int64_t file) { return io_.close(io_.user, file); }

  // Makes a file with the content `text`.
  void write_file(const std::string& file, const std::string& text) {
    const int64_t descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(io_.write(io_.user, descriptor, 0, text.data(), text.size()), static_cast<int64_t>(text.size()));
    EXPECT_EQ(close(descriptor), 0);
  }

  const Io& io_ = system_io();
  const TemporaryFolder directory_;
};

TEST_F(SystemIo, WritesAndReadsAtOffsets) {
  const int64_t file = open(path("a"), O_RDWR | O_CREAT);
  ASSERT_GE(file, 0);
  EXPECT_EQ(io_.write(io_.user, file, 0, "abcdef", 6), 6);
  EXPECT_EQ(io_.write(io_.user, file, 2, "XY", 2), 2);
  EXPECT_EQ(io_.sync(io_.user, file), 0);
  EXPECT_EQ(io_.size(io_.user, file), 6);
  char text[8] = {};
  EXPECT_EQ(io_.read(io_.user, file, 1, text, sizeof text), 5);
  EXPECT_STREQ(text, "bXYef");
  EXPECT_EQ(io_.read(io_.user, file, 6, text, sizeof text), 0);
  EXPECT_EQ(io_.read(io_.user, file, UINT64_MAX, text, sizeof text), -EINVAL);
  EXPECT_EQ(io_.write(io_.user, file, UINT64_MAX, text, 1), -EINVAL);
  EXPECT_EQ(close(file), 0);
}

TEST_F(SystemIo, AnswersNegativeErrorNumbers) {
  EXPECT_EQ(open(path("none"), O_RDONLY), -ENOENT);
  EXPECT_EQ(close(-1), -EBADF);
  EXPECT_EQ(io_.rename(io_.user, path("none").c_str(), path("b").c_str()), -ENOENT);
  EXPECT_EQ(io_.remove(io_.user, path("none").c_str()), -ENOENT);
  EXPECT_EQ(io_.make_directory(io_.user, directory_.path().c_str(), 0700), -EEXIST);
  EXPECT_EQ(io_.sync(io_.user, -1), -EBADF);
}

TEST_F(SystemIo, RenamesAndRemovesFilesAndDirectories) {
  write_file(path("a"), "text");
  EXPECT_EQ(io_.rename(io_.user, path("a").c_str(), path("b").c_str()), 0);
  EXPECT_EQ(io_.remove(io_.user, path("b").c_str()), 0);
  EXPECT_EQ(io_.make_directory(io_.user, path("d").c_str(), 0700), 0);
  EXPECT_EQ(io_.remove(io_.user, path("d").c_str()), 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

// In a child, because the limit applies to the whole process.
TEST_F(SystemIo, S6_SurvivesTheLimitOnTheSizeOfFiles) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = 4, .rlim_max = 4};
    const int64_t file = open(path("limited"), O_RDWR | O_CREAT);
    int failures = setrlimit(RLIMIT_FSIZE, &limit) == 0 && file >= 0 ? 0 : 1;
    if (io_.write(io_.user, file, 0, "abcd", 4) != 4) failures |= 2;
    if (io_.write(io_.user, file, 4, "e", 1) != -EFBIG) failures |= 4;
    sigset_t mask;
    sigset_t pending;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigpending(&pending);
    if (sigismember(&mask, SIGXFSZ) != 0 || sigismember(&pending, SIGXFSZ) != 0) failures |= 8;
    _exit(failures);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SystemIo, ListsEverythingInADirectory) {
  write_file(path("a"), "");
  write_file(path(".b"), "");
  ASSERT_EQ(io_.make_directory(io_.user, path("d").c_str(), 0700), 0);
  std::set<std::string> names;
  const auto take = [](void* taker, const char* name) -> int64_t {
    static_cast<std::set<std::string>*>(taker)->insert(name);
    return 0;
  };
  EXPECT_EQ(io_.list(io_.user, directory_.path().c_str(), take, &names), 0);
  EXPECT_EQ(names, (std::set<std::string>{".b", "a", "d"}));
  EXPECT_EQ(io_.list(io_.user, path("none").c_str(), take, &names), -ENOENT);
}

TEST_F(SystemIo, StopsListingWhereTheTakerWantsNoMore) {
  write_file(path("a"), "");
  write_file(path("b"), "");
  int calls = 0;
  const auto refuse = [](void* taker, const char*) -> int64_t {
    ++*static_cast<int*>(taker);
    return -ECANCELED;
  };
  EXPECT_EQ(io_.list(io_.user, directory_.path().c_str(), refuse, &calls), -ECANCELED);
  EXPECT_EQ(calls, 1);
}

TEST_F(SystemIo, LocksAFileAgainstAnotherOpenOfIt) {
  const int64_t first = open(path("lock"), O_RDWR | O_CREAT);
  const int64_t second = open(path("lock"), O_RDWR);
  EXPECT_EQ(io_.lock(io_.user, first), 0);
  EXPECT_EQ(io_.lock(io_.user, second), -EWOULDBLOCK);
  EXPECT_EQ(close(first), 0);
  EXPECT_EQ(io_.lock(io_.user, second), 0);
  EXPECT_EQ(close(second), 0);
}

TEST_F(SystemIo, DoesNotWaitForAFifoAndRefusesItsSize) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name : {path("fifo"), directory_.path(), std::string("/dev/zero")}) {
    const int64_t file = open(name, O_RDONLY);
    ASSERT_GE(file, 0) << name;
    EXPECT_EQ(io_.size(io_.user, file), -EINVAL) << name;
    EXPECT_EQ(close(file), 0);
  }
}

TEST_F(SystemIo, ClosesItsFilesInPrograms) {
  write_file(path("a"), "text");
  const int64_t file = open(path("a"), O_RDONLY);
  EXPECT_EQ(fcntl(static_cast<int>(file), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(close(file), 0);
}

// H9
TEST_F(SystemIo, LeavesTheNumbersOfTheStandardStreamsAlone) {
  write_file(path("a"), "text");
  const int saved = dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  const int64_t file = open(path("a"), O_RDONLY);
  const int free_now = fcntl(STDIN_FILENO, F_GETFD);
  if (saved >= 0) {
    dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  EXPECT_GT(file, STDERR_FILENO);
  EXPECT_EQ(free_now, -1);
  EXPECT_EQ(fcntl(static_cast<int>(file), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(close(file), 0);
}

TEST(ReadText, ReadsFilesWhoseSizeIsUnknown) {
  char text[4096];
  EXPECT_GT(read_text(system_io(), "/proc/self/status", text, sizeof text), 0);
  EXPECT_EQ(std::string(text, 5), "Name:");
}

TEST(ReadText, CutsAtTheCapacityAndEndsWithAZero) {
  TextFiles files(TextFiles::Texts{{"/f", "abcdef"}});
  char text[5] = {'#', '#', '#', '#', '#'};
  EXPECT_EQ(read_text(files.io(), "/f", text, 4), 3);
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(text[4], '#');
  EXPECT_EQ(read_text(files.io(), "/f", text, 1), 0);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(read_text(files.io(), "/f", text, 0), -EINVAL);
  EXPECT_EQ(files.open_count(), 0);
}

TEST(ReadText, GoesOnAfterShortReads) {
  TextFiles files(TextFiles::Texts{{"/f", "abcdef"}});
  files.set_largest_read(1);
  char text[16];
  EXPECT_EQ(read_text(files.io(), "/f", text, sizeof text), 6);
  EXPECT_STREQ(text, "abcdef");
}

TEST(ReadText, PassesErrorsOnAndLeavesNothingOpen) {
  TextFiles files(TextFiles::Texts{{"/f", "abcdef"}});
  files.set_read_error(EIO);
  char text[16];
  EXPECT_EQ(read_text(files.io(), "/f", text, sizeof text), -EIO);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(read_text(files.io(), "/none", text, sizeof text), -ENOENT);
  EXPECT_EQ(files.open_count(), 0);
}

TEST(SystemClock, NeverGoesBackwardsAndKnowsTheCentury) {
  const Clock& clock = system_clock();
  int64_t last = clock.monotonic_ns(clock.user);
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = clock.monotonic_ns(clock.user);
    ASSERT_GE(now, last);
    last = now;
  }
  constexpr int64_t kYear2020 = 1577836800;
  constexpr int64_t kYear2200 = 7258118400;
  EXPECT_GT(clock.wall_ns(clock.user) / 1000000000, kYear2020);
  EXPECT_LT(clock.wall_ns(clock.user) / 1000000000, kYear2200);
}

}  // namespace
}  // namespace halftone
