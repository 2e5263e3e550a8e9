#include "tensor/staged_load.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

bool host_sees(const ContextDevice& device) { return device.device->host_accessible(); }

// A commit brings elements from host memory to their places. A reader that writes to other memory is asked while the
// load is staged.
bool is_read_later(const StateTensor& values) { return values.reader && host_sees(values.reader->device()); }

Tensor part_in_memory(const StagedLoad::Part& part, ContextDevice& device) {
  return moved_to(device, in_memory(part.entry, part.place.range(numel(part.shape)), part.shape));
}

void require_fit(const StateTensor& saved, const StateTensor& target) {
  if (saved.dtype() != target.dtype() || saved.global_shape() != target.global_shape()) {
    fail(Code::kFormat, "", "tensor %.64s is %s %s, expected %s %s", target.name.c_str(), name_of(saved.dtype()),
         ShapeText(saved.global_shape()).text, name_of(target.dtype()), ShapeText(target.global_shape()).text);
  }
  if (!contains(saved.held(), target.held())) {
    fail(Code::kFormat, "", "tensor %.64s has %s, expected %s", target.name.c_str(), text_of(saved.held()).c_str(),
         text_of(target.held()).c_str());
  }
}

StagedLoad::Place place_of(const StateTensor& target) {
  return {target.offset(), target.range ? target.range->box : nullptr};
}

void stage_store(StagedLoad& load, const StateTensor& target, const StateTensor& saved) {
  load.add_write({.entry = saved, .place = place_of(target), .shape = target.shape()}, target.reader->device(),
                 target.dtype(), [reader = target.reader](const Tensor& values) { reader->as_store()->write(values); });
}

}  // namespace

// Memory for one tensor at a time on each device, as large as the largest needs. The first pass over all steps finds
// the size, the second one hands out the tensors.
class StagedLoad::Scratch {
 public:
  // All memory is free for the next tensor.
  void restart() {
    for (Memory& memory : memories_) memory.used = 0;
  }
  // Undefined until allocate() was called.
  Tensor take(ContextDevice& device, DType dtype, const Shape& shape) {
    Memory& memory = memory_of(device);
    const size_t offset = (memory.used + kAlignment - 1) / kAlignment * kAlignment;
    memory.used = offset + static_cast<size_t>(numel(shape)) * size_of(dtype);
    memory.size = std::max(memory.size, memory.used);
    if (!memory.storage) return {};
    return Tensor(memory.storage, dtype, shape, contiguous_strides(shape),
                  static_cast<int64_t>(offset / size_of(dtype)));
  }
  void allocate() {
    for (Memory& memory : memories_) {
      memory.storage = Storage::allocate(*memory.device, memory.size, Category::kWorkspace);
    }
  }

 private:
  struct Memory {
    ContextDevice* device;
    size_t used = 0;
    size_t size = 0;
    Ref<Storage> storage = {};
  };

  static constexpr size_t kAlignment = 64;

  Memory& memory_of(ContextDevice& device) {
    for (Memory& memory : memories_) {
      if (memory.device == &device) return memory;
    }
    return memories_.emplace_back(Memory{.device = &device});
  }

  std::vector<Memory> memories_;
};

void StagedLoad::add(Action action) {
  steps_.push_back({.write = [action = std::move(action)](const Tensor&) { action(); }});
}

void StagedLoad::add_read(const StateTensor& values, const Place& place, const Tensor& target, Action then) {
  if (!is_read_later(values)) {
    const Part part = {.entry = values, .place = place, .shape = target.shape()};
    return add([from = part_in_memory(part, target.device()), target, then = std::move(then)] {
      copy(from, target);
      if (then) then();
    });
  }
  Step step = {.entry = {.name = {}, .range = values.range, .reader = values.reader},
               .place = place,
               .device = &target.device(),
               .dtype = values.dtype(),
               .shape = target.shape()};
  if (target.dtype() == values.dtype() && target.is_contiguous()) {
    step.target = target;
    if (then) step.write = [then = std::move(then)](const Tensor&) { then(); };
  } else {
    step.write = [target, then = std::move(then)](const Tensor& read) {
      copy(read, target);
      if (then) then();
    };
  }
  steps_.push_back(std::move(step));
}

