#include "core/undo.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace halftone {
namespace {

// Registers an undo action that logs its letter.
void note(std::string& log, char letter) {
  Undo::on_failure([&log, letter] { log += letter; });
}

TEST(Undo, TakesBackTheLastChangeFirstWhereTheCallFails) {
  std::string log;
  {
    const Undo call;
    note(log, 'a');
    note(log, 'b');
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "ba");
}

TEST(Undo, TakesNothingBackWhereTheCallSucceeds) {
  std::string log;
  {
    Undo call;
    note(log, 'a');
    call.keep();
  }
  EXPECT_EQ(log, "");
}

TEST(Undo, AFailedCallTakesBackWhatItsInnerCallsHaveDone) {
  std::string log;
  {
    const Undo outer;
    note(log, 'a');
    {
      Undo inner;
      note(log, 'b');
      note(log, 'c');
      inner.keep();
    }
    {
      const Undo failed;
      note(log, 'x');
    }
    EXPECT_EQ(log, "x");
    note(log, 'd');
  }
  EXPECT_EQ(log, "xdcba");
}

TEST(Undo, KeepsNothingOutsideOfCallsOrAfterThem) {
  std::string log;
  const auto watched = std::make_shared<int>(0);
  note(log, 'a');
  {
    Undo call;
    Undo::on_failure([watched] {});
    EXPECT_EQ(watched.use_count(), 2);
    call.keep();
  }
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(log, "");
}

TEST(Undo, EndsALongListWithoutRecursion) {
  int taken_back = 0;
  {
    const Undo call;
    for (int i = 0; i < 1'000'000; ++i) Undo::on_failure([&taken_back] { ++taken_back; });
  }
  EXPECT_EQ(taken_back, 1'000'000);
}

}  // namespace
}  // namespace halftone
