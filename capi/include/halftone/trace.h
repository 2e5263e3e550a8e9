/** @file
 * A trace: a timeline of this process as a file that Perfetto (https://ui.perfetto.dev) and chrome://tracing open. It
 * shows, for each thread, when modules ran forward, when the gradients of each operation were computed, which
 * operations both called, and the share of the library's own threads. On a device that works asynchronously, an
 * operation's event is the time that it took to hand the work over.
 *
 * A program without a trace pays a load and a branch for each operation. A trace takes a lock and 32 bytes of memory
 * for each event.
 *
 * @code
 * check(htone_trace_start(NULL));
 * check(htone_module_forward(model, x, NULL, &y));
 * check(htone_trace_stop(context, "forward.json"));
 * assert(remove("forward.json") == 0);
 * @endcode
 */
#ifndef HALFTONE_TRACE_H
#define HALFTONE_TRACE_H

#include "halftone/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_trace_start. */
typedef struct htone_trace_options {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  int64_t max_events;   /**< later events are left out and counted; at least 1; default 1000000 */
} htone_trace_options;

/** The defaults, to initialize a htone_trace_options where it is declared. */
#define HTONE_TRACE_OPTIONS_INIT \
  { sizeof(htone_trace_options), 0, 1000000 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_trace_options_init(htone_trace_options* options);

/** Begins the trace of this process: of all its threads and contexts. There is one at a time.
 *
 * @param[in] options optional.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, STATE (a trace is on already).
 * @since 0.1
 */
HTONE_API htone_status htone_trace_start(const htone_trace_options* options);

/** Ends the trace and writes it as JSON in Chrome's Trace Event Format: complete events (`"ph": "X"`) with the name of
 * the operation, or the path and kind of the module; the category operation, layer, backward or worker; the thread; and
 * begin and duration in microseconds from the start of the trace. `otherData.dropped_events` counts the events beyond
 * max_events. What had not ended yet is left out. A complete file replaces the one at the path, which must be
 * a regular one. If the file cannot be written, the trace goes on.
 *
 * @param[in] context its file functions write the file.
 * @param[in] path zero-terminated.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no trace is on), IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trace_stop(htone_context* context, const char* path);

#ifdef __cplusplus
}
#endif

#endif
