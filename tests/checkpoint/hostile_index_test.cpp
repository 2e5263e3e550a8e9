// Index files with a valid checksum that no save has written. An attacker uses them to exhaust memory or to make a load
// stop half-way.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/directory.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/numbered_states.h"

namespace halftone::checkpoint {
namespace {

class HostileIndexTest : public NumberedStates<FileTest> {
 protected:
  HostileIndexTest() : directory_(system_io(), system_clock(), path("run")) { directory_.save(1, state(1)); }

  // The error code of a load after the index was changed and given a valid checksum.
  template <class Change>
  Code code_of_index(Change&& change) {
    const std::string folder = path("run/step-1");
    const Index original = read_index(system_io(), folder + "/" + kIndexName);
    Index index = original;
    change(index);
    write_index(system_io(), folder, index);
    const Code code = code_of([&] { directory_.load_latest(device()); });
    EXPECT_EQ(code_of([&] { directory_.verify(1); }), code);
    write_index(system_io(), folder, original);
    return code;
  }

 private:
  Directory directory_;
};

TEST_F(HostileIndexTest, F27_ANameThatStandsTwiceIsRefused) {
  EXPECT_EQ(code_of_index([](Index& index) { index.tensors.push_back(index.tensors[0]); }), Code::kFormat);
}

TEST_F(HostileIndexTest, F27_AScalarWithTheNameOfATensorIsRefused) {
  EXPECT_EQ(code_of_index([](Index& index) { index.scalars[0].name = index.tensors[0].name; }), Code::kFormat);
}

TEST_F(HostileIndexTest, F27_AnEmptyNameIsRefused) {
  EXPECT_EQ(code_of_index([](Index& index) { index.scalars[0].name = ""; }), Code::kFormat);
}

// 2^59 bytes, more than the file has.
TEST_F(HostileIndexTest, F27_ATensorLargerThanItsFileIsRefusedBeforeMemoryIsTaken) {
  EXPECT_EQ(code_of_index([](Index& index) {
              index.tensors[0].shape = {int64_t{1} << 57};
              index.tensors[0].parts[0].end = int64_t{1} << 57;
            }),
            Code::kFormat);
}

// Boxes that are none of the tensor's, that overlap, or whose numbers overflow.
TEST_F(HostileIndexTest, F27_ABoxThatDoesNotFitIsRefused) {
  const Box boxes[] = {{{2, 3}, {0, 1}, {2, 3}},
                       {{2, 4}, {0, 0}, {2, 3}},
                       {{2}, {0}, {2}},
                       {{2, 3}, {0, 0}, {2, 2}},
                       {{2, 3}, {1, int64_t{1} << 62}, {1, int64_t{1} << 62}}};
  for (const Box& box : boxes) {
    EXPECT_EQ(code_of_index([&](Index& index) { index.tensors[0].parts[0].box = std::make_shared<const Box>(box); }),
              Code::kFormat);
  }
  EXPECT_EQ(code_of_index([&](Index& index) {
              index.tensors[0].parts[0].box = std::make_shared<const Box>(Box{{2, 3}, {0, 0}, {2, 3}});
            }),
            Code::kOk);
}

// Every part is valid by itself.
TEST_F(HostileIndexTest, F27_AFileThatHoldsATensorAgainAndAgainIsRefused) {
  EXPECT_EQ(
      code_of_index([](Index& index) {
        IndexTensor& tensor = index.tensors[0];
        const TensorPart first = tensor.parts[0];
        const int64_t count = first.end;
        for (int64_t i = 1; i < 1000; ++i) {
          tensor.parts.push_back({.file = 0, .begin = i * count, .end = (i + 1) * count, .checksum = first.checksum});
        }
        tensor.shape = {1000 * count};
      }),
      Code::kFormat);
}

}  // namespace
}  // namespace halftone::checkpoint
