#include "base/call.h"
#include "halftone/scope.h"
#include "scope/scope.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_handles_begin(htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    open->given = std::make_unique<GivenHandles>();
    enter(std::move(open), out);
  });
}

htone_status htone_keep(void* handle) {
  return guard([&] {
    if (handle == nullptr) return;
    if (HandleTable::instance().type_of(handle) == HandleType::kNone) {
      fail(Code::kInvalidHandle, "handle", "handle is no live handle");
    }
    if (GivenHandles* innermost = GivenHandles::innermost()) innermost->keep(handle);
  });
}

htone_status htone_scope_end(htone_scope* scope) {
  return guard([&] { end_scope(scope); });
}

htone_status htone_scope_end_later(htone_scope* scope) {
  return guard([&] { end_scope_later(scope); });
}
