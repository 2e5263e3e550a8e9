#include "core/call_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace halftone {
namespace {

// Registers an action for failure that logs its letter.
void note(std::string& log, char letter) {
  CallLog::on_failure([&log, letter] { log += letter; });
}

TEST(CallLog, TakesBackTheLastChangeFirstWhereTheCallFails) {
  std::string log;
  {
    const CallLog call;
    note(log, 'a');
    note(log, 'b');
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "ba");
}

TEST(CallLog, TakesNothingBackWhereTheCallSucceeds) {
  std::string log;
  {
    CallLog call;
    note(log, 'a');
    call.succeed();
  }
  EXPECT_EQ(log, "");
}

TEST(CallLog, AFailedCallTakesBackWhatItsInnerCallsHaveDone) {
  std::string log;
  {
    const CallLog outer;
    note(log, 'a');
    {
      CallLog inner;
      note(log, 'b');
      note(log, 'c');
      inner.succeed();
    }
    {
      const CallLog failed;
      note(log, 'x');
    }
    EXPECT_EQ(log, "x");
    note(log, 'd');
  }
  EXPECT_EQ(log, "xdcba");
}

TEST(CallLog, KeepsNothingOutsideOfCallsOrAfterThem) {
  std::string log;
  const auto watched = std::make_shared<int>(0);
  note(log, 'a');
  {
    CallLog call;
    CallLog::on_failure([watched] {});
    EXPECT_EQ(watched.use_count(), 2);
    call.succeed();
  }
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_EQ(log, "");
}

TEST(CallLog, EndsALongListWithoutRecursion) {
  int taken_back = 0;
  {
    const CallLog call;
    for (int i = 0; i < 1'000'000; ++i) CallLog::on_failure([&taken_back] { ++taken_back; });
  }
  EXPECT_EQ(taken_back, 1'000'000);
}

// Registers an action for success that logs its letter.
void commit(std::string& log, char letter) {
  CallLog::on_success([&log, letter] { log += letter; });
}

TEST(CallLog, CommitsInOrderWhenTheCallHasSucceeded) {
  std::string log;
  {
    CallLog call;
    commit(log, 'a');
    commit(log, 'b');
    call.succeed();
    EXPECT_EQ(log, "");
  }
  EXPECT_EQ(log, "ab");
}

TEST(CallLog, CommitsNothingOfACallThatFails) {
  std::string log;
  {
    const CallLog call;
    commit(log, 'a');
    note(log, 'x');
  }
  EXPECT_EQ(log, "x");
}

TEST(CallLog, CommitsAtOnceOutsideOfCalls) {
  std::string log;
  commit(log, 'a');
  EXPECT_EQ(log, "a");
}

TEST(CallLog, AnInnerCallCommitsWithTheOutermostOne) {
  std::string log;
  const auto outer_with_inner = [&](bool succeeds) {
    CallLog outer;
    commit(log, 'a');
    {
      CallLog inner;
      commit(log, 'b');
      commit(log, 'c');
      inner.succeed();
    }
    {
      const CallLog failed;
      commit(log, 'x');
    }
    EXPECT_EQ(log, "");
    commit(log, 'd');
    if (succeeds) outer.succeed();
  };
  outer_with_inner(false);
  EXPECT_EQ(log, "");
  outer_with_inner(true);
  EXPECT_EQ(log, "abcd");
}

TEST(CallLog, AnInnerCallMayBeTheFirstToRegister) {
  std::string log;
  {
    CallLog outer;
    {
      CallLog inner;
      commit(log, 'a');
      note(log, 'x');
      inner.succeed();
    }
    commit(log, 'b');
    note(log, 'y');
    outer.succeed();
  }
  EXPECT_EQ(log, "ab");
}

TEST(CallLog, DropsALongListOfCommitsWithoutRecursion) {
  int commits = 0;
  {
    const CallLog call;
    for (int i = 0; i < 1'000'000; ++i) CallLog::on_success([&commits] { ++commits; });
  }
  EXPECT_EQ(commits, 0);
}

}  // namespace
}  // namespace halftone
