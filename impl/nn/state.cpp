#include "nn/state.h"

#include <unordered_set>
#include <utility>

#include "autograd/weights/weights.h"
#include "core/error.h"
#include "core/name_list.h"
#include "nn/tied_names.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

// Split weights, joined when they are read.
class SplitWeights final : public StateReader {
 public:
  explicit SplitWeights(Ref<Parameter> parameter) : parameter_(std::move(parameter)) {}

  DType dtype() const noexcept override { return DType::kF32; }
  const Shape& shape() const noexcept override { return parameter_->weights().kept().shape(); }
  ContextDevice& device() const noexcept override { return parameter_->weights().kept().device(); }
  void read(int64_t begin, const Tensor& target) const override { parameter_->weights().read_range(begin, target); }

 private:
  Ref<Parameter> parameter_;
};

// A parameter or a buffer that a state is loaded into.
struct Target {
  std::string name;
  Ref<Parameter> parameter;  // null for a buffer
  Tensor buffer;

  // The shard of a sharded parameter, all of any other.
  const Tensor& tensor() const { return parameter ? parameter->weights().kept() : buffer; }
  const Shape& shape() const { return parameter ? parameter->shape() : buffer.shape(); }
  int64_t begin() const { return parameter ? parameter->placement().shard().begin : 0; }
  // A sharded parameter needs its shard alone.
  BoxRange held() const { return {.box = nullptr, .begin = begin(), .end = begin() + tensor().numel()}; }
  DType dtype() const { return parameter && parameter->weights().is_split() ? DType::kF32 : tensor().dtype(); }
  void write(const Tensor& values) const {
    if (parameter) return parameter->write(values);
    copy(values, buffer);
  }
  // The storages that `write` writes: the weights, their copy, and the remainder of split weights.
  void add_written(std::unordered_set<const Storage*>& written) const {
    written.insert(tensor().storage().get());
    if (!parameter) return;
    for (const Tensor* part : {&parameter->weights().compute(), &parameter->weights().remainder()}) {
      if (part->defined()) written.insert(part->storage().get());
    }
  }
};

std::vector<Target> targets_of(const Module& module) {
  std::vector<Target> targets;
  for (NamedParameter& named : module.parameters()) {
    if (!named.parameter->is_sharded()) named.parameter->weights().materialize();
    targets.push_back({std::move(named.name), std::move(named.parameter), Tensor()});
  }
  for (NamedBuffer& named : module.buffers()) targets.push_back({std::move(named.name), nullptr, named.tensor});
  return targets;
}

struct Pair {
  Target target;
  const StateTensor* values;
};

NameList names_of(const StateDict& state) {
  NameList names;
  for (const StateTensor& entry : state.tensors()) names.add(entry.name);
  return names;
}

void require_all_names(const Module& module, const StateDict& state, const char* argument) {
  const NameList missing = names_of(missing_state(module, state));
  const NameList unexpected = names_of(unexpected_state(module, state));
  if (missing.count() == 0 && unexpected.count() == 0) return;
  fail(Code::kInvalidArgument, argument, "%s does not fit the module; missing: %s; unexpected: %s", argument,
       missing.text().c_str(), unexpected.text().c_str());
}

// A tied weight is loaded once.
std::vector<Pair> pairs_of(const std::vector<Target>& targets, const StateDict& state, const TiedNames& names,
                           const char* argument) {
  std::vector<Pair> pairs;
  std::unordered_set<const Parameter*> met;
  NameList shapes, dtypes;
  for (const Target& target : targets) {
    const StateTensor* entry = names.find(state, target.name);
    if (entry == nullptr || (target.parameter && !met.insert(target.parameter.get()).second)) continue;
    const Shape& expected = target.shape();
    if (entry->global_shape() != expected || !contains(entry->held(), target.held())) {
      shapes.add(target.name + " " + ShapeText(entry->shape()).text + " for " + ShapeText(expected).text);
    } else if (is_float(entry->dtype()) != is_float(target.dtype())) {
      dtypes.add(target.name + " " + name_of(entry->dtype()) + " for " + name_of(target.dtype()));
    }
    pairs.push_back({target, entry});
  }
  if (shapes.count() > 0) {
    fail(Code::kShapeMismatch, argument, "%s has other shapes than the module: %s", argument, shapes.text().c_str());
  }
  if (dtypes.count() > 0) {
    fail(Code::kDtypeMismatch, argument, "%s has dtypes that do not convert: %s", argument, dtypes.text().c_str());
  }
  return pairs;
}

