#include "comm/store.h"

#include <cstring>

#include "ranks.h"

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

TEST(MemoryStore, KeepsTheLastValue) {
  const OwnedStore store = create_store();
  EXPECT_TRUE(store->set("key", bytes_of("first")).ok());
  EXPECT_TRUE(store->set("key", bytes_of("second")).ok());
  EXPECT_EQ(text_at(*store, "key"), "second");
  EXPECT_TRUE(store->set("key", {.data = "", .bytes = 0}).ok());
  EXPECT_EQ(text_at(*store, "key"), "");
}

TEST(MemoryStore, AnAbsentKeyIsATimeoutThatNamesIt) {
  const OwnedStore store = create_store();
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

TEST(MemoryStore, AShortBufferGetsTheSizeAlone) {
  const OwnedStore store = create_store();
  ASSERT_TRUE(store->set("key", bytes_of("twelve bytes")).ok());
  char text[] = "unchanged";
  size_t bytes = 0;
  EXPECT_EQ(store->get("key", 0, text, 11, &bytes).code, Code::kBufferTooSmall);
  EXPECT_EQ(bytes, 12u);
  EXPECT_STREQ(text, "unchanged");
}

TEST(MemoryStore, ReadersWaitForTheWriter) {
  const OwnedStore store = create_store();
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

TEST(MemoryStore, CountersOfManyThreadsLoseNothing) {
  const OwnedStore store = create_store();
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

TEST(MemoryStore, CountersAreNumbersThatFit) {
  const OwnedStore store = create_store();
  int64_t sum = 5;
  ASSERT_TRUE(store->set("text", bytes_of("12 apples")).ok());
  EXPECT_EQ(store->add("text", 1, &sum).code, Code::kInvalidArgument);
  ASSERT_TRUE(store->add("large", INT64_MAX, &sum).ok());
  EXPECT_EQ(store->add("large", 1, &sum).code, Code::kInvalidArgument);
  EXPECT_EQ(text_at(*store, "large"), std::to_string(INT64_MAX));
}

TEST(MemoryStore, CompareSetReplacesWhatItExpects) {
  const OwnedStore store = create_store();
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

TEST(MemoryStore, RemovesKeys) {
  const OwnedStore store = create_store();
  ASSERT_TRUE(store->set("key", bytes_of("1")).ok());
  int32_t existed = -1;
  EXPECT_TRUE(store->remove("key", &existed).ok());
  EXPECT_EQ(existed, 1);
  EXPECT_TRUE(store->remove("key", &existed).ok());
  EXPECT_EQ(existed, 0);
  size_t bytes = 0;
  EXPECT_EQ(store->get("key", kMillisecond, nullptr, 0, &bytes).code, Code::kTimeout);
}

}  // namespace
}  // namespace halftone
