#include "comm/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "shared_memory_ranks.h"

namespace halftone {
namespace {

constexpr int64_t kWait = 60'000 * kMillisecond;

StoreValue bytes_of(const char* text) { return {.data = text, .bytes = std::strlen(text)}; }

std::string text_at(KeyValueStore& store, const char* key) {
  char text[64];
  size_t bytes = 0;
  const Status status = store.get(key, kMillisecond, text, sizeof text, &bytes);
  return status.ok() ? std::string(text, bytes) : status.message;
}

// Every test below runs on each kind of store.
struct StoreKind {
  const char* name;
  OwnedStore (*create)(const TemporaryFolder& folder);
};

const StoreKind kKinds[] = {
    {"memory", [](const TemporaryFolder&) { return create_memory_store(); }},
    {"file", [](const TemporaryFolder& folder) { return open_file_store(folder.path("store")); }},
#ifdef GLOO_PLUGIN
    {"tcp",
     [](const TemporaryFolder&) {
       const Ref<Context> context = make_rank_context();
       context->load_plugin(GLOO_PLUGIN);
       return create_store("tcp", *context, {.address = "127.0.0.1:0", .is_server = 1});
     }},
#endif
};

class StoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  const TemporaryFolder folder_;
  const OwnedStore store = GetParam().create(folder_);
};

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<StoreKind>& info) { return info.param.name; });

TEST_P(StoreTest, KeepsTheLastValue) {
  EXPECT_TRUE(store->set("key", bytes_of("first")).ok());
  EXPECT_TRUE(store->set("key", bytes_of("second")).ok());
  EXPECT_EQ(text_at(*store, "key"), "second");
  EXPECT_TRUE(store->set("key", {.data = "", .bytes = 0}).ok());
  EXPECT_EQ(text_at(*store, "key"), "");
}

TEST_P(StoreTest, AnAbsentKeyIsATimeoutThatNamesIt) {
  char text[8];
  size_t bytes = 0;
  const Status got = store->get("nothing", kMillisecond, text, sizeof text, &bytes);
  EXPECT_EQ(got.code, Code::kTimeout);
  EXPECT_TRUE(says(got, "nothing")) << got.message;
  ASSERT_TRUE(store->set("there", bytes_of("1")).ok());
  const char* keys[] = {"there", "missing"};
  EXPECT_TRUE(store->wait(keys, 1, kMillisecond).ok());
  const Status waited = store->wait(keys, 2, kMillisecond);
  EXPECT_EQ(waited.code, Code::kTimeout);
  EXPECT_TRUE(says(waited, "missing")) << waited.message;
}

TEST_P(StoreTest, AShortBufferGetsTheSizeAlone) {
  ASSERT_TRUE(store->set("key", bytes_of("twelve bytes")).ok());
  char text[] = "unchanged";
  size_t bytes = 0;
  EXPECT_EQ(store->get("key", 0, text, 11, &bytes).code, Code::kBufferTooSmall);
  EXPECT_EQ(bytes, 12u);
  EXPECT_STREQ(text, "unchanged");
}

TEST_P(StoreTest, ReadersWaitForTheWriter) {
  std::thread reader([&] {
    const char* keys[] = {"a", "b"};
    EXPECT_TRUE(store->wait(keys, 2, kWait).ok());
    EXPECT_EQ(text_at(*store, "b"), "2");
  });
  EXPECT_TRUE(store->set("b", bytes_of("2")).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(store->set("a", bytes_of("1")).ok());
  reader.join();
}

TEST_P(StoreTest, CountersOfManyThreadsLoseNothing) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      int64_t sum = 0;
      for (int j = 0; j < 100; ++j) EXPECT_TRUE(store->add("count", 3, &sum).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text_at(*store, "count"), "1200");
  int64_t sum = 0;
  EXPECT_TRUE(store->add("count", -1201, &sum).ok());
  EXPECT_EQ(sum, -1);
}

TEST_P(StoreTest, CountersAreNumbersThatFit) {
  int64_t sum = 5;
  ASSERT_TRUE(store->set("text", bytes_of("12 apples")).ok());
  EXPECT_EQ(store->add("text", 1, &sum).code, Code::kInvalidArgument);
  ASSERT_TRUE(store->add("large", INT64_MAX, &sum).ok());
  EXPECT_EQ(store->add("large", 1, &sum).code, Code::kInvalidArgument);
  EXPECT_EQ(text_at(*store, "large"), std::to_string(INT64_MAX));
}

