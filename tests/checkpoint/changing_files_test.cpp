// Another program changes files while they are read: F19, F20. Each test makes its change before every read of a load
// in turn: those that verify the checkpoint, and those that bring its tensors into memory.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/file_fixture.h"
#include "checkpoint/numbered_states.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {
namespace {

// The system's files, with an action before the `read`-th read, counted from 0.
class ChangingFiles {
 public:
  ChangingFiles(int64_t read, std::function<void()> change) : until_(read), change_(std::move(change)) {}
  ChangingFiles(const ChangingFiles&) = delete;
  ChangingFiles& operator=(const ChangingFiles&) = delete;

  const Io& io() const { return io_; }
  bool has_changed() const { return until_ < 0; }

 private:
  Io table() {
    Io io = system_io();
    io.user = this;
    io.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
      auto& self = *static_cast<ChangingFiles*>(user);
      if (self.until_-- == 0) self.change_();
      return system_io().read(nullptr, file, offset, buffer, size);
    };
    return io;
  }

  Io io_ = table();
  int64_t until_;
  std::function<void()> change_;
};

class ChangingFilesTest : public NumberedStates<FileTest> {
 protected:
  std::string tensors_of(int64_t step) const {
    return path("run/step-" + std::to_string(step) + "/rank-0-of-1.safetensors");
  }

  // There are two checkpoints. When the newer one's file changes, a load must return one of them completely, or its
  // tensors are refused when they are read. Returns how often they were refused.
  int64_t expect_one_or_the_other(const std::function<void(const std::string&)>& change) {
    int64_t fallbacks = 0, refusals = 0;
    for (int64_t read = 0; !HasFailure(); ++read) {
      std::filesystem::remove_all(path("run"));
      {
        Directory directory(system_io(), system_clock(), path("run"));
        directory.save(1, state(1));
        directory.save(2, state(2));
      }
      const ChangingFiles files(read, [&] { change(tensors_of(2)); });
      const auto loaded = Directory(files.io(), system_clock(), path("run")).load_latest(device());
      if (!loaded) {
        ADD_FAILURE() << "nothing was loaded";
        break;
      }
      fallbacks += loaded->step == 1 ? 1 : 0;
      const Code code = code_of([&] { expect_state(in_memory(loaded->state), loaded->step); });
      EXPECT_TRUE(code == Code::kOk || code == Code::kFormat);
      refusals += code == Code::kFormat ? 1 : 0;
      if (!files.has_changed()) break;
    }
    EXPECT_GT(fallbacks, 0) << "no change came early enough";
    return refusals;
  }

  StateDict one_tensor(double value) {
    StateDict state;
    state.add("a", tensor({3}, {value, value, value}));
    return state;
  }
};

TEST_F(ChangingFilesTest, F20_ACheckpointWhoseBytesChangeIsWholeOrPassedOver) {
  const int64_t refusals = expect_one_or_the_other([](const std::string& file) {
    std::string bytes = read_file(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  });
  EXPECT_GT(refusals, 0) << "no change came between the two readings";
}

TEST_F(ChangingFilesTest, F20_ACheckpointWhoseHeaderChangesIsWholeOrPassedOver) {
  const int64_t refusals = expect_one_or_the_other([](const std::string& file) {
    std::string bytes = read_file(file);
    bytes[0] = static_cast<char>(bytes[0] ^ 8);
    std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  });
  EXPECT_EQ(refusals, 0) << "the header is read once";
}

TEST_F(ChangingFilesTest, F19_ACheckpointThatShrinksIsWholeOrPassedOver) {
  const int64_t refusals =
      expect_one_or_the_other([](const std::string& file) { std::filesystem::resize_file(file, 20); });
  EXPECT_GT(refusals, 0) << "no change came between the two readings";
}

TEST_F(ChangingFilesTest, F20_AFileIsReadAsItWasWhenItWasOpened) {
  for (bool grows : {true, false}) {
    int64_t read = 0;
    for (bool has_changed = true; has_changed; ++read) {
      save_safetensors(system_io(), path("file"), one_tensor(1), {});
      save_safetensors(system_io(), path("other"), one_tensor(2), {});
      const ChangingFiles files(read, [&] {
        if (grows) {
          std::ofstream(path("file"), std::ios::binary | std::ios::app) << "more";
        } else {
          std::filesystem::rename(path("other"), path("file"));
        }
      });
      const StateDict loaded = SafetensorsFile(files.io(), path("file")).read_all(device());
      EXPECT_EQ(values(loaded.find("a")->tensor), (std::vector<double>{1, 1, 1}));
      has_changed = files.has_changed();
    }
    EXPECT_GE(read, 3) << "one read of the header's length, one of the header, one of the tensor";
  }
}

}  // namespace
}  // namespace halftone::checkpoint
