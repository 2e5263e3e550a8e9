// Checkpoints that several ranks write together: any number of them saves the same state, and a rank loads its own
// ranges without the files of the others.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/directory.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/merged_index.h"
#include "tensor/staged_load.h"

namespace halftone::checkpoint {
namespace {

// The system's files. Remembers which were read since forget().
class WatchedFiles {
 public:
  WatchedFiles() = default;
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

  const Io& io() const { return io_; }
  const std::set<std::string>& read() const { return read_; }
  void forget() { read_.clear(); }

 private:
  static WatchedFiles& self(void* user) { return *static_cast<WatchedFiles*>(user); }
  Io table() {
    Io io = system_io();
    io.user = this;
    io.open = [](void* user, const char* path, int32_t flags, uint32_t mode) -> int64_t {
      const int64_t file = system_io().open(nullptr, path, flags, mode);
      self(user).names_[file] = std::filesystem::path(path).filename();
      return file;
    };
    io.read = [](void* user, int64_t file, uint64_t offset, void* buffer, size_t size) -> int64_t {
      self(user).read_.insert(self(user).names_[file]);
      return system_io().read(nullptr, file, offset, buffer, size);
    };
    return io;
  }

  Io io_ = table();
  std::map<int64_t, std::string> names_;
  std::set<std::string> read_;
};

class RanksTest : public FileTest {
 protected:
  RanksTest() {
    std::filesystem::create_directory(path("run"));
    std::filesystem::create_directory(folder_of(1));
  }

  std::string folder_of(int64_t step) const { return path("run/step-") + std::to_string(step); }
  Directory open(const Io& io = system_io()) { return Directory(io, system_clock(), path("run")); }

  // Tensors of every element size; some have fewer elements than there are ranks, or none.
  StateDict whole_state() {
    StateDict state;
    state.add("weight", ramp({7, 301}, DType::kF32));
    state.add("half", ramp({129}, DType::kBF16));
    state.add("codes", ramp({3}, DType::kI8));
    state.add("mask", tensor({5}, {1, 0, 0, 1, 1}, DType::kBool));
    state.add("scalar", ramp({}, DType::kF64));
    state.add("empty", ramp({0, 4}, DType::kF32));
    state.add("step", int64_t{12});
    state.add("ceiling", std::numeric_limits<double>::quiet_NaN());
    return state;
  }
  Tensor ramp(const Shape& shape, DType dtype) {
    std::vector<double> numbers(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 120) - 60;
    return tensor(shape, numbers, dtype);
  }

  static Tensor range_of(const Tensor& whole, int64_t begin, int64_t end) {
    return whole.as_strided({end - begin}, {1}, begin);
  }
  static StateDict part_of(const StateDict& state, int64_t rank, int64_t ranks) {
    StateDict part;
    for (const StateTensor& entry : state.tensors()) {
      const int64_t begin = entry.numel() * rank / ranks, end = entry.numel() * (rank + 1) / ranks;
      part.add_range(entry.name, range_of(entry.tensor, begin, end), entry.shape(), begin);
    }
    for (const NamedScalar& scalar : state.scalars()) part.add(scalar.name, scalar.value);
    return part;
  }

  // The matrices are cut into rows by two and columns by three, and each such box by two ranks: twelve ranks.
  static StateDict part_of_grid(const StateDict& state, int64_t rank) {
    StateDict part;
    for (const StateTensor& entry : state.tensors()) {
      if (entry.shape().rank() < 2 || entry.numel() == 0) {
        part.add_entry(entry.name, entry);
        continue;
      }
      const Shape& shape = entry.shape();
      const int64_t column = rank / 2 % 3, row = rank / 6, half = rank % 2;
      const Shape begin = {shape[0] * row / 2, shape[1] * column / 3};
      const Shape end = {shape[0] * (row + 1) / 2, shape[1] * (column + 1) / 3};
      const auto box = std::make_shared<const Box>(
          Box{.view = shape, .begin = begin, .size = {end[0] - begin[0], end[1] - begin[1]}});
      const int64_t count = numel(box->size), first = count * half / 2, last = count * (half + 1) / 2;
      const Tensor cell =
          contiguous(entry.tensor.as_strided(box->size, contiguous_strides(shape), begin[0] * shape[1] + begin[1]));
      part.add_part(entry.name, range_of(cell, first, last), {.global_shape = shape, .offset = first, .box = box});
    }
    for (const NamedScalar& scalar : state.scalars()) part.add(scalar.name, scalar.value);
    return part;
  }