// Tensors in memory may be the module's own: copies, before the first write, values in memory that the writes change,
// and values on another device.
Tensor unwritten(const Pair& pair, const std::unordered_set<const Storage*>& written) {
  ContextDevice& device = pair.target.tensor().device();
  const Tensor own = in_memory(*pair.values, pair.target.held(), pair.target.tensor().shape());
  if (&own.device() != &device) return moved_to(device, own);
  return written.contains(own.storage().get()) ? converted(own, own.dtype()) : own;
}

void stage_tensor(const Target& target, const Tensor& values, StagedLoad& load) {
  const Tensor fitting = target.parameter ? writable(target.parameter->weights(), values) : values;
  load.add([target, fitting] { target.write(fitting); });
}

void stage_reader(const Target& target, const StateTensor& values, StagedLoad& load) {
  const Ref<Parameter>& parameter = target.parameter;
  if (!parameter) return load.add_read(values, 0, target.buffer);
  const int64_t begin = target.begin();
  const Tensor& kept = target.tensor();
  if (!parameter->weights().is_split() && !parameter->placement().store_of(kept)) {
    return load.add_read(values, begin, kept, [parameter] { parameter->weights().update_copy(); });
  }
  load.add_write({.entry = values, .place = begin, .shape = kept.shape()}, parameter->device(), DType::kF32,
                 [parameter](const Tensor& read) { parameter->write(read); });
}

StagedLoad stage(const std::vector<Pair>& pairs) {
  std::unordered_set<const Storage*> written;
  for (const Pair& pair : pairs) {
    pair.target.add_written(written);
    if (pair.target.parameter) pair.target.parameter->placement().settle();
  }
  StagedLoad load;
  for (const Pair& pair : pairs) {
    if (pair.values->reader) {
      stage_reader(pair.target, *pair.values, load);
    } else {
      stage_tensor(pair.target, unwritten(pair, written), load);
    }
  }
  // Parameters may share a storage: a write to one makes the copies of the others look stale.
  for (const Pair& pair : pairs) {
    const Ref<Parameter>& parameter = pair.target.parameter;
    if (parameter) load.add([parameter] { parameter->weights().mark_current(); });
  }
  return load;
}

}  // namespace

StateDict state_of(const Module& module) {
  StateDict state;
  for (const Target& target : targets_of(module)) {
    StateTensor entry = {.name = target.name};
    if (target.parameter && target.parameter->weights().is_split()) {
      entry.reader = make_ref<SplitWeights>(target.parameter);
    } else if (target.parameter) {
      entry.reader = target.parameter->placement().store_of(target.tensor());
    }
    if (!entry.reader) entry.tensor = target.tensor().detach();
    if (target.parameter && target.parameter->is_sharded()) {
      entry.range = std::make_shared<StateRange>(StateRange{.global_shape = target.shape(), .offset = target.begin()});
    }
    state.add_entry(target.name, entry);
  }
  return state;
}

StateDict missing_state(const Module& module, const StateDict& state) {
  const TiedNames names(module);
  const StateDict own = state_of(module);
  StateDict missing;
  for (const StateTensor& entry : own.tensors()) {
    if (names.find(state, entry.name) == nullptr) missing.add_entry(entry.name, entry);
  }
  return missing;
}

StateDict unexpected_state(const Module& module, const StateDict& state) {
  const TiedNames names(module);
  const StateDict own = state_of(module);
  StateDict unexpected;
  for (const StateTensor& entry : state.tensors()) {
    if (own.find(entry.name) == nullptr && !names.contains(entry.name)) unexpected.add_entry(entry.name, entry);
  }
  return unexpected;
}

StagedLoad stage_state(const Module& module, const StateDict& state, bool strict, const char* argument) {
  const TiedNames names(module);
  const std::vector<Pair> pairs = pairs_of(targets_of(module), state, names, argument);
  if (strict) require_all_names(module, state, argument);
  names.require_equal(state, argument);
  return stage(pairs);
}

// A reader of the state may join weights that the load writes, so all are read before.
void load_state(const Module& module, const StateDict& state, bool strict) {
  stage_state(module, in_memory(state), strict)();
}

}  // namespace halftone::nn
