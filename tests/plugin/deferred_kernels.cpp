#include "deferred_kernels.h"

#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend/kernels/wrapped.h"
#include "cpu/kernel_groups.h"
#include "deferred_stream.h"

namespace halftone::deferred {
namespace {

// keep() copies an argument for the time after the call, as backend/device.h demands, and given() returns what the
// CPU's kernel gets then. Views and settings are plain data. Pointers in them are device memory, which is not copied.
template <class T>
T keep(const T& argument) {
  return argument;
}
template <class T>
const T& given(const T& argument) {
  return argument;
}

std::string keep(const char* text) { return text; }
const char* given(const std::string& text) { return text.c_str(); }

Status add(Stream& stream, Work work) { return static_cast<DeferredStream&>(stream).add(std::move(work)); }

// The CPU's function for an entry of a group's table.
template <auto kEntry, class Table>
auto cpu_entry() {
  return cpu::kernels().*group_of(static_cast<const Table*>(nullptr)).*kEntry;
}

template <auto kEntry>
struct Queued;

template <class Table, class... Arguments, Status (*Table::*kEntry)(Stream&, Arguments...) noexcept>
struct Queued<kEntry> {
  static Status run(Stream& stream, Arguments... arguments) noexcept try {
    return add(stream, [kept = std::make_tuple(keep(arguments)...)](Stream& cpu) {
      const auto call = [&](const auto&... each) { return cpu_entry<kEntry, Table>()(cpu, given(each)...); };
      return std::apply(call, kept);
    });
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory to keep a kernel's arguments");
  }
};

// The size of a workspace and the schedule of a product depend on host arguments alone: the CPU computes them at
// once.
template <class Table, class Plan, class... Arguments, Plan (*Table::*kEntry)(Stream&, Arguments...) noexcept>
requires(!std::is_same_v<Plan, Status>) struct Queued<kEntry> {
  static Plan run(Stream& stream, Arguments... arguments) noexcept {
    return cpu_entry<kEntry, Table>()(static_cast<DeferredStream&>(stream).cpu(), arguments...);
  }
};

}  // namespace

const Kernels& kernels() noexcept {
  static constexpr Kernels table = wrapped_kernels<Queued>();
  return table;
}

}  // namespace halftone::deferred
