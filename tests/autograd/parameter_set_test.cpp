#include "autograd/parameter_set.h"

#include "room_fixture.h"

namespace halftone {
namespace {

class ParameterSetTest : public RoomTest {
 protected:
  NamedParameter named(const std::string& name) const {
    return {name, make_ref<Parameter>(name.c_str(), weight_, MasterMemory::kShared)};
  }

  Tensor weight_ = tensor({1}, {0});
};

TEST_F(ParameterSetTest, HoldsEachParameterOnceInTheOrderOfAdding) {
  const NamedParameter a = named("a"), b = named("b");
  ParameterSet set;
  EXPECT_TRUE(set.add(b));
  EXPECT_TRUE(set.add(a));
  EXPECT_FALSE(set.add({"other name", b.parameter}));
  ASSERT_EQ(set.items().size(), 2u);
  EXPECT_EQ(set.items()[0].name, "b");
  EXPECT_EQ(set.items()[1].name, "a");
  EXPECT_TRUE(set.contains(*a.parameter));
  EXPECT_FALSE(set.contains(*named("a").parameter));
  EXPECT_EQ(ParameterSet({a, b, {"again", a.parameter}}).items().size(), 2u);
}

TEST_F(ParameterSetTest, SelectedSetsGrowOnTheirOwn) {
  const NamedParameter a = named("a"), b = named("b");
  ParameterSet set({a, b});
  const Ref<ParameterSet> selected = set.selected("a");
  EXPECT_FALSE(selected->add(a));
  EXPECT_TRUE(selected->add(b));
  EXPECT_EQ(set.excluded("a")->items().size(), 1u);
  EXPECT_EQ(set.items().size(), 2u);
}

// A set that looks through its items at each add needs more than 10^12 comparisons here, which take longer than the
// test may run.
TEST_F(ParameterSetTest, A36_AddingIsNotSlowerInALargeSet) {
  constexpr int kItems = 200'000, kRepeats = 6'000'000;
  ParameterSet set;
  for (int i = 0; i < kItems; ++i) ASSERT_TRUE(set.add(named("p")));
  const NamedParameter last = set.items().back();
  int64_t added = 0;
  for (int i = 0; i < kRepeats; ++i) added += set.add(last) ? 1 : 0;
  EXPECT_EQ(added, 0);
  EXPECT_EQ(set.items().size(), static_cast<size_t>(kItems));
}

}  // namespace
}  // namespace halftone
