// Loads in stages: what is checked before, where elements go, and how much memory a commit needs.
#include "tensor/staged_load.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "deferred_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

// Reads from a contiguous tensor of the CPU, as a file's reader would.
class CopyReader final : public StateReader {
 public:
  explicit CopyReader(Tensor source) : source_(std::move(source)) {}

  DType dtype() const noexcept override { return source_.dtype(); }
  const Shape& shape() const noexcept override { return source_.shape(); }
  ContextDevice& device() const noexcept override { return source_.device(); }
  void read(int64_t begin, const Tensor& target) const override {
    if (is_broken_) fail(Code::kIo, "", "the disk is gone");
    const size_t size = size_of(dtype());
    if (target.numel() == 0) return;
    std::memcpy(target.data(), static_cast<const char*>(source_.data()) + static_cast<size_t>(begin) * size,
                static_cast<size_t>(target.numel()) * size);
  }
  void break_disk() { is_broken_ = true; }

 private:
  Tensor source_;
  bool is_broken_ = false;
};

class StagedLoadTest : public RoomTest {
 protected:
  StateTensor entry(const Shape& shape, const std::vector<double>& numbers, DType dtype = DType::kF32) {
    return {.name = "a", .reader = make_ref<CopyReader>(tensor(shape, numbers, dtype))};
  }
  StateTensor ones(int64_t count, DType dtype = DType::kF32) {
    return entry({count}, std::vector<double>(static_cast<size_t>(count), 1.0), dtype);
  }
  Tensor zeros(ContextDevice& where, const Shape& shape, DType dtype = DType::kF32) {
    return full(where, dtype, shape, 0.0);
  }
  // The bytes that prepare() and commit() take at most, beyond those that are in use already.
  static int64_t extra_bytes(ContextDevice& where, StagedLoad& load) {
    where.allocator->reset_peak();
    const int64_t before = where.allocator->stats().current;
    load();
    return where.allocator->stats().peak - before;
  }
  static StateDict dict(const StateTensor& entry) {
    StateDict state;
    state.add_entry(entry.name, entry);
    return state;
  }
  static StateDict range(const Tensor& live, const Shape& global_shape, int64_t offset) {
    StateDict state;
    state.add_range("a", live, global_shape, offset);
    return state;
  }
  static std::string error_of(const StateDict& targets, const StateDict& values) {
    try {
      stage_copy(targets, values);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFormat);
      return error.what();
    }
    return "";
  }
};

