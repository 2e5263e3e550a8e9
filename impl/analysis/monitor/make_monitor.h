// Makes a monitor for callers that need no more of it than a record does: its class includes the model's and the
// optimizer's.
#pragma once

#include "analysis/monitor/monitor_settings.h"
#include "core/ref.h"

namespace halftone {
struct ContextDevice;  // runtime/context_device.h
}
namespace halftone::nn {
class Module;  // nn/module.h
}
namespace halftone::optim {
class Optimizer;  // optim/optimizer.h
}

namespace halftone::analysis {

class StepWatcher;  // analysis/statistics/step_watcher.h

// As Monitor's constructor. Throws DEVICE for an optimizer on another device.
Ref<StepWatcher> make_monitor(ContextDevice& device, const nn::Module& module, optim::Optimizer* optimizer,
                              const MonitorSettings& settings);

}  // namespace halftone::analysis
