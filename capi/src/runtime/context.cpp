#include "halftone/context.h"

#include <mutex>

#include "base/call.h"
#include "core/fork_hook.h"
#include "runtime/context.h"
#include "runtime/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

constexpr int32_t kMaxThreadsOption = 256;

template <class Table>
Table checked_table(const Table* table, const char* field) {
  if (table->struct_size != sizeof *table) {
    fail(Code::kInvalidArgument, "options", "options.%s.struct_size=%u, expected %zu", field, table->struct_size,
         sizeof *table);
  }
  return *table;
}

void require_functions(const char* field, std::initializer_list<bool> present) {
  for (bool there : present) {
    if (!there) fail(Code::kInvalidArgument, "options", "options.%s has a NULL function", field);
  }
}

HostMemory host_memory(const htone_allocator* allocator) {
  const htone_allocator table = checked_table(allocator, "allocator");
  require_functions("allocator", {table.allocate != nullptr, table.deallocate != nullptr});
  return {.user = table.user, .allocate = table.allocate, .deallocate = table.deallocate};
}

Io host_io(const htone_io* io) {
  const htone_io table = checked_table(io, "io");
  require_functions("io",
                    {table.open != nullptr, table.close != nullptr, table.read != nullptr, table.write != nullptr,
                     table.size != nullptr, table.sync != nullptr, table.rename != nullptr, table.remove != nullptr,
                     table.make_directory != nullptr, table.list != nullptr, table.lock != nullptr});
  return {.user = table.user,
          .open = table.open,
          .close = table.close,
          .read = table.read,
          .write = table.write,
          .size = table.size,
          .sync = table.sync,
          .rename = table.rename,
          .remove = table.remove,
          .make_directory = table.make_directory,
          .list = table.list,
          .lock = table.lock,
          .copy_permissions = {}};
}

Clock host_clock(const htone_clock* clock) {
  const htone_clock table = checked_table(clock, "clock");
  require_functions("clock", {table.monotonic_ns != nullptr, table.wall_ns != nullptr});
  return {.user = table.user, .monotonic_ns = table.monotonic_ns, .wall_ns = table.wall_ns};
}

Ref<Context> make_context(const htone_context_options& options) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreadsOption) {
    fail(Code::kInvalidArgument, "options", "options.num_threads=%d is outside [0, %d]", options.num_threads,
         kMaxThreadsOption);
  }
  const htone_matmul_precision precision = options.matmul_precision;
  if (precision != HTONE_MATMUL_PRECISION_HIGHEST && precision != HTONE_MATMUL_PRECISION_TF32) {
    fail(Code::kInvalidArgument, "options", "options.matmul_precision=%d, expected 0 or 1", precision);
  }
  ContextOptions inner;
  inner.num_threads = options.num_threads;
  inner.seed = options.seed;
  inner.allows_tf32 = precision == HTONE_MATMUL_PRECISION_TF32;
  if (options.allocator != nullptr) inner.memory = host_memory(options.allocator);
  if (options.io != nullptr) inner.io = host_io(options.io);
  if (options.clock != nullptr) inner.clock = host_clock(options.clock);
  return make_ref<Context>(inner);
}

// Never destroyed: threads may use the process's context until the process ends.
Ref<Context> default_context() {
  static ForkMutex* const mutex = new ForkMutex;
  static Ref<Context>* const context = new Ref<Context>;
  std::unique_lock lock(*mutex);
  if (*context) return *context;
  lock.unlock();
  // The lock is not held, because a context registers for forks. Two threads may make one each; the first is kept.
  Ref<Context> made = make_context(htone_context_options(HTONE_CONTEXT_OPTIONS_INIT));
  const std::lock_guard relock(*mutex);
  if (!*context) *context = std::move(made);
  return *context;
}

// The caller's options in full. The tables that they point to are read when the context is made.
htone_context_options context_options(const htone_context_options* options) {
  return options_or_default(options, htone_context_options(HTONE_CONTEXT_OPTIONS_INIT));
}

const char* plugin_path(const char* path, ArgumentName name) {
  if (require(path, name) == '\0') fail(Code::kInvalidArgument, "path", "path is empty");
  return path;
}

}  // namespace

htone_status htone_context_create(const htone_context_options* options, htone_context** out) {
  return Call(make_context, as<context_options>(options), out);
}

htone_status htone_context_default(htone_context** out) { return Call(default_context, out); }

htone_status htone_context_num_threads(htone_context* context, int32_t* out_count) {
  return Call([](Context& target) { return target.num_threads(); }, context, out_count);
}

htone_status htone_context_load_plugin(htone_context* context, const char* path) {
  return Call(&Context::load_plugin, context, as<plugin_path>(path));
}
