#include "core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace halftone {
namespace {

TEST(Error, CarriesCodeArgumentAndMessage) {
  try {
    fail(Code::kInvalidArgument, "lr", "lr=%g is negative", -1.5);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_STREQ(error.argument(), "lr");
    EXPECT_STREQ(error.what(), "lr=-1.5 is negative");
    return;
  }
  FAIL() << "nothing was thrown";
}

TEST(Error, CutsLongTextsInsteadOfOverrunning) {
  const std::string longer(1000, 'x');
  const Error error(Code::kIo, 5, longer.c_str(), longer.c_str());
  EXPECT_EQ(std::strlen(error.what()), size_t{Error::kMessageCapacity - 1});
  EXPECT_EQ(std::strlen(error.argument()), size_t{Error::kArgumentCapacity - 1});
  EXPECT_EQ(error.native_code(), 5);
}

TEST(Status, PassesOkAndThrowsTheRest) {
  EXPECT_NO_THROW(check(Status{}));
  const Status status = Status::failure(Code::kTimeout, "after %d s", 60);
  EXPECT_FALSE(status.ok());
  try {
    check(status);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kTimeout);
    EXPECT_STREQ(error.what(), "after 60 s");
    return;
  }
  FAIL() << "nothing was thrown";
}

TEST(Status, CutsALongMessage) {
  const Status status = Status::failure(Code::kInternal, "%s", std::string(1000, 'y').c_str());
  EXPECT_EQ(std::strlen(status.message), size_t{Status::kMessageCapacity - 1});
}

}  // namespace
}  // namespace halftone
