/** @file
 * The functions that retain and release each type of object, under one name for C++17. handle.hpp uses them; a program
 * rarely needs them.
 */
#ifndef HALFTONE_REFERENCE_HPP
#define HALFTONE_REFERENCE_HPP

#include "halftone/halftone.h"

namespace htone {

/** The functions that retain and release each type of object. */
namespace reference {

// clang-format off
inline htone_status retain(htone_autocast_policy* object) { return htone_autocast_policy_retain(object); }
inline htone_status retain(htone_batches* object) { return htone_batches_retain(object); }
inline htone_status retain(htone_checkpoint* object) { return htone_checkpoint_retain(object); }
inline htone_status retain(htone_context* object) { return htone_context_retain(object); }
inline htone_status retain(htone_device* object) { return htone_device_retain(object); }
inline htone_status retain(htone_ema* object) { return htone_ema_retain(object); }
inline htone_status retain(htone_function* object) { return htone_function_retain(object); }
inline htone_status retain(htone_grad_scaler* object) { return htone_grad_scaler_retain(object); }
inline htone_status retain(htone_graph* object) { return htone_graph_retain(object); }
inline htone_status retain(htone_hook* object) { return htone_hook_retain(object); }
inline htone_status retain(htone_module* object) { return htone_module_retain(object); }
inline htone_status retain(htone_optimizer* object) { return htone_optimizer_retain(object); }
inline htone_status retain(htone_parameter* object) { return htone_parameter_retain(object); }
inline htone_status retain(htone_parameters* object) { return htone_parameters_retain(object); }
inline htone_status retain(htone_recipe* object) { return htone_recipe_retain(object); }
inline htone_status retain(htone_sampler* object) { return htone_sampler_retain(object); }
inline htone_status retain(htone_scaled* object) { return htone_scaled_retain(object); }
inline htone_status retain(htone_schedule* object) { return htone_schedule_retain(object); }
inline htone_status retain(htone_state_dict* object) { return htone_state_dict_retain(object); }
inline htone_status retain(htone_statistics* object) { return htone_statistics_retain(object); }
inline htone_status retain(htone_tensor* object) { return htone_tensor_retain(object); }
inline htone_status retain(htone_trainer* object) { return htone_trainer_retain(object); }

inline htone_status release(htone_autocast_policy* object) { return htone_autocast_policy_release(object); }
inline htone_status release(htone_batches* object) { return htone_batches_release(object); }
inline htone_status release(htone_checkpoint* object) { return htone_checkpoint_release(object); }
inline htone_status release(htone_context* object) { return htone_context_release(object); }
inline htone_status release(htone_device* object) { return htone_device_release(object); }
inline htone_status release(htone_ema* object) { return htone_ema_release(object); }
inline htone_status release(htone_function* object) { return htone_function_release(object); }
inline htone_status release(htone_grad_scaler* object) { return htone_grad_scaler_release(object); }
inline htone_status release(htone_graph* object) { return htone_graph_release(object); }
inline htone_status release(htone_hook* object) { return htone_hook_release(object); }
inline htone_status release(htone_module* object) { return htone_module_release(object); }
inline htone_status release(htone_optimizer* object) { return htone_optimizer_release(object); }
inline htone_status release(htone_parameter* object) { return htone_parameter_release(object); }
inline htone_status release(htone_parameters* object) { return htone_parameters_release(object); }
inline htone_status release(htone_recipe* object) { return htone_recipe_release(object); }
inline htone_status release(htone_sampler* object) { return htone_sampler_release(object); }
inline htone_status release(htone_scaled* object) { return htone_scaled_release(object); }
inline htone_status release(htone_schedule* object) { return htone_schedule_release(object); }
inline htone_status release(htone_scope* object) { return htone_scope_end_later(object); }
inline htone_status release(htone_state_dict* object) { return htone_state_dict_release(object); }
inline htone_status release(htone_statistics* object) { return htone_statistics_release(object); }
inline htone_status release(htone_tensor* object) { return htone_tensor_release(object); }
inline htone_status release(htone_trainer* object) { return htone_trainer_release(object); }
// clang-format on

}  // namespace reference

}  // namespace htone

#endif
