#include "halftone/ema.h"

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_ema_options default_ema() {
  htone_ema_options options = {};
  options.struct_size = sizeof options;
  options.decay = 0.999;
  return options;
}

optim::EmaSettings checked_ema(const htone_ema_options& options) {
  if (!(options.decay >= 0.0 && options.decay < 1.0)) {
    fail(Code::kInvalidArgument, "options", "options.decay=%g, expected a number in [0, 1)", options.decay);
  }
  return {.decay = options.decay, .warms_up = options.warmup != 0};
}

}  // namespace

htone_status htone_ema_options_init(htone_ema_options* options) {
  return guard([&] { require(options, "options") = default_ema(); });
}

htone_status htone_ema_create(htone_parameters* parameters, const htone_ema_options* options, htone_ema** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const optim::EmaSettings settings = checked_ema(options_or_default(options, default_ema()));
    require(out, "out");
    wrap(out, make_ref<optim::Ema>(set.items(), settings));
  });
}

htone_status htone_ema_retain(htone_ema* ema) {
  return guard([&] { retain_handle(ema, "ema"); });
}

htone_status htone_ema_release(htone_ema* ema) {
  return guard([&] { release_handle(ema, "ema"); });
}

htone_status htone_ema_update(htone_ema* ema) {
  return guard([&] { unwrap(ema, "ema")->update(); });
}

htone_status htone_ema_swap(htone_ema* ema) {
  return guard([&] { unwrap(ema, "ema")->swap(); });
}

htone_status htone_ema_count(htone_ema* ema, size_t* out_count) {
  return guard([&] {
    const optim::Ema& averages = *unwrap(ema, "ema");
    require(out_count, "out_count") = averages.size();
  });
}

htone_status htone_ema_read(htone_ema* ema, size_t index, htone_tensor** out) {
  return guard([&] {
    const optim::Ema& averages = *unwrap(ema, "ema");
    if (index >= averages.size()) {
      fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, averages.size());
    }
    require(out, "out");
    wrap(out, averages.read(index));
  });
}
