/** @file
 * halftone: mixed-precision training of neural networks for C programs. This header includes all others; each of them
 * can also be included alone. base.h states the conventions of the interface.
 *
 * @code
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * for (int step = 0; step < 10; ++step) {
 *   check(htone_module_forward(model, x, NULL, &y));
 *   check(htone_tensor_zeros_like(y, &loss));
 *   check(htone_mse_loss(y, loss, HTONE_REDUCTION_MEAN, &loss));
 *   check(htone_optimizer_zero_grad(optimizer));
 *   check(htone_tensor_backward(loss, NULL, 0));
 *   check(htone_optimizer_step(optimizer));
 * }
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 10);
 * @endcode
 */
#ifndef HALFTONE_HALFTONE_H
#define HALFTONE_HALFTONE_H

#include "halftone/activation.h"
#include "halftone/advice.h"
#include "halftone/amp.h"
#include "halftone/analysis.h"
#include "halftone/arithmetic.h"
#include "halftone/attention.h"
#include "halftone/autograd.h"
#include "halftone/base.h"
#include "halftone/cache.h"
#include "halftone/checkpoint.h"
#include "halftone/collectives.h"
#include "halftone/comm.h"
#include "halftone/compare.h"
#include "halftone/context.h"
#include "halftone/conv.h"
#include "halftone/conv3d.h"
#include "halftone/copy.h"
#include "halftone/ctc.h"
#include "halftone/custom.h"
#include "halftone/data.h"
#include "halftone/dataset.h"
#include "halftone/ddp.h"
#include "halftone/device.h"
#include "halftone/devices.h"
#include "halftone/distance.h"
#include "halftone/dlpack.h"
#include "halftone/dtype.h"
#include "halftone/elementwise.h"
#include "halftone/ema.h"
#include "halftone/factory.h"
#include "halftone/forward.h"
#include "halftone/fsdp.h"
#include "halftone/generate.h"
#include "halftone/generator.h"
#include "halftone/grad_scaler.h"
#include "halftone/gradients.h"
#include "halftone/graph.h"
#include "halftone/grid_sample.h"
#include "halftone/histogram.h"
#include "halftone/hooks.h"
#include "halftone/image.h"
#include "halftone/in_place.h"
#include "halftone/index.h"
#include "halftone/init.h"
#include "halftone/integers.h"
#include "halftone/interrupt.h"
#include "halftone/introspection.h"
#include "halftone/launch.h"
#include "halftone/linear_algebra.h"
#include "halftone/loss.h"
#include "halftone/module_copy.h"
#include "halftone/moments.h"
#include "halftone/monitor.h"
#include "halftone/nn.h"
#include "halftone/norm.h"
#include "halftone/norm_guard.h"
#include "halftone/norm_modules.h"
#include "halftone/ops.h"
#include "halftone/optim.h"
#include "halftone/optimizer.h"
#include "halftone/order_statistics.h"
#include "halftone/parameters.h"
#include "halftone/partial_load.h"
#include "halftone/pool.h"
#include "halftone/pool3d.h"
#include "halftone/product.h"
#include "halftone/random.h"
#include "halftone/recipe.h"
#include "halftone/recompute.h"
#include "halftone/recurrent.h"
#include "halftone/reduce.h"
#include "halftone/repeat.h"
#include "halftone/run_history.h"
#include "halftone/safetensors.h"
#include "halftone/scaled.h"
#include "halftone/scatter.h"
#include "halftone/schedule.h"
#include "halftone/schedule_rules.h"
#include "halftone/scope.h"
#include "halftone/scope_stack.h"
#include "halftone/search.h"
#include "halftone/select.h"
#include "halftone/shape.h"
#include "halftone/state_dict.h"
#include "halftone/statistics.h"
#include "halftone/store.h"
#include "halftone/tensor.h"
#include "halftone/trace.h"
#include "halftone/trainer.h"
#include "halftone/trainer_parts.h"
#include "halftone/transformer.h"
#include "halftone/upsample.h"
#include "halftone/version.h"
#include "halftone/what_if.h"

#endif
