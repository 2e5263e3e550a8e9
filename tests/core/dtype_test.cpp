#include "core/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/type_list.h"

namespace halftone {
namespace {

TEST(DType, NamesAreDistinctAndSizesAreTheTypes) {
  std::set<std::string> names;
  for (int32_t code = kDTypeFirst; code <= kDTypeLast; ++code) {
    const DType dtype = static_cast<DType>(code);
    names.insert(name_of(dtype));
    size_t size = 0;
    try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, dtype);
      size = sizeof(T);
    });
    EXPECT_EQ(size_of(dtype), size);
  }
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(names.count("invalid"), 0u);
}

TEST(DType, KnowsWhatIsNone) {
  for (const int32_t code : {-1, 0, 13, 200}) {
    EXPECT_FALSE(is_valid(static_cast<DType>(code)));
    EXPECT_STREQ(name_of(static_cast<DType>(code)), "invalid");
  }
}

TEST(DType, IsFloatOrIntegerOrBool) {
  for (int32_t code = kDTypeFirst; code <= kDTypeLast; ++code) {
    const DType dtype = static_cast<DType>(code);
    EXPECT_EQ(is_float(dtype) + is_integer(dtype) + (dtype == DType::kBool), 1) << name_of(dtype);
  }
}

TEST(Promote, IsSymmetricAndKeepsEqualTypes) {
  for (int32_t a = kDTypeFirst; a <= kDTypeLast; ++a) {
    EXPECT_EQ(promote(static_cast<DType>(a), static_cast<DType>(a)), static_cast<DType>(a));
    for (int32_t b = kDTypeFirst; b <= kDTypeLast; ++b) {
      EXPECT_EQ(promote(static_cast<DType>(a), static_cast<DType>(b)),
                promote(static_cast<DType>(b), static_cast<DType>(a)));
    }
  }
}

TEST(TryVisitDtype, VisitsNothingOutsideTheList) {
  EXPECT_FALSE(try_visit_dtype(FloatTypes{}, DType::kI32, []<class T>() { FAIL() << "an integer is not a float"; }));
}

}  // namespace
}  // namespace halftone
