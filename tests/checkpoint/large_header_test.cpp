// P6: a header of 100 MB that describes a million tensors takes at most 2 s of the processor, and 1.1 times the file
// and 64 MiB of memory. A process of its own reads it, so that its peak is nobody else's.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "checkpoint/file_fixture.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {
namespace {

constexpr uint64_t kTensors = 1'000'000;

class LargeHeaderTest : public FileTest {
 protected:
  // Entry i with what stands in front of it: one number in four bytes.
  static std::string entry(uint64_t i) {
    char text[160];
    const auto number = static_cast<unsigned long long>(i);
    std::snprintf(
        text, sizeof text,
        "%c\"layer.%07llu.weight.of.some.length\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%llu,%llu]}",
        i == 0 ? '{' : ',', number, 4 * number, 4 * number + 4);
    return text;
  }

  // Piece by piece, so that this process stays small. Answers the size.
  uint64_t write_large_file() {
    std::ofstream file(path("large"), std::ios::binary);
    for (int i = 0; i < 8; ++i) file.put(static_cast<char>(kMaxHeaderBytes >> (8 * i)));
    uint64_t length = 0;
    for (uint64_t i = 0; i < kTensors; ++i) {
      const std::string text = entry(i);
      file << text;
      length += text.size();
    }
    file << "}" << std::string(kMaxHeaderBytes - length - 1, ' ');
    const std::string piece(4096, '\1');
    for (uint64_t left = 4 * kTensors; left > 0; left -= std::min<uint64_t>(left, piece.size())) {
      file.write(piece.data(), static_cast<std::streamsize>(std::min<uint64_t>(left, piece.size())));
    }
    return 8 + kMaxHeaderBytes + 4 * kTensors;
  }

  int read_header() {
    try {
      const SafetensorsFile file(system_io(), path("large"));
      const TensorEntry* last = file.header().find("layer.0999999.weight.of.some.length");
      return file.header().tensors.size() == kTensors && last != nullptr && last->end == 4 * kTensors ? 0 : 1;
    } catch (const Error&) {
      return 2;
    }
  }
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

TEST_F(LargeHeaderTest, P6_AMillionTensorsInAHeaderOf100MegabytesAreReadInBoundedTimeAndMemory) {
  const uint64_t size = write_large_file();
  const pid_t child = fork();
  if (child == 0) _exit(read_header());
  int status = -1;
  rusage used;
  ASSERT_EQ(wait4(child, &status, 0, &used), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes time and memory of its own";
#endif
  EXPECT_LE(seconds(used.ru_utime) + seconds(used.ru_stime), 2);
  EXPECT_LE(static_cast<double>(used.ru_maxrss) * 1024, 1.1 * static_cast<double>(size) + (64 << 20));
}

}  // namespace
}  // namespace halftone::checkpoint
