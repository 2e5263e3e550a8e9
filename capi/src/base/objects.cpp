#include "base/objects.h"

#include <cstdio>

#include "core/error.h"

namespace halftone::capi {

namespace {

// `shown` names the value in the message: the argument, or an element of it.
[[noreturn]] void fail_shown(const void* handle, HandleType expected, const char* argument, const char* shown) {
  const HandleType actual = HandleTable::instance().type_of(handle);
  const char* what = handle == nullptr ? "NULL" : name_with_article(actual);
  fail(Code::kInvalidHandle, argument, "%s is %s, expected %s", shown, what, name_with_article(expected));
}

}  // namespace

void fail_handle(const void* handle, HandleType expected, ArgumentName argument) {
  fail_shown(handle, expected, argument.text(), argument.text());
}

void fail_handle_at(const void* handle, HandleType expected, ArgumentName array, size_t index) {
  char shown[64];
  std::snprintf(shown, sizeof shown, "%s[%zu]", array.text(), index);
  fail_shown(handle, expected, array.text(), shown);
}

}  // namespace halftone::capi
