#include "resume/module_file.h"

#include "checkpoint/open_safetensors.h"
#include "core/error.h"
#include "nn/state.h"
#include "runtime/context.h"

namespace halftone::resume {

namespace {

Context& context_of(const nn::Module& module) {
  const Ref<const nn::Module::Contents> contents = module.contents();
  if (!contents->parameters.empty()) return *contents->parameters.front().parameter->device().context;
  if (!contents->buffers.empty()) return *contents->buffers.front().tensor.device().context;
  fail(Code::kInvalidArgument, "module", "module has neither parameters nor buffers");
}

// A bool other than 0 and 1 must not be found when a part is loaded.
void require_bools(const StateDict& state) {
  for (const StateTensor& entry : state.tensors()) {
    if (entry.dtype() == DType::kBool) in_memory(entry);
  }
}

}  // namespace

void load_file(const nn::Module& module, const std::string& path, bool strict) {
  const checkpoint::OpenedState file = checkpoint::open_safetensors(path, context_of(module).device("cpu"));
  StagedLoad load = nn::stage_state(module, file.state, strict, "path");
  require_bools(file.state);
  load.prepare();
  load.commit_or_tell("the module");
}

}  // namespace halftone::resume