  void publish_grid(const StateDict& state) {
    std::vector<Index> held;
    for (int64_t rank = 0; rank < 12; ++rank) {
      const SaveRank save = {.step = 1, .save_id = "one save", .rank = rank, .world_size = 12};
      held.push_back(write_tensors(system_io(), folder_of(1), save, part_of_grid(state, rank)));
    }
    // Tensors that are not cut are in twelve files; the plan of a save would have left them to the first.
    for (size_t rank = 1; rank < held.size(); ++rank) {
      std::erase_if(held[rank].tensors,
                    [](const IndexTensor& tensor) { return tensor.shape.rank() < 2 || numel(tensor.shape) == 0; });
    }
    write_index(system_io(), folder_of(1), merged(std::move(held)));
  }

  std::vector<Index> write_ranks(const StateDict& state, int64_t ranks) {
    std::vector<Index> indexes;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const SaveRank save = {.step = 1, .save_id = "one save", .rank = rank, .world_size = ranks};
      indexes.push_back(write_tensors(system_io(), folder_of(1), save, part_of(state, rank, ranks)));
    }
    return indexes;
  }
  void publish(const StateDict& state, int64_t ranks) {
    write_index(system_io(), folder_of(1), merged(write_ranks(state, ranks)));
  }

  static std::string bytes_of(const Tensor& tensor) {
    if (tensor.numel() == 0) return {};
    return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.numel()) * size_of(tensor.dtype())};
  }
  static void expect_equal(const StateDict& loaded, const StateDict& expected) {
    ASSERT_EQ(loaded.tensors().size(), expected.tensors().size());
    for (size_t i = 0; i < expected.tensors().size(); ++i) {
      const StateTensor &a = loaded.tensors()[i], &b = expected.tensors()[i];
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.dtype(), b.dtype()) << a.name;
      EXPECT_EQ(a.shape(), b.shape()) << a.name;
      EXPECT_EQ(bytes_of(in_memory(a)), bytes_of(b.tensor)) << a.name;
    }
    ASSERT_EQ(loaded.scalars().size(), expected.scalars().size());
    EXPECT_EQ(std::get<int64_t>(*loaded.find_scalar("step")), 12);
  }

  // The message of the error that a merge of these two indexes ends with.
  std::string merge_error(Index first, Index second) {
    try {
      merged({std::move(first), std::move(second)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFormat);
      return error.what();
    }
    return "";
  }
};

TEST_F(RanksTest, F24_AnyNumberOfRanksSavesTheSameBits) {
  const StateDict state = whole_state();
  for (const int64_t ranks : {1, 2, 4, 8}) {
    SCOPED_TRACE(ranks);
    std::filesystem::remove_all(folder_of(1));
    std::filesystem::create_directory(folder_of(1));
    publish(state, ranks);
    Directory directory = open();
    directory.verify(1);
    const auto loaded = directory.load_latest(device());
    ASSERT_TRUE(loaded);
    expect_equal(loaded->state, state);
  }
}

TEST_F(RanksTest, ARangeIsReadFromThePartsThatOverlapIt) {
  const StateDict state = whole_state();
  const Tensor& weight = state.find("weight")->tensor;
  publish(state, 4);
  WatchedFiles files;
  Directory directory = open(files.io());
  const auto loaded = directory.load_latest(device());
  ASSERT_TRUE(loaded);
  const int64_t count = weight.numel();
  // The range of a rank of four; a range within it; one that begins in the second part and ends in the third.
  const struct {
    int64_t begin, end;
    std::set<std::string> files;
  } ranges[] = {{count / 4, count / 2, {"rank-1-of-4.safetensors"}},
                {count / 4 + 5, count / 4 + 9, {"rank-1-of-4.safetensors"}},
                {count / 2 - 3, count / 2 + 4, {"rank-1-of-4.safetensors", "rank-2-of-4.safetensors"}},
                {5, 5, {}}};
  for (const auto& range : ranges) {
    StateDict own;
    own.add_range("weight", empty(device(), DType::kF32, {range.end - range.begin}), weight.shape(), range.begin);
    StagedLoad load = stage_copy(own, loaded->state);
    load.prepare();
    files.forget();
    load.commit();
    EXPECT_EQ(files.read(), range.files);
    EXPECT_EQ(bytes_of(own.tensors()[0].tensor), bytes_of(range_of(weight, range.begin, range.end)));
  }
}

