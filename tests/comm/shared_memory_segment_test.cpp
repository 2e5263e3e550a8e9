// The memory that a rank shares: others can read all of it and nothing else, whatever its owner writes.
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "comm/shared_memory/bell.h"
#include "comm/shared_memory/data_area.h"
#include "host_tensor.h"
#include "shared_memory_ranks.h"

namespace halftone {
namespace {

constexpr int64_t kLong = 60'000 * kMillisecond;

Segment open_again(const Segment& segment, int ranks) {
  const std::string path = "/proc/self/fd/" + std::to_string(segment.file().get());
  return Segment::open(Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC)), ranks);
}

TEST(SharedMemorySegment, OthersSeeTheWordsAndTheData) {
  const Segment own = Segment::create(3, 2 * kPageBytes);
  Segment other = open_again(own, 3);
  EXPECT_EQ(other.control().nonce, own.control().nonce);
  EXPECT_NE(own.control().nonce, Segment::create(3, kPageBytes).control().nonce);
  own.inbox(2).released.store(7);
  EXPECT_EQ(other.inbox(2).released.load(), 7u);
  std::memcpy(own.data() + 64, "text", 5);
  EXPECT_STREQ(reinterpret_cast<const char*>(other.find(64, 5)), "text");
}

TEST(SharedMemorySegment, FindsNothingOutsideTheData) {
  const Segment own = Segment::create(2, 2 * kPageBytes);
  Segment other = open_again(own, 2);
  EXPECT_NE(other.find(0, 2 * kPageBytes), nullptr);
  EXPECT_NE(other.find(kPageBytes, kPageBytes), nullptr);
  for (const auto& [offset, bytes] : {std::pair<uint64_t, uint64_t>{0, 2 * kPageBytes + 1},
                                      {kPageBytes, kPageBytes + 1},
                                      {2 * kPageBytes, 1},
                                      {UINT64_MAX - 63, 64},
                                      {64, UINT64_MAX},
                                      {64, UINT64_MAX - 63},
                                      {1, 8}}) {
    EXPECT_EQ(other.find(offset, bytes), nullptr) << offset << " " << bytes;
  }
}

