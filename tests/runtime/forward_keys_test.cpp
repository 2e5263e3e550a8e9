// Keys of the random numbers that a rank draws in the forward of a model.
#include "runtime/forward_keys.h"

#include <gtest/gtest.h>

#include "core/call_log.h"
#include "core/error.h"
#include "runtime/context.h"
#include "runtime/recorded_keys.h"

namespace halftone {
namespace {

using Kind = ForwardKeys::Kind;

bool are_equal(const PhiloxKey& a, const PhiloxKey& b) { return a.seed == b.seed && a.sequence == b.sequence; }

TEST(ForwardKeys, KeysBelongToTheInnermostGuardAndToOneContext) {
  const auto context = make_ref<Context>(ContextOptions{.seed = 5});
  const auto other = make_ref<Context>(ContextOptions{.seed = 5});
  const auto keys = make_ref<ForwardKeys>(*context, Kind::kByRank, 1);
  EXPECT_EQ(context->next_key().seed, 5u);
  const ForwardKeysGuard outer;
  {
    const ForwardKeysGuard inner;
    keys->take();
    EXPECT_NE(context->next_key().seed, 5u);
    EXPECT_EQ(other->next_key().seed, 5u);
    const ForwardKeysGuard nested;
    EXPECT_NE(context->next_key().seed, 5u);
  }
  EXPECT_EQ(context->next_key().seed, 5u);
}

TEST(ForwardKeys, ACallThatFailsReturnsTheDrawsOfItsMicrobatch) {
  const auto context = make_ref<Context>(ContextOptions{.seed = 5});
  const auto keys = make_ref<ForwardKeys>(*context, Kind::kByMicrobatch, 0);
  keys->begin_microbatch(3);
  const ForwardKeysGuard guard;
  keys->take();
  PhiloxKey failed[2], again[2];
  {
    const CallLog call;
    for (PhiloxKey& key : failed) key = context->next_key();
  }
  for (PhiloxKey& key : again) key = context->next_key();
  EXPECT_TRUE(are_equal(failed[0], again[0]) && are_equal(failed[1], again[1]));
  EXPECT_FALSE(are_equal(again[0], again[1]));
  EXPECT_EQ(context->sequences_taken(), 0u);
}

// A replay would draw the numbers of the recording again.
TEST(ForwardKeys, ARecordingRefusesKeysThatItCannotReplay) {
  const auto context = make_ref<Context>(ContextOptions{.seed = 5});
  const ReplayedKey word = {};
  const RecordedKeys recording(*context, &word);
  const ForwardKeysGuard guard;
  make_ref<ForwardKeys>(*context, Kind::kByRank, 0)->take();
  EXPECT_EQ(context->next_key().replayed, &word);
  const auto keys = make_ref<ForwardKeys>(*context, Kind::kByMicrobatch, 0);
  keys->begin_microbatch(0);
  keys->take();
  EXPECT_THROW(context->next_key(), Error);
  make_ref<ForwardKeys>(*context, Kind::kByRank, 1)->take();
  EXPECT_THROW(context->next_key(), Error);
}

}  // namespace
}  // namespace halftone
