// A parser reads a range of a file as if it were in memory, and its checksum is that of the bytes.
#include "checkpoint/file_text.h"

#include <string>

#include "checkpoint/file_fixture.h"

namespace halftone::checkpoint {
namespace {

class FileTextTest : public FileTest {};

std::string read(FileText& text) {
  std::string bytes;
  for (; text.current() != ByteSource::kEnd; text.advance()) bytes += static_cast<char>(text.current());
  return bytes;
}

// The buffer holds 8192 bytes.
TEST_F(FileTextTest, GivesEveryByteOfTheRangeWhereverTheBufferEnds) {
  std::string bytes(3 * 8192, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 251 >> 3);
  write_file(path("text"), bytes);
  const File file = File::open(system_io(), path("text"));
  for (const size_t size : {0, 1, 8191, 8192, 8193, 16384, 20000}) {
    FileText text(file, 5, size);
    EXPECT_EQ(read(text), bytes.substr(5, size)) << size;
    EXPECT_EQ(text.position(), 5 + size) << size;
    EXPECT_EQ(text.checksum(), checksum(bytes.data() + 5, size)) << size;
  }
}

}  // namespace
}  // namespace halftone::checkpoint