TEST_P(StoreTest, CompareSetReplacesWhatItExpects) {
  int32_t swapped = -1;
  EXPECT_TRUE(store->compare_set("key", bytes_of("x"), bytes_of("y"), &swapped).ok());
  EXPECT_EQ(swapped, 0) << "the key is absent";
  EXPECT_TRUE(store->compare_set("key", {}, bytes_of("y"), &swapped).ok());
  EXPECT_EQ(swapped, 1);
  EXPECT_TRUE(store->compare_set("key", {}, bytes_of("z"), &swapped).ok());
  EXPECT_EQ(swapped, 0) << "the key exists";
  EXPECT_TRUE(store->compare_set("key", bytes_of("y"), bytes_of("z"), &swapped).ok());
  EXPECT_EQ(swapped, 1);
  EXPECT_EQ(text_at(*store, "key"), "z");
  EXPECT_TRUE(store->compare_set("key", bytes_of("z"), {}, &swapped).ok());
  int32_t existed = -1;
  EXPECT_TRUE(store->remove("key", &existed).ok());
  EXPECT_EQ(existed, 0) << "compare_set removed it";
}

TEST_P(StoreTest, RemovesKeys) {
  ASSERT_TRUE(store->set("key", bytes_of("1")).ok());
  int32_t existed = -1;
  EXPECT_TRUE(store->remove("key", &existed).ok());
  EXPECT_EQ(existed, 1);
  EXPECT_TRUE(store->remove("key", &existed).ok());
  EXPECT_EQ(existed, 0);
  size_t bytes = 0;
  EXPECT_EQ(store->get("key", kMillisecond, nullptr, 0, &bytes).code, Code::kTimeout);
}

TEST_P(StoreTest, KeysOfAnyTextAreDifferentKeys) {
  const char* const keys[] = {"",         ".", "..", "a/b",  "a%2Fb",     "a b",  "../a",
                              "\x80\xff", "A", "a",  "lock", "temporary", "key.a"};
  for (const char* key : keys) ASSERT_TRUE(store->set(key, bytes_of(key)).ok()) << key;
  for (const char* key : keys) EXPECT_EQ(text_at(*store, key), key);
  int32_t existed = -1;
  EXPECT_TRUE(store->remove("a/b", &existed).ok());
  EXPECT_EQ(existed, 1);
  EXPECT_EQ(text_at(*store, "a%2Fb"), "a%2Fb");
}

TEST_P(StoreTest, ValuesMayHaveAMegabyteOfAnyBytes) {
  std::string value(size_t{1} << 20, '\0');
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 31 >> 3);
  ASSERT_TRUE(store->set("key", {.data = value.data(), .bytes = value.size()}).ok());
  std::string read(value.size(), 'x');
  size_t bytes = 0;
  ASSERT_TRUE(store->get("key", 0, read.data(), read.size(), &bytes).ok());
  EXPECT_EQ(bytes, value.size());
  EXPECT_TRUE(read == value);
}

// A reader that saw part of a value would see two letters, or a value that is too short.
TEST_P(StoreTest, ReadersSeeWholeValuesAlone) {
  const std::string first(10'000, 'a');
  const std::string second(10'000, 'b');
  ASSERT_TRUE(store->set("key", {.data = first.data(), .bytes = first.size()}).ok());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string& value = i % 2 == 0 ? second : first;
      EXPECT_TRUE(store->set("key", {.data = value.data(), .bytes = value.size()}).ok());
    }
  });
  std::string read(first.size(), 'x');
  for (int i = 0; i < 500; ++i) {
    size_t bytes = 0;
    ASSERT_TRUE(store->get("key", 0, read.data(), read.size(), &bytes).ok());
    EXPECT_TRUE(bytes == first.size() && (read == first || read == second));
  }
  stop = true;
  writer.join();
}

TEST(FileStore, CountersOfManyProcessesLoseNothing) {
  const TemporaryFolder folder;
  std::vector<ChildProcess> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&] {
      const OwnedStore store = open_file_store(folder.path("store"));
      int64_t sum = 0;
      for (int j = 0; j < 50; ++j) EXPECT_TRUE(store->add("count", 1, &sum).ok());
    });
  }
  for (ChildProcess& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(text_at(*open_file_store(folder.path("store")), "count"), "200");
}

TEST(FileStore, OneOfManyProcessesWinsACompareSet) {
  const TemporaryFolder folder;
  std::vector<ChildProcess> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&] {
      const OwnedStore store = open_file_store(folder.path("store"));
      int32_t swapped = 0;
      EXPECT_TRUE(store->compare_set("leader", {}, bytes_of("me"), &swapped).ok());
      int64_t sum = 0;
      EXPECT_TRUE(store->add("winners", swapped, &sum).ok());
    });
  }
  for (ChildProcess& child : children) EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(text_at(*open_file_store(folder.path("store")), "winners"), "1");
}

