// States that hold their step in every tensor and scalar, so a mixture of two checkpoints shows. A base for fixtures
// over RoomTest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/directory.h"
#include "room_fixture.h"

namespace halftone::checkpoint {

template <class Fixture>
class NumberedStates : public Fixture {
 protected:
  StateDict state(double step) {
    StateDict state;
    state.add("weight", this->tensor({2, 3}, {step, 1, 2, 3, 4, 5}));
    state.add("half", this->tensor({3}, {step, 0.5, -0.25}, DType::kBF16));
    state.add("empty", this->tensor({0, 4}, {}));
    state.add("count", static_cast<int64_t>(step));
    state.add("lr", step * 0.1);
    state.add("name", std::string("run \xc3\xa4"));
    return state;
  }

  void expect_state(const Directory::Loaded& loaded, int64_t step) {
    EXPECT_EQ(loaded.step, step);
    expect_state(loaded.state, step);
  }

  void expect_state(const StateDict& state, int64_t step) {
    const auto number = static_cast<double>(step);
    ASSERT_EQ(state.tensors().size(), 3u);
    EXPECT_EQ(this->values(in_memory(*state.find("weight"))), (std::vector<double>{number, 1, 2, 3, 4, 5}));
    EXPECT_EQ(state.find("weight")->shape(), (Shape{2, 3}));
    EXPECT_EQ(state.find("half")->dtype(), DType::kBF16);
    EXPECT_EQ(this->values(in_memory(*state.find("half"))), (std::vector<double>{number, 0.5, -0.25}));
    EXPECT_EQ(state.find("empty")->shape(), (Shape{0, 4}));
    EXPECT_EQ(std::get<int64_t>(*state.find_scalar("count")), step);
    EXPECT_EQ(std::get<double>(*state.find_scalar("lr")), number * 0.1);
    EXPECT_EQ(std::get<std::string>(*state.find_scalar("name")), "run \xc3\xa4");
  }
};

}  // namespace halftone::checkpoint