void StagedLoad::add_write(const Part& part, ContextDevice& device, DType dtype, Write write) {
  if (!is_read_later(part.entry)) {
    const Tensor moved = part_in_memory(part, device);
    return add([given = moved.dtype() == dtype ? contiguous(moved) : converted(moved, dtype),
                write = std::move(write)] { write(given); });
  }
  steps_.push_back({.entry = {.name = {}, .range = part.entry.range, .reader = part.entry.reader},
                    .place = part.place,
                    .write = std::move(write),
                    .device = &device,
                    .dtype = dtype,
                    .shape = part.shape});
}

void StagedLoad::append(StagedLoad other) {
  steps_.insert(steps_.end(), std::make_move_iterator(other.steps_.begin()),
                std::make_move_iterator(other.steps_.end()));
}

void StagedLoad::find_memory(Step& step, Scratch& scratch) {
  const DType read_dtype = step.entry.dtype();
  scratch.restart();
  step.as_read = step.target.defined() ? step.target : scratch.take(*step.device, read_dtype, step.shape);
  step.values = step.dtype == read_dtype ? step.as_read : scratch.take(*step.device, step.dtype, step.shape);
  step.host =
      host_sees(*step.device) ? step.as_read : scratch.take(step.entry.reader->device(), read_dtype, step.shape);
}

void StagedLoad::prepare() {
  Scratch scratch;
  for (bool is_allocated : {false, true}) {
    if (is_allocated) scratch.allocate();
    for (Step& step : steps_) {
      if (step.entry.reader) find_memory(step, scratch);
    }
  }
}

// Queued work may still use the memory that the reader writes to: that of a live tensor, or scratch memory with the
// values of the step before.
void StagedLoad::run(const Step& step) {
  if (step.entry.reader) {
    check(step.host.device().device->stream().synchronize());
    if (step.host.is_same(step.target)) step.target.bump_version();
    read_elements(step.entry, step.place.range(step.host.numel()), step.host);
    if (!step.host.is_same(step.as_read)) write_from_host(step.as_read, step.as_read.dtype(), step.host.data());
    if (!step.as_read.is_same(step.values)) copy(step.as_read, step.values);
  }
  if (step.write) step.write(step.values);
}

void StagedLoad::commit() const {
  for (const Step& step : steps_) run(step);
}

void StagedLoad::commit_or_tell(const char* object) const {
  try {
    commit();
  } catch (const Error& error) {
    char message[Error::kMessageCapacity];
    std::snprintf(message, sizeof message, "%s was partly loaded and must be loaded again: %.380s", object,
                  error.what());
    throw Error(error.code(), error.native_code(), error.argument(), message);
  }
}

StagedLoad stage_copy(const StateDict& targets, const StateDict& values) {
  StagedLoad load;
  for (const StateTensor& target : targets.tensors()) {
    const Tensor& live = target.tensor;
    const StateTensor* saved = values.find(target.name);
    if (saved == nullptr) fail(Code::kFormat, "", "tensor %.64s is missing", target.name.c_str());
    require_fit(*saved, target);
    if (target.reader && target.reader->as_store() != nullptr) {
      stage_store(load, target, *saved);
      continue;
    }
    if (target.reader) fail(Code::kState, "", "tensor %.64s is in a file that is only read", target.name.c_str());
    if (live.storage()->is_read_only() || may_overlap(live.shape(), live.strides())) {
      fail(Code::kState, "", "tensor %.64s is over memory that is read-only, or whose elements overlap",
           target.name.c_str());
    }
    load.add_read(*saved, place_of(target), live);
  }
  return load;
}

}  // namespace halftone
