#include "runtime/key_tape.h"

#include <gtest/gtest.h>

#include "runtime/context.h"

namespace halftone {
namespace {

TEST(KeyTapeTest, AReplayReturnsTheRecordedKeysAndLeavesTheGeneratorAlone) {
  const Ref<Context> context = make_ref<Context>(ContextOptions{.num_threads = 1, .seed = 5});
  std::vector<PhiloxKey> keys;
  context->next_key();
  {
    const KeyTape tape(keys, KeyTape::Mode::kRecord);
    context->next_key();
    context->next_key();
  }
  context->set_generator(9, 100);
  const KeyTape tape(keys, KeyTape::Mode::kReplay);
  for (const uint64_t sequence : {1u, 2u}) {
    EXPECT_FALSE(tape.is_at_end());
    const PhiloxKey key = context->next_key();
    EXPECT_EQ(key.seed, 5u);
    EXPECT_EQ(key.sequence, sequence);
  }
  EXPECT_TRUE(tape.is_at_end());
  EXPECT_EQ(context->sequences_taken(), 100u);
  EXPECT_EQ(context->next_key().seed, 9u);  // more than were recorded
  EXPECT_FALSE(tape.is_at_end());
}

TEST(KeyTapeTest, TheInnermostTapeCounts) {
  const Ref<Context> context = make_ref<Context>(ContextOptions{.num_threads = 1});
  std::vector<PhiloxKey> outer_keys, inner_keys;
  const KeyTape outer(outer_keys, KeyTape::Mode::kRecord);
  context->next_key();
  {
    const KeyTape inner(inner_keys, KeyTape::Mode::kRecord);
    context->next_key();
  }
  context->next_key();
  EXPECT_EQ(outer_keys.size(), 2u);
  EXPECT_EQ(inner_keys.size(), 1u);
  EXPECT_EQ(outer_keys[1].sequence, 2u);
}

}  // namespace
}  // namespace halftone
