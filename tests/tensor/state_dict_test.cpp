#include "tensor/state_dict.h"

#include <memory>
#include <string>

#include "core/error.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class StateDictTest : public RoomTest {
 protected:
  void expect_refused(const std::string& name) {
    EXPECT_THROW(state_.add(name, tensor({1}, {1})), Error) << name;
    EXPECT_THROW(state_.add(name, int64_t{1}), Error) << name;
  }

  StateDict state_;
};

TEST_F(StateDictTest, KeepsTheOrderInWhichThingsWereAdded) {
  state_.add("b", tensor({2}, {1, 2}));
  state_.add("a", tensor({1}, {3}));
  state_.add("z", int64_t{4});
  state_.add("y", 0.5);
  state_.add("x", std::string("text"));
  ASSERT_EQ(state_.tensors().size(), 2u);
  EXPECT_EQ(state_.tensors()[0].name, "b");
  EXPECT_EQ(state_.tensors()[1].name, "a");
  ASSERT_EQ(state_.scalars().size(), 3u);
  EXPECT_EQ(state_.scalars()[0].name, "z");
  EXPECT_EQ(std::get<int64_t>(*state_.find_scalar("z")), 4);
  EXPECT_EQ(std::get<double>(*state_.find_scalar("y")), 0.5);
  EXPECT_EQ(std::get<std::string>(*state_.find_scalar("x")), "text");
}

TEST_F(StateDictTest, FindsTensorsAndScalarsApart) {
  state_.add("t", tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  state_.add("s", int64_t{7});
  ASSERT_NE(state_.find("t"), nullptr);
  EXPECT_EQ(state_.find("t")->global_shape(), (Shape{2, 3}));
  EXPECT_EQ(state_.find("s"), nullptr);
  EXPECT_EQ(state_.find_scalar("t"), nullptr);
  EXPECT_EQ(state_.find("none"), nullptr);
  EXPECT_EQ(state_.find_scalar("none"), nullptr);
}

TEST_F(StateDictTest, FindsEachOfManyNamesInItsList) {
  const Tensor one = tensor({1}, {1});
  const auto named = [](char kind, int i) { return std::string(1, kind).append(std::to_string(i)); };
  for (int i = 0; i < 1000; ++i) {
    state_.add(named('t', i), one);
    state_.add(named('s', i), int64_t{i});
  }
  for (int i = 0; i < 1000; ++i) {
    const StateTensor* found = state_.find(named('t', i));
    const StateScalar* scalar = state_.find_scalar(named('s', i));
    ASSERT_TRUE(found != nullptr && scalar != nullptr) << i;
    EXPECT_EQ(found->name, named('t', i));
    EXPECT_EQ(std::get<int64_t>(*scalar), i);
    EXPECT_EQ(state_.find(named('s', i)), nullptr);
    EXPECT_THROW(state_.add(named('t', i), int64_t{0}), Error);
  }
}

TEST_F(StateDictTest, ARangeOfAllElementsIsNoRange) {
  state_.add_range("t", tensor({2}, {3, 4}), {2}, 0);
  EXPECT_EQ(state_.find("t")->range, nullptr);
  EXPECT_EQ(state_.find("t")->global_shape(), (Shape{2}));
}

TEST_F(StateDictTest, KeepsWhereARangeBelongs) {
  state_.add_range("t", tensor({2}, {3, 4}), {2, 3}, 2);
  EXPECT_EQ(state_.find("t")->global_shape(), (Shape{2, 3}));
  EXPECT_EQ(state_.find("t")->offset(), 2);
}

TEST_F(StateDictTest, APartIsWithinItsBox) {
  const StateRange columns = {
      .global_shape = {2, 3}, .offset = 1, .box = std::make_shared<const Box>(Box{{2, 3}, {0, 1}, {2, 2}})};
  state_.add_part("t", tensor({3}, {3, 5, 6}), columns);
  const BoxRange held = state_.find("t")->held();
  EXPECT_EQ(text_of(held), "elements 1 to 4 of [0:2, 1:3] in [2, 3]");
  EXPECT_EQ(code_of([&] { state_.add_part("longer", tensor({4}, {3, 5, 6, 7}), columns); }), Code::kInvalidArgument);
  StateRange other = columns;
  other.global_shape = {2, 4};
  EXPECT_EQ(code_of([&] { state_.add_part("of another", tensor({3}, {3, 5, 6}), other); }), Code::kInvalidArgument);
}

TEST_F(StateDictTest, RefusesNamesThatAFileCouldNotHold) {
  expect_refused("");
  expect_refused(std::string("a\0b", 3));
  expect_refused("\xff");
  EXPECT_TRUE(state_.tensors().empty());
  EXPECT_TRUE(state_.scalars().empty());
}

TEST_F(StateDictTest, RefusesANameTwice) {
  state_.add("t", tensor({1}, {1}));
  state_.add("s", int64_t{1});
  expect_refused("t");
  expect_refused("s");
  EXPECT_EQ(state_.tensors().size(), 1u);
  EXPECT_EQ(state_.scalars().size(), 1u);
}

}  // namespace
}  // namespace halftone
