#include "halftone/graph.h"

#include <atomic>

#include "base/call.h"
#include "core/call_log.h"
#include "runtime/handles.h"
#include "runtime/recorded_step.h"
#include "scope/callback.h"

using namespace halftone;
using namespace halftone::capi;

namespace halftone::capi {

using StepCallback = Callback<htone_step_fn>;

// A step that a device has recorded, or that is called in each replay.
struct CapturedStep final : RefCounted {
  CapturedStep(ContextDevice& on, Ref<StepCallback> function)
      : context(Ref<Context>::share(on.context)), step(std::move(function)) {}
  // The recorded work goes first: `destroy` may free what it uses.
  ~CapturedStep() override { recorded = nullptr; }

  Ref<Context> context;
  Ref<StepCallback> step;
  Ref<RecordedStep> recorded;  // null if the device cannot record
  std::atomic<bool> is_running{false};
};

template <>
struct HandleTraits<htone_graph> : HandleTo<Ref<CapturedStep>, HandleType::kGraph> {};

}  // namespace halftone::capi

namespace {

constexpr char kCallback[] = "the step's callback";

// The parts of a step are complete calls, in every run.
void run_step(const StepCallback& step) {
  const CallLog::Suspension own_logs;
  step.call(kCallback);
}

Ref<CapturedStep> capture(ContextDevice& device, const Ref<StepCallback>& step) {
  auto graph = make_ref<CapturedStep>(device, step);
  if (device.device->can_record()) {
    graph->recorded = make_ref<RecordedStep>(device, [&] { run_step(*step); });
  } else {
    run_step(*step);
  }
  return graph;
}

// Marks a graph as running until the end of a block.
class Running {
 public:
  // Throws STATE if the graph runs already.
  explicit Running(CapturedStep& graph) : graph_(graph) {
    if (graph.is_running.exchange(true)) {
      fail(Code::kState, "graph", "graph is being replayed; its step must not replay it, nor another thread meanwhile");
    }
  }
  ~Running() { graph_.is_running = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  CapturedStep& graph_;
};

void replay(CapturedStep& graph) {
  const Running running(graph);
  if (graph.recorded) return graph.recorded->replay();
  run_step(*graph.step);
}

int32_t is_recorded(const CapturedStep& graph) { return graph.recorded ? 1 : 0; }

}  // namespace

htone_status htone_graph_capture(htone_device* device, htone_step_fn callback, void* user, void (*destroy)(void* user),
                                 htone_graph** out) {
  return guard([&] {
    const auto owner = hold(device, "device");
    const Ref<StepCallback> step = make_callback(callback, user);
    require_memory(out, "out");
    give_handle(out, capture(*owner, step));
    step->set_destroy(destroy);
  });
}

htone_status htone_graph_replay(htone_graph* graph) { return Call(replay, graph); }

htone_status htone_graph_is_recorded(htone_graph* graph, int32_t* out_recorded) {
  return Pure(is_recorded, graph, out_recorded);
}
