#include "halftone/recompute.h"

#include "autograd/recompute.h"
#include "base/call.h"
#include "nn/handles.h"
#include "nn/match_arguments.h"
#include "nn/module.h"
#include "nn/recompute.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t checked_period(int64_t every) {
  if (every >= 0) return every;
  fail(Code::kInvalidArgument, "every", "every=%lld, expected at least 0", static_cast<long long>(every));
}

size_t set_matching(nn::Module& module, const nn::ModuleMatch& match, int64_t every) {
  return static_cast<size_t>(nn::set_recompute(module, {.match = match, .every = every}));
}

}  // namespace

htone_status htone_module_set_recompute(htone_module* module, int32_t recompute) {
  return Call(&nn::Module::set_recompute, module, recompute);
}

htone_status htone_module_recomputes(htone_module* module, int32_t* out_recompute) {
  return Pure(&nn::Module::recomputes, module, out_recompute);
}

htone_status htone_module_set_recompute_matching(htone_module* module, const char* path, const char* kind,
                                                 int64_t every, size_t* out_count) {
  return Call(set_matching, module, as<module_match>(path, kind), as<checked_period>(every), out_count);
}

htone_status htone_is_recomputing(int32_t* out_recomputing) { return Pure(is_recomputing, out_recomputing); }
