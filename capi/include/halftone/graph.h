/** @file
 * Graphs: a training step that is recorded once and repeated without the calls that made it. A GPU then starts the
 * whole step at once, which saves the time of hundreds of launches. The step is a function of the caller: zero_grad,
 * forward, loss, backward, optimizer step, and those of a gradient scaler.
 *
 * htone_graph_capture runs the step once, and each htone_graph_replay runs it once more: the results are bitwise those
 * of calling the function. Weights, gradients, moments, the loss scale, the step count, schedules, the generator and
 * running statistics go on as in ordinary steps, so ordinary steps, checkpoints and replays may follow each other in
 * any order. On a device that cannot record, such as the CPU, capture and replay call the function: a program is the
 * same for all devices.
 *
 * Rules of the function, which a device that records needs:
 * - Run it once or twice before the capture, so that lists of the optimizer are there.
 * - It must not wait for the device or read from it, and must not transfer host memory. Such a call in it returns
 *   STATE, and so does the capture. Write the data of a step into tensors that the function reads
 *   (htone_tensor_write), before the replay.
 * - Everything but the data must be the same in each step. Values that the function computes on the CPU are those of
 *   the capture, except what the library keeps itself: random numbers, schedules, learning rates and the loss scale.
 * - It holds whole steps. Where it does not zero gradients itself, they must be there, or not be there, at a replay as
 *   they were at the capture; otherwise the replay returns STATE.
 * - Tensors that it leaves behind, such as the loss, keep their memory, and each replay writes them again.
 * - Averages of weights (ema.h) are updated outside of the function, after a replay.
 * - No other thread uses the device during a capture. One thread at a time uses a graph.
 * - Operations on other devices are part of the capture alone.
 *
 * Memory that the recorded work uses stays reserved until the graph is released: what the function allocated, and what
 * was allocated when the capture began. Objects that the function used may be released before. Gradients that the
 * function writes keep their memory until then, also when they are zeroed.
 *
 * @code
 * static htone_status forward_step(void* user) {
 *   htone_tensor* const* tensors = user; // x, then y, which exists already
 *   htone_tensor* result;
 *   htone_status status = htone_relu(tensors[0], &result);
 *   if (status == HTONE_OK) status = htone_tensor_copy_from(tensors[1], result);
 *   htone_tensor_release(result);
 *   return status;
 * }
 *
 * htone_graph* graph;
 * htone_tensor* tensors[2];
 * tensors[0] = x;
 * check(htone_tensor_zeros_like(x, &tensors[1]));
 * check(htone_graph_capture(device, forward_step, tensors, NULL, &graph));
 * check(htone_tensor_fill(x, 7)); // the data of the next step
 * check(htone_graph_replay(graph));
 * check(htone_tensor_read(tensors[1], HTONE_F32, values, sizeof values));
 * assert(values[5] == 7);
 * check(htone_graph_release(graph));
 * @endcode
 */
#ifndef HALFTONE_GRAPH_H
#define HALFTONE_GRAPH_H

#include "halftone/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A step that was recorded. */
typedef struct htone_graph htone_graph;

/** One step. Any status except HTONE_OK stops the capture or the replay. */
typedef htone_status (*htone_step_fn)(void* user);

/** Runs a step, and records its work on the device. On a device that records, nothing of the work runs before the
 * function has returned. If the capture fails there, the work never runs: weights and generator are as before, and
 * gradients that the function computed are invalid until they are zeroed.
 *
 * @param[in] device retained.
 * @param[in] callback the step; called once on a device that records, else in each replay, too. No lock is held.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user` when the graph is released for the last time; optional. On failure it does
 *   not run.
 * @param[out] out the graph; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a call that cannot be recorded, or another capture is under way),
 *   CALLBACK (with the step's status as the native code), UNSUPPORTED (more than 62 schedules that the CPU computes),
 *   DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_graph_capture(htone_device* device, htone_step_fn callback, void* user,
                                           void (*destroy)(void* user), htone_graph** out);

/** Runs the step once more. Does not wait for the device, unless the CPU computes a schedule of the step.
 *
 * @param[in] graph borrowed.
 * @errors INVALID_HANDLE, STATE (weights or gradients have moved since the capture, gradients are there that were not,
 *   or the reverse, a capture is under way, or the graph is being replayed already, as by its own step), CALLBACK (of a
 *   schedule, or of the step on a device that does not record), DEVICE.
 * @since 0.1
 */
HTONE_API htone_status htone_graph_replay(htone_graph* graph);

/** Returns whether a replay repeats recorded work, or calls the function.
 *
 * @param[in] graph borrowed.
 * @param[out] out_recorded 1 if the device has recorded the step, else 0; caller's memory.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_graph_is_recorded(htone_graph* graph, int32_t* out_recorded);

/** Adds a reference.
 *
 * @param[in] graph borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_graph_retain(htone_graph* graph);

/** Releases a reference. Replays that are queued still run. NULL is OK.
 *
 * @param[in] graph its reference is the caller's; optional.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_graph_release(htone_graph* graph);

#ifdef __cplusplus
}
#endif

#endif /* HALFTONE_GRAPH_H */
