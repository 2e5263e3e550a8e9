#include <gtest/gtest.h>
#include <sched.h>

#include <climits>
#include <cstdlib>
#include <thread>

#include "core/allowed_cpus.h"
#include "runtime/cpu_quota.h"
#include "runtime/pool_width.h"
#include "runtime/text_files.h"

namespace halftone {
namespace {

int quota_of(TextFiles::Texts files) {
  TextFiles texts(std::move(files));
  const int quota = cpu_quota(texts.io());
  EXPECT_EQ(texts.open_count(), 0) << "a file was left open";
  return quota;
}

TEST(CpuQuota, IsNoneWhereNothingCanBeRead) { EXPECT_EQ(quota_of({}), 0); }

TEST(CpuQuota, RoundsAQuotaOfVersion2UpToWholeCpus) {
  const auto quota = [](const char* text) {
    return quota_of({{"/proc/self/cgroup", "0::/job\n"}, {"/sys/fs/cgroup/job/cpu.max", text}});
  };
  EXPECT_EQ(quota("50000 100000\n"), 1);
  EXPECT_EQ(quota("100000 100000\n"), 1);
  EXPECT_EQ(quota("100001 100000\n"), 2);
  EXPECT_EQ(quota("1200000 100000\n"), 12);
  EXPECT_EQ(quota("max 100000\n"), 0);
}

TEST(CpuQuota, TakesTheSmallestQuotaOnTheWayUp) {
  EXPECT_EQ(quota_of({{"/proc/self/cgroup", "0::/a/b/c\n"},
                      {"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"},
                      {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                      {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"}}),
            3);
}

TEST(CpuQuota, FindsAContainersQuotaAtTheRoot) {
  EXPECT_EQ(quota_of({{"/proc/self/cgroup", "0::/not/mounted/here\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}),
            2);
  EXPECT_EQ(quota_of({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}}), 2);
}

TEST(CpuQuota, ReadsTheFilesOfVersion1) {
  const auto quota = [](const char* quota_us) {
    return quota_of({{"/proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/\n"},
                     {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", quota_us},
                     {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"}});
  };
  EXPECT_EQ(quota("250000\n"), 3);
  EXPECT_EQ(quota("-1\n"), 0);
}

TEST(CpuQuota, TakesNoOtherControllerForTheCpu) {
  EXPECT_EQ(quota_of({{"/proc/self/cgroup", "3:cpuset:/job\n2:cpuacct:/job\n"},
                      {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000\n"},
                      {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"}}),
            0);
}

TEST(CpuQuota, IgnoresGarbage) {
  for (const char* text : {"", "\n", " ", "x y", "0 100000", "100000", "100000 0", "-5 100000", "1e5 1e5x",
                           "99999999999999999999999 100000", "100000 99999999999999999999999"}) {
    EXPECT_EQ(quota_of({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", text}}), 0) << text;
  }
  for (const std::string& text : {std::string("::::\n"), std::string("0\n"), std::string(10000, '/'),
                                  "0::/" + std::string(4000, 'g'), std::string(3, '\0')}) {
    EXPECT_EQ(quota_of({{"/proc/self/cgroup", text}}), 0);
  }
  EXPECT_EQ(quota_of({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "9223372036854775807 1"}}), INT_MAX);
}

class PoolWidth : public testing::Test {
 protected:
  void TearDown() override { unsetenv("HALFTONE_NUM_THREADS"); }
  int width_without_wish(const char* quota = "max 100000\n") {
    TextFiles texts({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", quota}});
    return pool_width(0, texts.io());
  }
};

// A26
TEST_F(PoolWidth, TakesTheWishFirstAndClampsIt) {
  setenv("HALFTONE_NUM_THREADS", "5", 1);
  EXPECT_EQ(pool_width(3, system_io()), 3);
  EXPECT_EQ(pool_width(256, system_io()), 256);
  EXPECT_EQ(pool_width(100000, system_io()), 256);
}

TEST_F(PoolWidth, TakesTheEnvironmentSecond) {
  for (const auto& [text, width] : {std::pair{"1", 1}, {"5", 5}, {"256", 256}, {"007", 7}}) {
    setenv("HALFTONE_NUM_THREADS", text, 1);
    EXPECT_EQ(width_without_wish("100000 100000\n"), width) << text;
  }
}

// H13
TEST_F(PoolWidth, IgnoresAHostileEnvironment) {
  for (const char* text :
       {"", "0", "-1", "257", "4x", " 4", "4 ", "+4", "0x4", "4.0", "99999999999999999999", "\xff"}) {
    setenv("HALFTONE_NUM_THREADS", text, 1);
    EXPECT_EQ(width_without_wish("100000 100000\n"), 1) << text;
    EXPECT_EQ(width_without_wish(), std::min(allowed_cpus(), 256)) << text;
  }
}

// H10
TEST_F(PoolWidth, FollowsTheQuotaWhereItIsBelowTheMask) {
  EXPECT_EQ(width_without_wish("50000 100000\n"), 1);
  EXPECT_EQ(width_without_wish("100000000 100000\n"), std::min(allowed_cpus(), 256));
}

TEST_F(PoolWidth, FollowsAnAffinityMaskOfOneCpu) {
  int width = 0;
  int cpus = 0;
  std::thread([&] {  // an affinity mask belongs to a thread
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
    cpus = allowed_cpus();
    width = width_without_wish();
  })
      .join();
  EXPECT_EQ(cpus, 1);
  EXPECT_EQ(width, 1);
}

}  // namespace
}  // namespace halftone