TEST_F(StagedLoadTest, ElementsGoStraightToMemoryThatTakesThemAsTheyAre) {
  const Tensor live = zeros(device(), {2, 3});
  const uint64_t version = live.version();
  StagedLoad load;
  int calls = 0;
  load.add_read(entry({2, 3}, {1, 2, 3, 4, 5, 6}), 0, live, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(extra_bytes(device(), load), 0);
  EXPECT_EQ(values(live), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_GT(live.version(), version);
  EXPECT_EQ(calls, 1);
}

TEST_F(StagedLoadTest, OtherDtypesAndLayoutsGoThroughMemoryForTheLargestOfThem) {
  const Tensor narrow = zeros(device(), {100}, DType::kBF16), wide = zeros(device(), {40}, DType::kF64);
  const Tensor columns = zeros(device(), {3, 2});
  StagedLoad load;
  load.add_read(ones(100), 0, narrow);
  load.add_read(ones(40), 0, wide);
  load.add_read(entry({2, 3}, {1, 2, 3, 4, 5, 6}), 0, columns.as_strided({2, 3}, {1, 2}, 0));
  EXPECT_EQ(extra_bytes(device(), load), 400);
  EXPECT_EQ(values(narrow), std::vector<double>(100, 1.0));
  EXPECT_EQ(values(wide), std::vector<double>(40, 1.0));
  EXPECT_EQ(values(columns), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST_F(StagedLoadTest, ADeviceThatTheHostDoesNotAccessGetsOneTensorAfterTheOther) {
  ContextDevice& there = deferred_device(context());
  std::vector<Tensor> live;
  StagedLoad load;
  for (const int64_t count : {30, 100, 50}) {
    live.push_back(zeros(there, {count}));
    load.add_read(ones(count), 0, live.back());
  }
  there.allocator->reset_peak();
  const int64_t before = there.allocator->stats().current;
  EXPECT_EQ(extra_bytes(device(), load), 400);
  EXPECT_EQ(there.allocator->stats().peak, before);
  for (const Tensor& tensor : live) {
    EXPECT_EQ(values(tensor), std::vector<double>(static_cast<size_t>(tensor.numel()), 1.0));
  }
}

// The second tensor must not be read into the memory that the first one's queued conversion still needs.
TEST_F(StagedLoadTest, MemoryForOneTensorServesADeviceThatRunsWorkLater) {
  ContextDevice& there = deferred_device(context());
  const Tensor first = zeros(there, {64}, DType::kBF16), second = zeros(there, {64}, DType::kBF16);
  StagedLoad load;
  load.add_read(entry({64}, std::vector<double>(64, 1.0)), 0, first);
  load.add_read(entry({64}, std::vector<double>(64, 2.0)), 0, second);
  EXPECT_EQ(extra_bytes(there, load), 256);
  EXPECT_EQ(values(first), std::vector<double>(64, 1.0));
  EXPECT_EQ(values(second), std::vector<double>(64, 2.0));
}

TEST_F(StagedLoadTest, AWriteGetsTheElementsInTheDtypeThatItWants) {
  for (ContextDevice* where : {&device(), &deferred_device(context())}) {
    std::vector<double> found;
    StagedLoad load;
    const StateTensor saved = entry({2, 2}, {0, 1, 2, 3}, DType::kBF16);
    load.add_write({.entry = saved, .place = 1, .shape = {3}}, *where, DType::kF32, [&](const Tensor& given) {
      EXPECT_EQ(given.shape(), Shape{3});
      EXPECT_EQ(given.dtype(), DType::kF32);
      EXPECT_EQ(&given.device(), where);
      found = values(given);
    });
    load();
    EXPECT_EQ(found, (std::vector<double>{1, 2, 3}));
  }
}

TEST_F(StagedLoadTest, StepsRunInTheOrderInWhichTheyWereAdded) {
  std::string order;
  StagedLoad load, behind;
  load.add([&] { order += "a"; });
  load.add_read(ones(3), 0, zeros(device(), {3}), [&] { order += "b"; });
  behind.add([&] { order += "c"; });
  load.append(std::move(behind));
  load();
  EXPECT_EQ(order, "abc");
}

TEST_F(StagedLoadTest, AReaderThatFailsEndsTheCommitThere) {
  const auto broken = make_ref<CopyReader>(tensor({2}, {1, 2}));
  const Tensor first = zeros(device(), {2}), second = zeros(device(), {2}), third = zeros(device(), {2});
  StagedLoad load;
  load.add_read(ones(2), 0, first);
  load.add_read({.name = "b", .reader = broken}, 0, second);
  load.add_read(ones(2), 0, third);
  load.prepare();
  broken->break_disk();
  EXPECT_EQ(code_of([&] { load.commit(); }), Code::kIo);
  EXPECT_EQ(values(first), (std::vector<double>{1, 1}));
  EXPECT_EQ(values(third), (std::vector<double>{0, 0}));
}

TEST_F(StagedLoadTest, ARangeGetsItsElementsFromAWholeTensorOrAWiderRange) {
  StateDict in_file = dict(entry({2, 3}, {1, 2, 3, 4, 5, 6})), wider;
  wider.add_range("a", tensor({5}, {2, 3, 4, 5, 6}), {2, 3}, 1);
  StateDict strided;
  strided.add("a", tensor({3, 2}, {1, 4, 2, 5, 3, 6}).as_strided({2, 3}, {1, 2}, 0));
  for (const StateDict* source : {&in_file, &wider, &strided}) {
    const Tensor live = zeros(device(), {3});
    stage_copy(range(live, {2, 3}, 2), *source)();
    EXPECT_EQ(values(live), (std::vector<double>{3, 4, 5}));
  }
}

// Columns 1 and 2 of three, from all of the tensor, from a file, and from a box that holds more rows of the two.
TEST_F(StagedLoadTest, ABoxGetsItsElementsFromWhateverHasThem) {
  const auto box_of = [](const Shape& begin, const Shape& size) {
    return std::make_shared<const Box>(Box{.view = {2, 3}, .begin = begin, .size = size});
  };
  StateDict in_file = dict(entry({2, 3}, {1, 2, 3, 4, 5, 6})), whole, part;
  whole.add("a", tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  part.add_part("a", tensor({2, 2}, {2, 3, 5, 6}), {.global_shape = {2, 3}, .box = box_of({0, 1}, {2, 2})});
  const StateRange columns = {.global_shape = {2, 3}, .box = box_of({0, 1}, {2, 2})};
  const StateRange last_row = {.global_shape = {2, 3}, .box = box_of({1, 1}, {1, 2})};
  const StateRange end_of_columns = {.global_shape = {2, 3}, .offset = 1, .box = box_of({0, 1}, {2, 2})};
  for (ContextDevice* where : {&device(), &deferred_device(context())}) {
    for (const StateDict* source : {&in_file, &whole, &part}) {
      const Tensor all = zeros(*where, {2, 2}), row = zeros(*where, {1, 2}), end = zeros(*where, {3}, DType::kF32);
      const auto load = [&](const Tensor& live, const StateRange& range) {
        StateDict target;
        target.add_part("a", live, range);
        stage_copy(target, *source)();
        return values(live);
      };
      EXPECT_EQ(load(all, columns), (std::vector<double>{2, 3, 5, 6}));
      EXPECT_EQ(load(row, last_row), (std::vector<double>{5, 6}));
      EXPECT_EQ(load(end, end_of_columns), (std::vector<double>{3, 5, 6}));
    }
  }
  StateDict first_column;
  first_column.add_part("a", zeros(device(), {2, 1}), {.global_shape = {2, 3}, .box = box_of({0, 0}, {2, 1})});
  EXPECT_EQ(error_of(first_column, part),
            "tensor a has elements 0 to 4 of [0:2, 1:3] in [2, 3], expected elements 0 to 2 of [0:2, 0:1] in [2, 3]");
}

TEST_F(StagedLoadTest, ATargetThatTheStateLacksIsNamed) {
  const StateDict whole = dict(entry({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Tensor live = zeros(device(), {3});
  StateDict part;
  part.add_range("a", tensor({3}, {2, 3, 4}), {2, 3}, 1);
  EXPECT_EQ(error_of(range(live, {2, 3}, 1), part), "");
  EXPECT_EQ(error_of(range(live, {2, 3}, 2), part), "tensor a has elements 1 to 4, expected elements 2 to 5");
  EXPECT_EQ(error_of(range(live, {2, 3}, 0), part), "tensor a has elements 1 to 4, expected elements 0 to 3");
  EXPECT_EQ(error_of(range(live, {3, 2}, 2), whole), "tensor a is f32 [2, 3], expected f32 [3, 2]");
  EXPECT_EQ(error_of(range(zeros(device(), {3}, DType::kF16), {2, 3}, 2), whole),
            "tensor a is f32 [2, 3], expected f16 [2, 3]");
  EXPECT_EQ(error_of(range(live, {2, 3}, 2), StateDict()), "tensor a is missing");
}

TEST_F(StagedLoadTest, AStateInMemoryHasATensorForEveryReader) {
  StateDict state = dict(entry({2}, {1, 2}));
  state.add_range("b", tensor({2}, {3, 4}), {4}, 2);
  state.add("c", int64_t{5});
  const StateDict loaded = in_memory(state);
  EXPECT_EQ(values(loaded.find("a")->tensor), (std::vector<double>{1, 2}));
  EXPECT_EQ(loaded.find("b")->offset(), 2);
  EXPECT_EQ(loaded.find("b")->tensor.data(), state.find("b")->tensor.data());
  EXPECT_EQ(std::get<int64_t>(*loaded.find_scalar("c")), 5);
}

}  // namespace
}  // namespace halftone