TEST(FileStore, AProcessThatIsKilledUnderTheLockStopsNobody) {
  const TemporaryFolder folder;
  const OwnedStore store = open_file_store(folder.path());
  const std::string lock = folder.path("lock");
  ChildProcess holder([&] {
    const int file = open(lock.c_str(), O_RDWR | O_CREAT, 0600);
    EXPECT_EQ(flock(file, LOCK_EX), 0);
    std::ofstream(folder.path("temporary")) << "half a val";
    std::ofstream(folder.path("locked")) << "now";
    pause();
  });
  while (!std::filesystem::exists(folder.path("locked"))) std::this_thread::yield();
  std::atomic<bool> is_set{false};
  std::thread writer([&] {
    EXPECT_TRUE(store->set("key", bytes_of("value")).ok());
    is_set = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(is_set) << "another process holds the lock";
  holder.send_signal(SIGKILL);
  EXPECT_EQ(holder.wait(), -SIGKILL);
  writer.join();
  EXPECT_EQ(text_at(*store, "key"), "value");
}

TEST(FileStore, IsForThisUserAloneAndEntriesOutliveIt) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_file_store(folder.path("store"))->set("key", bytes_of("value")).ok());
  EXPECT_EQ(text_at(*open_file_store(folder.path("store")), "key"), "value");
  struct stat status;
  ASSERT_EQ(stat(folder.path("store").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("store"))) {
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077, 0u) << entry.path();
  }
}

// In a folder for all users, another one may make the store's folder first.
TEST(FileStore, RefusesAFolderThatOtherUsersOwnOrMayWrite) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkdir(folder.path("store").c_str(), 0700), 0);
  for (const mode_t mode : {0770, 0702}) {
    ASSERT_EQ(chmod(folder.path("store").c_str(), mode), 0);
    try {
      open_file_store(folder.path("store"));
      ADD_FAILURE() << mode;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kIo);
      EXPECT_NE(std::string(error.what()).find("other users may write to the folder"), std::string::npos);
    }
  }
  ASSERT_EQ(chmod(folder.path("store").c_str(), 0755), 0);
  EXPECT_TRUE(open_file_store(folder.path("store"))->set("key", bytes_of("value")).ok());
  if (chown(folder.path("store").c_str(), 4711, 4711) != 0) GTEST_SKIP() << "skipped: only root gives folders away";
  try {
    open_file_store(folder.path("store"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kIo);
    EXPECT_NE(std::string(error.what()).find("belongs to user 4711"), std::string::npos) << error.what();
  }
}

TEST(FileStore, DoesNotBelieveTheSizeOfAFileThatItDidNotWrite) {
  const TemporaryFolder folder;
  const OwnedStore store = open_file_store(folder.path());
  std::ofstream(folder.path("key.large")) << "x";
  ASSERT_EQ(truncate(folder.path("key.large").c_str(), off_t{1} << 40), 0);
  size_t bytes = 0;
  const Status status = store->get("large", 0, nullptr, 0, &bytes);
  EXPECT_EQ(status.code, Code::kFormat) << status.message;
  EXPECT_TRUE(says(status, "has 1099511627776 bytes, expected at most 1048576")) << status.message;
}

TEST(FileStore, RefusesKeysAndValuesThatNoFileHolds) {
  const TemporaryFolder folder;
  const OwnedStore store = open_file_store(folder.path());
  EXPECT_TRUE(store->set(std::string(251, 'k').c_str(), bytes_of("1")).ok());
  EXPECT_EQ(store->set(std::string(252, 'k').c_str(), bytes_of("1")).code, Code::kInvalidArgument);
  EXPECT_EQ(store->set(nullptr, bytes_of("1")).code, Code::kInvalidArgument);
  const std::string large((size_t{1} << 20) + 1, 'v');
  const Status status = store->set("key", {.data = large.data(), .bytes = large.size()});
  EXPECT_EQ(status.code, Code::kInvalidArgument);
  EXPECT_TRUE(says(status, "has 1048577 bytes, expected at most 1048576")) << status.message;
}

TEST(FileStore, ErrorsOfTheFileSystemNameThePathAndCarryErrno) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("file")) << "text";
  for (const auto& [name, number] : {std::pair{"missing/store", ENOENT}, {"file", ENOTDIR}, {"file/store", ENOTDIR}}) {
    try {
      open_file_store(folder.path(name));
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kIo);
      EXPECT_EQ(error.native_code(), number) << error.what();
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
  const OwnedStore store = open_file_store(folder.path("store"));
  std::filesystem::create_directory(folder.path("store/key.folder"));
  size_t bytes = 0;
  const Status status = store->get("folder", 0, nullptr, 0, &bytes);
  EXPECT_EQ(status.code, Code::kIo) << status.message;
  EXPECT_THROW(open_file_store(""), Error);
}

}  // namespace
}  // namespace halftone
