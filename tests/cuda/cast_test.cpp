// Casts from FP32 on the CUDA device give the CPU's bits: for all 2^32 inputs on a GPU, for a sample on the emulation.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backend/kernels/kernels.h"
#include "core/type_list.h"
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr int64_t kInputs = int64_t{1} << 32;
constexpr DType kResults[] = {DType::kF64, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2, DType::kI64,
                              DType::kI32, DType::kI16, DType::kI8,   DType::kU8,     DType::kBool};

// Inputs of one round: the words begin + step * i.
struct Round {
  int64_t begin;
  int64_t step;
  int64_t count;
};

template <class T>
bool is_same(T a, T b) {
  if (std::memcmp(&a, &b, sizeof a) == 0) return true;
  if constexpr (std::is_class_v<T> || std::is_floating_point_v<T>) {
    return std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b));
  }
  return false;
}

template <class T>
int64_t first_difference(const T* actual, const T* expected, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (!is_same(actual[i], expected[i])) return i;
  }
  return -1;
}

// The first element that differs, or -1, by all threads of the machine.
int64_t difference(DType dtype, const void* actual, const void* expected, int64_t count) {
  const auto workers = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<int64_t> found(static_cast<size_t>(workers), -1);
  std::vector<std::thread> threads;
  for (int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
        found[static_cast<size_t>(w)] = first_difference(static_cast<const T*>(actual), static_cast<const T*>(expected),
                                                         count * w / workers, count * (w + 1) / workers);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t place : found) {
    if (place >= 0) return place;
  }
  return -1;
}

// Memory of a device, and page-locked memory for the way to it: 8 bytes for each element.
class Buffers {
 public:
  Buffers(Device& device, int64_t count) : device_(device), bytes_(static_cast<size_t>(count) * 8) {
    EXPECT_TRUE(device.allocate(bytes_, &words_).ok() && device.allocate(bytes_, &result_).ok());
    EXPECT_TRUE(device.allocate_pinned(bytes_, &host_words_).ok() && device.allocate_pinned(bytes_, &host_).ok());
  }
  ~Buffers() {
    device_.deallocate(words_, bytes_);
    device_.deallocate(result_, bytes_);
    device_.deallocate_pinned(host_words_, bytes_);
    device_.deallocate_pinned(host_, bytes_);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  uint32_t* words() const { return static_cast<uint32_t*>(host_words_); }
  Status send(int64_t count) {
    return device_.copy_from_host(device_.stream(), words_, host_words_, static_cast<size_t>(count) * 4);
  }
  // Casts on the device and returns the result in host memory.
  const void* cast(DType dtype, int64_t count) {
    const View in = {words_, DType::kF32, {count}, {1}};
    const View out = {result_, dtype, {count}, {1}};
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    EXPECT_TRUE(device_.kernels().convert.cast(device_.stream(), in, out).ok());
    EXPECT_TRUE(device_.copy_to_host(device_.stream(), host_, result_, bytes).ok());
    EXPECT_TRUE(device_.stream().synchronize().ok());
    return host_;
  }

 private:
  Device& device_;
  const size_t bytes_;
  void* words_ = nullptr;
  void* result_ = nullptr;
  void* host_words_ = nullptr;
  void* host_ = nullptr;
};

class CastOnCuda : public RoomTest {
 protected:
  static void check(const Round& round, Device& cpu, Buffers& there, std::vector<uint64_t>& expected) {
    for (int64_t i = 0; i < round.count; ++i) there.words()[i] = static_cast<uint32_t>(round.begin + round.step * i);
    ASSERT_TRUE(there.send(round.count).ok());
    for (const DType dtype : kResults) {
      const View in = {there.words(), DType::kF32, {round.count}, {1}};
      const View out = {expected.data(), dtype, {round.count}, {1}};
      ASSERT_TRUE(cpu.kernels().convert.cast(cpu.stream(), in, out).ok());
      const int64_t place = difference(dtype, there.cast(dtype, round.count), expected.data(), round.count);
      ASSERT_EQ(place, -1) << "f32 -> " << name_of(dtype) << " of the word "
                           << static_cast<uint32_t>(round.begin + round.step * place);
    }
  }
};

TEST_F(CastOnCuda, HasTheBitsOfTheCpuForEveryFp32) {
  const Ref<Context> wide = make_ref<Context>(ContextOptions{});
  Device& cpu = *wide->device("cpu").device;
  const int64_t count = is_emulated() ? 1 << 12 : 1 << 24;
  // An odd step meets every exponent and all kinds of ends; on a GPU there is no gap.
  const int64_t step = is_emulated() ? (1 << 16) + 1 : 1;
  Buffers there(*cuda_device(*wide).device, count);
  std::vector<uint64_t> expected(static_cast<size_t>(count));
  for (int64_t begin = 0; begin < kInputs && !HasFailure(); begin += step * count) {
    check({begin, step, count}, cpu, there, expected);
  }
}

}  // namespace
}  // namespace halftone
