#include "core/ref.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace halftone {
namespace {

// Counts the live objects.
class Counted : public RefCounted {
 public:
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() override { --alive_; }

 private:
  int& alive_;
};

class Derived : public Counted {
 public:
  using Counted::Counted;
};

TEST(Ref, DeletesTheObjectWithTheLastReference) {
  int alive = 0;
  {
    Ref<Counted> first = make_ref<Counted>(alive);
    Ref<Counted> second = first;
    EXPECT_EQ(first->reference_count(), 2u);
    first = nullptr;
    EXPECT_EQ(alive, 1);
    EXPECT_FALSE(first);
    EXPECT_TRUE(second);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Ref, MovesConvertsAndComparesWithoutCounting) {
  int alive = 0;
  Ref<Derived> derived = make_ref<Derived>(alive);
  Counted* object = derived.get();
  Ref<Counted> base = std::move(derived);
  EXPECT_EQ(base.get(), object);
  EXPECT_EQ(base->reference_count(), 1u);
  EXPECT_TRUE(base == Ref<Counted>::share(object));
  EXPECT_EQ(base->reference_count(), 1u);
  const Ref<Counted>& itself = base;
  base = itself;
  EXPECT_EQ(alive, 1);
}

TEST(Ref, RetainsAnObjectOnlyWhileItIsAlive) {
  class Watched final : public RefCounted {
   public:
    explicit Watched(bool& retained) : retained_(retained) {}
    ~Watched() override { retained_ = retain_if_alive(); }

   private:
    bool& retained_;
  };
  bool retained_in_destructor = true;
  {
    const Ref<Watched> object = make_ref<Watched>(retained_in_destructor);
    ASSERT_TRUE(object->retain_if_alive());
    EXPECT_EQ(object->reference_count(), 2u);
    object->release();
  }
  EXPECT_FALSE(retained_in_destructor);
}

TEST(Ref, DetachGivesTheReferenceAway) {
  int alive = 0;
  Counted* object = make_ref<Counted>(alive).detach();
  EXPECT_EQ(alive, 1);
  Ref<Counted>::adopt(object);
  EXPECT_EQ(alive, 0);
}

TEST(Ref, IsCountedFromManyThreads) {
  int alive = 0;
  {
    const Ref<Counted> shared = make_ref<Counted>(alive);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&shared] {
        for (int k = 0; k < 10000; ++k) Ref<Counted> copy = shared;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(shared->reference_count(), 1u);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace halftone
