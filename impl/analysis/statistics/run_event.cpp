#include "analysis/statistics/run_event.h"

namespace halftone::analysis {

RunEvent spike_event(const Spike& spike) {
  return {"spike",
          {{"quantity", name_of(spike.quantity)},
           {"value", spike.value},
           {"mean", spike.mean},
           {"deviation", spike.deviation}}};
}

RunEvent evaluation_event(double loss) { return {"evaluation", {{"loss", loss}}}; }

RunEvent fallback_event(std::string module, std::string from, std::string to) {
  return {"fallback", {{"module", std::move(module)}, {"from", std::move(from)}, {"to", std::move(to)}}};
}

RunEvent checkpoint_event() { return {"checkpoint", {}}; }

}  // namespace halftone::analysis
