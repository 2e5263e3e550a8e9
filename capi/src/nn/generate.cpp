#include "halftone/generate.h"

#include <cmath>

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "nn/transformer/generate.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

int64_t least_option(int64_t value, int64_t least, const char* shown) {
  if (value >= least) return value;
  fail(Code::kInvalidArgument, "options", "%s=%lld, expected at least %lld", shown, static_cast<long long>(value),
       static_cast<long long>(least));
}

nn::GenerateOptions generate_options(const htone_generate_options* options) {
  const htone_generate_options given = options_or_default(options, htone_generate_options(HTONE_GENERATE_OPTIONS_INIT));
  if (!(given.top_p > 0.0 && given.top_p <= 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.top_p=%g, expected a number in (0, 1]", given.top_p);
  }
  if (!(given.temperature >= 0.0 && std::isfinite(given.temperature))) {
    fail(Code::kInvalidArgument, "options", "options.temperature=%g, expected a finite number from 0 on",
         given.temperature);
  }
  return {.sampling = {.temperature = given.temperature,
                       .top_k = least_option(given.top_k, 0, "options.top_k"),
                       .top_p = given.top_p},
          .new_tokens = least_option(given.new_tokens, 0, "options.new_tokens"),
          .context = least_option(given.context, 0, "options.context"),
          .end_token = least_option(given.end_token, -1, "options.end_token"),
          .seed = given.seed,
          .mask = given.mask == nullptr ? Tensor() : object_of(given.mask, "options.mask")};
}

}  // namespace

htone_status htone_module_generate(htone_module* module, htone_tensor* tokens, const htone_generate_options* options,
                                   htone_tensor** out) {
  return Call(nn::generate, module, tokens, as<generate_options>(options), out);
}