// A part of several pieces, and a range that begins and ends within pieces.
TEST_F(RanksTest, ARangeOfALargePartIsReadPieceByPiece) {
  constexpr int64_t kCount = 1'500'000;
  StateDict state;
  state.add("weight", ramp({kCount}, DType::kF32));
  publish(state, 2);
  Directory directory = open();
  const auto loaded = directory.load_latest(device());
  ASSERT_TRUE(loaded);
  StateDict own;
  own.add_range("weight", empty(device(), DType::kF32, {1'000'000}), {kCount}, 123'457);
  stage_copy(own, loaded->state)();
  EXPECT_TRUE(bytes_of(own.tensors()[0].tensor) == bytes_of(range_of(state.tensors()[0].tensor, 123'457, 1'123'457)));
  EXPECT_TRUE(bytes_of(in_memory(loaded->state.tensors()[0])) == bytes_of(state.tensors()[0].tensor));
}

// Boxes are read whole, as ranges, and as other boxes; ranges are read as boxes. Parts that have none of the elements
// are not read.
TEST_F(RanksTest, BoxesAndRangesAreReadFromEachOther) {
  StateDict state = whole_state();
  state.add("large", ramp({1200, 900}, DType::kF32));  // its parts have several pieces
  for (const bool is_grid : {true, false}) {
    SCOPED_TRACE(is_grid);
    std::filesystem::remove_all(folder_of(1));
    std::filesystem::create_directory(folder_of(1));
    is_grid ? publish_grid(state) : publish(state, 3);
    WatchedFiles files;
    Directory directory = open(files.io());
    directory.verify(1);
    const auto loaded = directory.load_latest(device());
    ASSERT_TRUE(loaded);
    expect_equal(loaded->state, state);
    for (int64_t rank = 0; rank < 12; ++rank) {
      const StateDict expected = part_of_grid(state, rank);
      StateDict own;
      for (const StateTensor& entry : expected.tensors()) {
        const Tensor live = empty(device(), entry.dtype(), entry.shape());
        entry.range ? own.add_part(entry.name, live, *entry.range) : own.add(entry.name, live);
      }
      StagedLoad load = stage_copy(own, loaded->state);
      load.prepare();
      files.forget();
      load.commit();
      if (is_grid) {
        EXPECT_LE(files.read().size(), 2u);  // its own, and the first one's for uncut tensors
      }
      for (size_t i = 0; i < own.tensors().size(); ++i) {
        EXPECT_TRUE(bytes_of(own.tensors()[i].tensor) == bytes_of(contiguous(expected.tensors()[i].tensor)))
            << own.tensors()[i].name;
      }
    }
    StateDict other;
    const auto box = std::make_shared<const Box>(Box{.view = {1200, 900}, .begin = {599, 299}, .size = {3, 302}});
    const Tensor live = empty(device(), DType::kF32, {3, 302});
    other.add_part("large", live, {.global_shape = {1200, 900}, .box = box});
    stage_copy(other, loaded->state)();
    const Tensor cut = state.find("large")->tensor.as_strided({3, 302}, {900, 1}, 599 * 900 + 299);
    EXPECT_TRUE(bytes_of(live) == bytes_of(contiguous(cut)));
  }
}

TEST_F(RanksTest, AnIndexWithBoxesHasAVersionThatOlderLibrariesRefuse) {
  const auto text_of_index = [&] { return read_file(folder_of(1) + "/" + kIndexName); };
  publish(whole_state(), 2);
  EXPECT_NE(text_of_index().find("\"version\":1,"), std::string::npos);
  publish_grid(whole_state());
  EXPECT_NE(text_of_index().find("\"version\":2,"), std::string::npos);
}

TEST_F(RanksTest, AMergeTellsWhatRanksDoNotAgreeOn) {
  const std::vector<Index> ranks = write_ranks(whole_state(), 2);
  EXPECT_EQ(merge_error(ranks[0], ranks[1]), "");
  Index other = ranks[1];
  other.tensors[0].parts[0].begin += 2;
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight: no rank has elements 1053 to 1055");
  other = ranks[1];
  other.tensors[0].parts[0].begin -= 1;
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight: two ranks have elements 1052 to 1053");
  other = ranks[1];
  other.tensors[0].parts[0].end -= 1;
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight: no rank has elements 2106 to 2107");
  other = ranks[1];
  other.tensors[0].parts[0].end += 1;
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight: a rank has elements up to 2108 of [7, 301]");
  other = ranks[1];
  other.tensors.erase(other.tensors.begin());
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight: no rank has elements 1053 to 2107");
  other = ranks[1];
  other.tensors[0].dtype = DType::kI32;
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight is f32 [7, 301] on one rank and i32 [7, 301] on another");
  other = ranks[1];
  other.tensors[0].shape = {301, 7};
  EXPECT_EQ(merge_error(ranks[0], other), "tensor weight is f32 [7, 301] on one rank and f32 [301, 7] on another");
  other = ranks[1];
  other.scalars[0].value = int64_t{13};
  EXPECT_EQ(merge_error(ranks[0], other), "step differs between ranks");
  other = ranks[1];
  other.scalars[0].name = "weight";
  EXPECT_EQ(merge_error(ranks[0], other), "weight is a tensor on one rank and a scalar on another");
  other = ranks[1];
  other.save_id = "another";
  EXPECT_EQ(merge_error(ranks[0], other), "rank 1 of 2 wrote a file for another save");
  EXPECT_EQ(merge_error(ranks[1], ranks[0]), "rank 0 of 2 wrote a file for another save");
}

// Ranks may hold the ranges of a tensor in any order.
TEST_F(RanksTest, RangesNeedNotAscendWithTheRanks) {
  const StateDict state = whole_state();
  std::vector<Index> indexes;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const SaveRank save = {.step = 1, .save_id = "one save", .rank = rank, .world_size = 3};
    indexes.push_back(write_tensors(system_io(), folder_of(1), save, part_of(state, (rank + 1) % 3, 3)));
  }
  write_index(system_io(), folder_of(1), merged(std::move(indexes)));
  Directory directory = open();
  directory.verify(1);
  expect_equal(directory.load_step(1, device()), state);
}

// A bit is flipped in each byte of the tensors in turn. One share of each division finds it, and no other.
TEST_F(RanksTest, EveryByteBelongsToOneShare) {
  publish(whole_state(), 4);
  for (const int64_t file : {0, 3}) {
    const std::string path = folder_of(1) + "/" + file_name(file, 4);
    const std::string bytes = read_file(path);
    const uint64_t begin = SafetensorsFile(system_io(), path).header().data_begin;
    for (size_t at = begin; at < bytes.size(); at += 97) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      write_file(path, damaged);
      for (const int64_t world_size : {1, 2, 3, 8, 100}) {
        int64_t found = 0;
        for (int64_t rank = 0; rank < world_size; ++rank) {
          const Share share = {.rank = rank, .world_size = world_size};
          found += code_of([&] { OpenCheckpoint(system_io(), folder_of(1), 1).verify(share); }) == Code::kFormat;
        }
        EXPECT_EQ(found, 1) << "byte " << at << " of file " << file << ", " << world_size << " shares";
      }
    }
    write_file(path, bytes);
  }
}

TEST_F(RanksTest, ASaveThatIsNotFinishedLeavesNothing) {
  Directory directory = open();
  directory.save(1, whole_state());
  {
    const auto save = directory.begin_save(2, 3);
    for (int64_t rank = 0; rank < 3; ++rank) {
      const SaveRank own = {.step = 2, .save_id = save->id(), .rank = rank, .world_size = 3};
      directory.write_rank(own, part_of(whole_state(), rank, 3));
    }
    EXPECT_EQ(directory.load_latest(device())->step, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_of(2)));
  directory.save(2, whole_state());
}

// The ranges of one rank alone would make a checkpoint that cannot be loaded.
TEST_F(RanksTest, ADirectoryPublishesNoPartOfATensor) {
  Directory directory = open();
  directory.save(1, whole_state());
  EXPECT_EQ(code_of([&] { directory.save(2, part_of(whole_state(), 0, 2)); }), Code::kFormat);
  EXPECT_FALSE(std::filesystem::exists(folder_of(2)));
  EXPECT_EQ(directory.load_latest(device())->step, 1);
}

TEST_F(RanksTest, ASaveRemovesWhatRanksOfAFailedOneLeft) {
  write_ranks(whole_state(), 8);
  write_file(folder_of(1) + "/rank-3-of-8.safetensors.tmp", "half a file");
  Directory directory = open();
  EXPECT_FALSE(directory.load_latest(device()));
  directory.save(1, whole_state());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(1))) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"index.json", "rank-0-of-1.safetensors"}));
}

TEST_F(RanksTest, TheFilesOfEveryRankAreListedForRemoval) {
  write_ranks(whole_state(), 4);
  write_file(folder_of(1) + "/rank-2-of-4.safetensors.tmp", "half a file");
  for (const std::string& leftover : paths_in(folder_of(1), 4)) std::filesystem::remove(leftover);
  EXPECT_FALSE(std::filesystem::exists(folder_of(1)));
}

TEST_F(RanksTest, AnOldCheckpointGoesWithTheFilesOfAllItsRanks) {
  publish(whole_state(), 4);
  Directory directory = open();
  for (const int64_t step : {2, 3}) directory.save(step, whole_state());
  EXPECT_FALSE(std::filesystem::exists(folder_of(1)));
}

}  // namespace
}  // namespace halftone::checkpoint