TEST(SharedMemorySegment, OthersFindWhatItGrowsByAndItNeverShrinks) {
  Segment own = Segment::create(2, kPageBytes);
  Segment other = open_again(own, 2);
  EXPECT_EQ(other.find(kPageBytes, 4), nullptr);
  ASSERT_TRUE(own.grow(3 * kPageBytes).ok());
  std::memcpy(own.data() + kPageBytes, "new", 4);
  EXPECT_STREQ(reinterpret_cast<const char*>(other.find(kPageBytes, 4)), "new");
  EXPECT_NE(other.find(3 * kPageBytes, kPageBytes), nullptr);
  EXPECT_EQ(ftruncate(own.file().get(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemorySegment, AFileThatCouldShrinkIsRefused) {
  const TemporaryFolder folder;
  Descriptor file(open(folder.path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(ftruncate(file.get(), 1 << 20), 0);
  EXPECT_THROW(Segment::open(std::move(file), 2), Error);
}

TEST(SharedMemoryDataArea, MessagesDoNotOverlapAndHalvesTakeTurns) {
  const size_t half = DataArea::half_bytes(10'000, 4);
  Segment segment = Segment::create(2, DataArea::kHalves * half);
  DataArea area(segment, half);
  const std::string text(2'500, 'x');
  std::vector<uint64_t> offsets(8);
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (i == 4) area.use_half(1);
    ASSERT_TRUE(area.put(text.data(), text.size(), &offsets[i]).ok());
    EXPECT_EQ(offsets[i] % kCacheLine, 0u);
    for (size_t j = 0; j < i; ++j) EXPECT_GE(offsets[i], offsets[j] + text.size());
  }
  EXPECT_EQ(segment.data_bytes(), DataArea::kHalves * half) << "both halves had room";
  uint64_t again = 0;
  area.use_half(0);
  ASSERT_TRUE(area.put(text.data(), text.size(), &again).ok());
  EXPECT_EQ(again, offsets[0]);
}

TEST(SharedMemoryDataArea, BlocksOfLargeMessagesAreUsedAgain) {
  const size_t half = DataArea::half_bytes(10'000, 2);
  Segment segment = Segment::create(2, DataArea::kHalves * half);
  DataArea area(segment, half);
  const std::string large(3'000'000, 'x');
  size_t bytes = 0;
  for (int round = 0; round < 20; ++round) {
    uint64_t first = 0;
    uint64_t second = 0;
    ASSERT_TRUE(area.put(large.data(), large.size(), &first).ok());
    ASSERT_TRUE(area.put(large.data(), large.size() - 1, &second).ok());
    EXPECT_GE(std::max(first, second) - std::min(first, second), large.size());
    area.use_half(round % 2);
    if (round == 4) bytes = segment.data_bytes();
  }
  EXPECT_EQ(segment.data_bytes(), bytes);
}

TEST(SharedMemoryBell, ARingBeforeTheSleepIsNotMissed) {
  const Segment segment = Segment::create(2, kPageBytes);
  const uint32_t heard = listen(segment.control());
  EXPECT_FALSE(sleep(segment.control(), heard, std::chrono::milliseconds(1))) << "no rank rang";
  ring(segment.control());
  EXPECT_TRUE(sleep(segment.control(), heard, std::chrono::seconds(60)));
  const uint32_t again = listen(segment.control());
  std::thread ringer([&] {
    while (segment.control().is_asleep.load() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ring(segment.control());
  });
  EXPECT_TRUE(sleep(segment.control(), again, std::chrono::seconds(60)));
  ringer.join();
}

// The segments of this process's ranks, as another rank would open them.
std::vector<Segment> segments_of_this_process(int ranks) {
  std::vector<Segment> segments;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (target.find("memfd:halftone") == std::string::npos) continue;
    segments.push_back(Segment::open(Descriptor(open(entry.path().c_str(), O_RDWR | O_CLOEXEC)), ranks));
  }
  return segments;
}

// Rank 1 sends, `damage` changes the envelope in its segment, and rank 0 receives.
template <class Damage>
void expect_damage_is_noticed(Damage&& damage, const char* text = "rank 1 sent a message that is damaged") {
  std::atomic<bool> is_damaged{false};
  run_shared_threads(
      2,
      [&](Rank& rank) {
        HostTensor data(DType::kF32, {100});
        if (rank.number() == 1) {
          EXPECT_TRUE(result_of([&](Work** w) { return rank.group->send({}, 0, data.view(), w); }).ok());
          std::vector<Segment> segments = segments_of_this_process(2);  // each as often as it is open
          const auto sender = std::find_if(segments.begin(), segments.end(),
                                           [](const Segment& segment) { return segment.outbox(0).sent.load() == 1; });
          EXPECT_NE(sender, segments.end());
          damage(sender->outbox(0).envelopes[0]);
          is_damaged = true;
          while (is_damaged) std::this_thread::yield();
          return;
        }
        while (!is_damaged) std::this_thread::yield();
        const Status status = result_of([&](Work** w) { return rank.group->receive({}, 1, data.view(), w); });
        EXPECT_EQ(status.code, Code::kComm) << status.message;
        EXPECT_TRUE(says(status, text)) << status.message;
        is_damaged = false;
      },
      kLong);
}

TEST(SharedMemorySegment, DamagedMessagesAreErrors) {
  expect_damage_is_noticed([](Envelope& envelope) { envelope.offset = uint64_t{1} << 62; });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.offset += 4; });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.bytes = uint64_t{1} << 40; });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.bytes -= 4; }, "rank 1 sent 396 bytes in receive");
  expect_damage_is_noticed([](Envelope& envelope) { envelope.bytes = UINT64_MAX; });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.header.operation = static_cast<Operation>(99); });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.header.operation = static_cast<Operation>(-1); });
  expect_damage_is_noticed([](Envelope& envelope) { envelope.header.dtype = static_cast<DType>(99); });
  expect_damage_is_noticed([](Envelope& envelope) {
    envelope.header.operation = Operation::kAllReduce;
    envelope.header.argument = 1 << 20;
  });
}

}  // namespace
}  // namespace halftone
