/* The calls of api_calls_fuzz.c, by topic. Each reads its arguments from the machine and returns the status of its last
 * library call. */
#ifndef HALFTONE_TESTS_FUZZ_CALLS_H
#define HALFTONE_TESTS_FUZZ_CALLS_H

#include "machine.h"

typedef htone_status (*Call)(Machine*);

/* tensors.c */
htone_status make_tensor(Machine* machine);
htone_status make_over_buffer(Machine* machine);
htone_status lend_tensor(Machine* machine);
htone_status change_tensor(Machine* machine);
htone_status read_tensor(Machine* machine);
htone_status describe_tensor(Machine* machine);
htone_status go_backward(Machine* machine);
htone_status release_something(Machine* machine);

/* arithmetic.c */
htone_status call_unary(Machine* machine);
htone_status call_binary(Machine* machine);
htone_status call_ternary(Machine* machine);
htone_status call_numbers(Machine* machine);
htone_status call_reduce(Machine* machine);
htone_status call_along(Machine* machine);
htone_status call_convert(Machine* machine);
htone_status call_loss(Machine* machine);
htone_status call_einsum(Machine* machine);

/* layouts.c */
htone_status call_reshape(Machine* machine);
htone_status call_view(Machine* machine);
htone_status call_join(Machine* machine);
htone_status call_split(Machine* machine);
htone_status call_pad(Machine* machine);
htone_status call_index(Machine* machine);

/* choose.c */
htone_status call_choose(Machine* machine);
htone_status call_resize(Machine* machine);
htone_status call_conv3d(Machine* machine);

/* fused.c */
htone_status call_layer(Machine* machine);
htone_status call_attention(Machine* machine);
htone_status call_round(Machine* machine);

/* layers.c */
htone_status call_conv(Machine* machine);
htone_status call_pool(Machine* machine);
htone_status call_norm(Machine* machine);
htone_status make_module(Machine* machine);
htone_status make_conv_module(Machine* machine);
htone_status make_plain_module(Machine* machine);
htone_status join_modules(Machine* machine);
htone_status use_module(Machine* machine);
htone_status read_module(Machine* machine);

/* callbacks.c */
htone_status make_function(Machine* machine);
htone_status record_function(Machine* machine);
htone_status make_custom_module(Machine* machine);
htone_status add_to_module(Machine* machine);
htone_status change_module(Machine* machine);
htone_status add_hook(Machine* machine);
htone_status remove_hook(Machine* machine);
htone_status make_callback_schedule(Machine* machine);
/* The number of user pointers of callbacks that the library still owns. */
int lent_users(void);

/* distances.c */
htone_status call_distance(Machine* machine);
htone_status call_image(Machine* machine);
htone_status call_volume(Machine* machine);

/* training.c */
htone_status make_parameter(Machine* machine);
htone_status use_parameter(Machine* machine);
htone_status make_parameters(Machine* machine);
htone_status read_parameters(Machine* machine);
htone_status make_optimizer(Machine* machine);
htone_status add_group(Machine* machine);
htone_status use_optimizer(Machine* machine);
htone_status make_schedule(Machine* machine);
htone_status make_scaler(Machine* machine);
htone_status use_scaler(Machine* machine);
htone_status make_ema(Machine* machine);
htone_status use_ema(Machine* machine);

/* scaled.c */
htone_status make_scaled(Machine* machine);
htone_status load_scaled(Machine* machine);
htone_status use_scaled(Machine* machine);

/* statistics.c */
htone_status make_statistics(Machine* machine);
htone_status record_step(Machine* machine);
htone_status use_statistics(Machine* machine);

/* modes.c */
htone_status make_policy(Machine* machine);
htone_status use_policy(Machine* machine);
htone_status set_recipe(Machine* machine);
htone_status begin_scope(Machine* machine);
htone_status end_scope(Machine* machine);
htone_status ask_device(Machine* machine);

/* state.c */
htone_status make_state_dict(Machine* machine);
htone_status use_state_dict(Machine* machine);
htone_status load_state_dict(Machine* machine);
htone_status make_sampler(Machine* machine);
htone_status use_sampler(Machine* machine);
htone_status make_checkpoint(Machine* machine);
htone_status add_to_checkpoint(Machine* machine);
htone_status use_checkpoint(Machine* machine);

#endif
