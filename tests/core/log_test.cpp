#include "core/log.h"

#include <gtest/gtest.h>

#include <string>

namespace halftone {
namespace {

struct Receiver {
  std::string message;
  int destroyed = 0;

  static void receive(const char* message, void* user) { static_cast<Receiver*>(user)->message = message; }
  static void destroy(void* user) { ++static_cast<Receiver*>(user)->destroyed; }
};

TEST(Log, NobodyListensByDefault) { log_warning("unheard %d", 1); }

TEST(Log, TheReceiverGetsTheMessageAndIsDestroyedOnce) {
  Receiver first, second;
  set_log_receiver(Receiver::receive, &first, Receiver::destroy);
  log_warning("value %d", 7);
  EXPECT_EQ(first.message, "value 7");
  set_log_receiver(Receiver::receive, &second, Receiver::destroy);
  EXPECT_EQ(first.destroyed, 1);
  log_warning("to the second");
  EXPECT_EQ(first.message, "value 7");
  EXPECT_EQ(second.message, "to the second");
  set_log_receiver(nullptr, nullptr, nullptr);
  EXPECT_EQ(second.destroyed, 1);
  EXPECT_EQ(first.destroyed, 1);
}

TEST(Log, AReceiverMayReplaceItselfFromWithin) {
  Receiver receiver;
  set_log_receiver([](const char*, void*) { set_log_receiver(nullptr, nullptr, nullptr); }, &receiver,
                   Receiver::destroy);
  log_warning("once");
  EXPECT_EQ(receiver.destroyed, 1);
}

}  // namespace
}  // namespace halftone
