// The state of a thread is its own, and a guard restores the part that it names, and no other.
#include "core/thread.h"

#include <gtest/gtest.h>

#include <thread>

namespace halftone {
namespace {

TEST(Thread, AGuardRestoresItsPartAlone) {
  {
    const ThreadGuard<&Thread::storage_mark> mark(7);
    thread().scope.depth = 1;
    EXPECT_EQ(thread().storage_mark, 7u);
  }
  EXPECT_EQ(thread().storage_mark, 0u);
  EXPECT_EQ(thread().scope.depth, 1);
  thread().scope.depth = 0;
}

TEST(Thread, GuardsInOneAnotherRestoreInTurn) {
  const ThreadGuard<&Thread::storage_mark> outer(1);
  {
    const ThreadGuard<&Thread::storage_mark> inner(2);
    EXPECT_EQ(inner.outer(), 1u);
    thread().storage_mark = 3;
  }
  EXPECT_EQ(thread().storage_mark, 1u);
}

TEST(Thread, AGuardOfTheModesRestoresAllOfThemAfterAnException) {
  try {
    const ThreadGuard<&modes> all;
    thread().scope.grad_enabled = false;
    thread().scope.in_backward = true;
    thread().scope.anomaly = Anomaly::kNan;
    thread().scope.next_sequence = 7;
    throw 0;
  } catch (int) {
  }
  EXPECT_TRUE(thread().scope.grad_enabled);
  EXPECT_FALSE(thread().scope.in_backward);
  EXPECT_EQ(thread().scope.anomaly, Anomaly::kNothing);
  EXPECT_EQ(thread().scope.next_sequence, 7u);  // no mode
  thread().scope.next_sequence = 0;
}

TEST(Thread, AnotherThreadBeginsWithoutTheStateOfThisOne) {
  const ThreadGuard<&Thread::storage_mark> mark(7);
  uint64_t others = 1;
  std::thread([&] { others = thread().storage_mark; }).join();
  EXPECT_EQ(others, 0u);
}

}  // namespace
}  // namespace halftone
