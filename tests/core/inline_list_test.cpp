#include "core/inline_list.h"

#include <gtest/gtest.h>

#include <memory>

namespace halftone {
namespace {

using List = InlineList<std::shared_ptr<int>, 2>;

void fill(List& list) {
  for (size_t i = 0; i < list.size(); ++i) list[i] = std::make_shared<int>(static_cast<int>(i));
}

TEST(InlineList, HoldsFewAndManyElements) {
  for (const size_t size : {0u, 1u, 2u, 3u, 100u}) {
    List list(size);
    fill(list);
    int next = 0;
    for (const std::shared_ptr<int>& element : list) EXPECT_EQ(*element, next++);
    EXPECT_EQ(next, static_cast<int>(size));
  }
}

TEST(InlineList, KeepsItsElementsWhenItMoves) {
  for (const size_t size : {2u, 3u}) {
    List from(size);
    fill(from);
    const std::weak_ptr<int> last = from[size - 1];
    {
      const List to = std::move(from);
      ASSERT_EQ(to.size(), size);
      EXPECT_EQ(to[size - 1], last.lock());
    }
    EXPECT_TRUE(last.expired());
  }
}

}  // namespace
}  // namespace halftone
