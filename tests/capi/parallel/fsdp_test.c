/* Sharded training through the C API: a linear layer of 600 weights on two ranks, which keep 512 and 88 of them. */
#include <math.h>
#include <string.h>

#include "run_tests.h"
#include "thread_ranks.h"

enum { kRanks = 2, kFeatures = 600, kFirstShard = 512 };

static htone_module* make_model(htone_device* device) {
  htone_module* model = NULL;
  htone_linear_options options = HTONE_LINEAR_OPTIONS_INIT;
  options.bias = 0;
  REQUIRE_OK(htone_module_create_linear(device, kFeatures, 1, &options, &model));
  return model;
}

static htone_parameter* weight_of(htone_module* model) {
  htone_parameters* parameters = NULL;
  htone_parameter* weight = NULL;
  REQUIRE_OK(htone_parameters_create_from_module(model, &parameters));
  REQUIRE_OK(htone_parameters_at(parameters, 0, &weight));
  REQUIRE_OK(htone_parameters_release(parameters));
  return weight;
}

static htone_status read_weights(htone_module* model, float out[kFeatures]) {
  htone_parameter* weight = weight_of(model);
  htone_tensor* values = NULL;
  const htone_status status = htone_parameter_read(weight, HTONE_F32, &values);
  if (status == HTONE_OK) REQUIRE_OK(htone_tensor_read(values, HTONE_F32, out, sizeof(float) * kFeatures));
  REQUIRE_OK(htone_tensor_release(values));
  REQUIRE_OK(htone_parameter_release(weight));
  return status;
}

static htone_fsdp* shard_offloaded(const ThreadRank* rank, htone_module* model, htone_sharding sharding,
                                   htone_offload offload) {
  htone_fsdp* fsdp = NULL;
  htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
  options.sharding = sharding;
  options.offload = offload;
  options.offload_path = "/tmp";
  REQUIRE_OK(htone_fsdp_create(model, rank->group, NULL, &options, &fsdp));
  return fsdp;
}

static htone_fsdp* shard(const ThreadRank* rank, htone_module* model, htone_sharding sharding) {
  return shard_offloaded(rank, model, sharding, HTONE_OFFLOAD_NONE);
}

static htone_optimizer* make_sgd(htone_module* model) {
  htone_optimizer* optimizer = NULL;
  htone_optimizer_options options = HTONE_SGD_OPTIONS_INIT;
  options.lr = 0.5;
  REQUIRE_OK(htone_optimizer_create(model, &options, &optimizer));
  return optimizer;
}

/* For one row whose elements are all `value`, which is the weight's gradient. */
static void backward_of_row(const ThreadRank* rank, htone_module* model, double value) {
  htone_tensor *x = NULL, *y = NULL;
  REQUIRE_OK(htone_tensor_create_ones(rank->device, HTONE_F32, 2, (int64_t[]){1, kFeatures}, &x));
  REQUIRE_OK(htone_tensor_fill(x, value));
  REQUIRE_OK(htone_module_forward(model, x, NULL, &y));
  REQUIRE_OK(htone_tensor_backward(y, NULL, 0));
  REQUIRE_OK(htone_tensor_release(x));
  REQUIRE_OK(htone_tensor_release(y));
}

static int64_t bytes_of(const ThreadRank* rank, int category) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  REQUIRE_OK(htone_device_memory_stats(rank->device, &stats));
  return stats.by_category[category];
}

/* Three steps; the gradients of the ranks are 1 and 3, then 2 and 4, and so on. */
static void train(const ThreadRank* rank, htone_sharding sharding, htone_offload offload) {
  htone_module* model = make_model(rank->device);
  float first[kFeatures], last[kFeatures];
  if (rank->number == 0) REQUIRE_OK(read_weights(model, first));
  htone_fsdp* fsdp = shard_offloaded(rank, model, sharding, offload);
  htone_optimizer* optimizer = make_sgd(model);
  REQUIRE_OK(htone_fsdp_retain(fsdp));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  for (int step = 0; step < 3; ++step) {
    REQUIRE_OK(htone_optimizer_zero_grad(optimizer));
    backward_of_row(rank, model, 1 + step + 2 * rank->number);
    REQUIRE_OK(htone_optimizer_step(optimizer));
  }
  htone_scope* scope = NULL;
  REQUIRE_OK(htone_fsdp_gather_begin(fsdp, &scope));
  REQUIRE_OK(read_weights(model, last));
  REQUIRE_OK(htone_scope_end(scope));
  for (int i = 0; rank->number == 0 && i < kFeatures; ++i) REQUIRE(fabsf(last[i] - (first[i] - 4.5f)) < 1e-5f);
  REQUIRE_OK(htone_optimizer_release(optimizer));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
}

static void train_optimizer(ThreadRank* rank) { train(rank, HTONE_SHARDING_OPTIMIZER, HTONE_OFFLOAD_NONE); }
static void train_gradients(ThreadRank* rank) { train(rank, HTONE_SHARDING_GRADIENTS, HTONE_OFFLOAD_NONE); }
static void train_full(ThreadRank* rank) { train(rank, HTONE_SHARDING_FULL, HTONE_OFFLOAD_NONE); }
static void train_in_host_memory(ThreadRank* rank) { train(rank, HTONE_SHARDING_FULL, HTONE_OFFLOAD_HOST); }
static void train_in_a_file(ThreadRank* rank) { train(rank, HTONE_SHARDING_FULL, HTONE_OFFLOAD_FILE); }

static void ranks_train_from_averaged_gradients_and_rank_0s_weights(void** state) {
  (void)state;
  run_thread_ranks(kRanks, train_optimizer);
  run_thread_ranks(kRanks, train_gradients);
  run_thread_ranks(kRanks, train_full);
  run_thread_ranks(kRanks, train_in_host_memory);
  run_thread_ranks(kRanks, train_in_a_file);
}

/* The gradients of the ranks are 1 and 3. A tensor that was made before the step tells of it. */
static void hold_weights_across_a_step(ThreadRank* rank) {
  htone_module* model = make_model(rank->device);
  htone_fsdp* fsdp = shard(rank, model, HTONE_SHARDING_GRADIENTS);
  htone_optimizer* optimizer = make_sgd(model);
  htone_parameter* weight = weight_of(model);
  htone_tensor* held = NULL;
  float before[kFeatures], after[kFeatures];
  REQUIRE_OK(htone_parameter_tensor(weight, &held));
  REQUIRE_OK(htone_tensor_read(held, HTONE_F32, before, sizeof before));
  for (int step = 1; step <= 20; ++step) {
    REQUIRE_OK(htone_optimizer_zero_grad(optimizer));
    backward_of_row(rank, model, 1 + 2 * rank->number);
    REQUIRE_OK(htone_optimizer_step(optimizer));
    REQUIRE_OK(htone_tensor_read(held, HTONE_F32, after, sizeof after));
    for (int i = 0; i < kFeatures; ++i) REQUIRE(fabsf(after[i] - (before[i] - (float)step)) < 1e-4f);
  }
  REQUIRE_OK(htone_tensor_release(held));
  REQUIRE_OK(htone_parameter_release(weight));
  REQUIRE_OK(htone_optimizer_release(optimizer));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
}

static void a_tensor_that_is_held_across_a_step_has_all_new_weights(void** state) {
  (void)state;
  run_thread_ranks(kRanks, hold_weights_across_a_step);
}

static void offload_all(ThreadRank* rank) {
  htone_module* model = make_model(rank->device);
  htone_fsdp* fsdp = shard_offloaded(rank, model, HTONE_SHARDING_FULL, HTONE_OFFLOAD_FILE);
  htone_optimizer* optimizer = NULL;
  int64_t bytes = 0;
  REQUIRE_OK(htone_optimizer_create(model, &(htone_optimizer_options)HTONE_ADAM_OPTIONS_INIT, &optimizer));
  REQUIRE(bytes_of(rank, HTONE_MEMORY_PARAMETERS) == 0);
  REQUIRE(bytes_of(rank, HTONE_MEMORY_OPTIMIZER) < 200);
  backward_of_row(rank, model, 1);
  REQUIRE_OK(htone_optimizer_step(optimizer));
  REQUIRE(bytes_of(rank, HTONE_MEMORY_PARAMETERS) == 0);
  REQUIRE_OK(htone_fsdp_offloaded_bytes(fsdp, &bytes));
  /* Whole blocks of 256: 512 elements and 256, each with two moments. */
  REQUIRE(bytes == (rank->number == 0 ? kFirstShard : 256) * 12);
  REQUIRE_OK(htone_optimizer_release(optimizer));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
}

static void offloaded_state_is_not_on_the_device(void** state) {
  (void)state;
  run_thread_ranks(kRanks, offload_all);
}

static void read_too_early(ThreadRank* rank) {
  htone_module* model = make_model(rank->device);
  htone_fsdp* fsdp = shard(rank, model, HTONE_SHARDING_FULL);
  float values[kFeatures];
  REQUIRE(read_weights(model, values) == HTONE_ERROR_STATE);
  REQUIRE(last_error_says("htone_fsdp_gather_begin"));
  htone_parameter* weight = weight_of(model);
  htone_tensor *kept = NULL, *sum = NULL;
  htone_scope* scope = NULL;
  REQUIRE_OK(htone_fsdp_gather_begin(fsdp, &scope));
  REQUIRE_OK(htone_parameter_read(weight, HTONE_F32, &kept));
  REQUIRE_OK(htone_sum(kept, 0, NULL, 0, &sum));
  REQUIRE_OK(htone_tensor_release(sum));
  REQUIRE_OK(htone_scope_end(scope));
  REQUIRE(htone_sum(kept, 0, NULL, 0, &sum) == HTONE_ERROR_STATE);
  REQUIRE(last_error_says("input is over weights that ranks share"));
  REQUIRE(htone_tensor_read(kept, HTONE_F32, values, sizeof values) == HTONE_ERROR_STATE);
  REQUIRE(htone_cat(1, &kept, 0, &sum) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_tensor_release(kept));
  REQUIRE_OK(htone_parameter_release(weight));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
}

static void weights_are_read_while_they_are_gathered(void** state) {
  (void)state;
  run_thread_ranks(kRanks, read_too_early);
}

/* The bytes that this rank sends to gather 512 weights of each rank. */
static int64_t bytes_of_gather(const ThreadRank* rank, htone_dtype weight_dtype) {
  htone_module* model = make_model(rank->device);
  htone_fsdp* fsdp = NULL;
  htone_scope* scope = NULL;
  htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
  htone_group_counters before = HTONE_GROUP_COUNTERS_INIT, after = HTONE_GROUP_COUNTERS_INIT;
  options.weight_dtype = weight_dtype;
  REQUIRE_OK(htone_fsdp_create(model, rank->group, NULL, &options, &fsdp));
  for (int i = 0; i < 2; ++i) { /* the scales are agreed about with the first one */
    REQUIRE_OK(htone_group_read_counters(rank->group, &before));
    REQUIRE_OK(htone_fsdp_gather_begin(fsdp, &scope));
    REQUIRE_OK(htone_scope_end(scope));
    REQUIRE_OK(htone_group_read_counters(rank->group, &after));
  }
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
  return after.bytes_sent - before.bytes_sent;
}

static void count_bytes(ThreadRank* rank) {
  REQUIRE(bytes_of_gather(rank, HTONE_F32) == 4 * kFirstShard);
  REQUIRE(bytes_of_gather(rank, HTONE_BF16) == 2 * kFirstShard);
  REQUIRE(bytes_of_gather(rank, HTONE_F8E4M3) == kFirstShard);
}

static void weights_travel_in_the_dtype_that_was_asked_for(void** state) {
  (void)state;
  run_thread_ranks(kRanks, count_bytes);
}

static void accumulate(ThreadRank* rank) {
  htone_module* model = make_model(rank->device);
  htone_fsdp* fsdp = shard(rank, model, HTONE_SHARDING_GRADIENTS);
  htone_optimizer* optimizer = make_sgd(model);
  float before[kFeatures], after[kFeatures];
  REQUIRE_OK(read_weights(model, before));
  htone_scope* scope = NULL;
  REQUIRE_OK(htone_fsdp_no_sync_begin(fsdp, &scope));
  backward_of_row(rank, model, 1 + rank->number);
  REQUIRE(htone_optimizer_step(optimizer) == HTONE_ERROR_STATE); /* nothing is reduced yet */
  REQUIRE_OK(htone_scope_end(scope));
  backward_of_row(rank, model, 2);
  REQUIRE_OK(htone_optimizer_step(optimizer));
  REQUIRE_OK(read_weights(model, after));
  for (int i = 0; i < kFeatures; ++i) REQUIRE(fabsf(after[i] - (before[i] - 0.5f * 3.5f)) < 1e-5f);
  REQUIRE_OK(htone_optimizer_release(optimizer));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
}

static void no_sync_adds_gradients_on_each_rank(void** state) {
  (void)state;
  run_thread_ranks(kRanks, accumulate);
}

/* The program's weights and gradients; the latter are 1 and 3, so that a step with rate 0.5 takes 1 off each weight. */
static void train_own_arrays(ThreadRank* rank) {
  float weights[kFeatures], gradients[kFeatures];
  for (int i = 0; i < kFeatures; ++i) weights[i] = (float)i * (float)(1 - rank->number);
  htone_tensor *values = NULL, *gradient = NULL;
  htone_parameter* parameter = NULL;
  htone_parameters* parameters = NULL;
  htone_fsdp* fsdp = NULL;
  htone_optimizer* optimizer = NULL;
  htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
  htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT;
  const int64_t shape[] = {kFeatures};
  sgd.lr = 0.5;
  REQUIRE_OK(htone_tensor_from_buffer(rank->device, HTONE_F32, 1, shape, weights, NULL, NULL, &values));
  REQUIRE_OK(htone_tensor_from_buffer(rank->device, HTONE_F32, 1, shape, gradients, NULL, NULL, &gradient));
  REQUIRE_OK(htone_parameter_create("weights", values, &parameter));
  REQUIRE_OK(htone_parameters_create(&parameters));
  REQUIRE_OK(htone_parameters_add(parameters, parameter));
  REQUIRE(htone_fsdp_create_from_parameters(parameters, rank->group, NULL, &options, &fsdp) == HTONE_ERROR_UNSUPPORTED);
  options.sharding = HTONE_SHARDING_OPTIMIZER;
  REQUIRE_OK(htone_fsdp_create_from_parameters(parameters, rank->group, NULL, &options, &fsdp));
  REQUIRE_OK(htone_optimizer_create_over(parameters, &sgd, &optimizer));
  REQUIRE(htone_fsdp_finish(fsdp) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_parameter_set_grad(parameter, gradient));
  for (int step = 1; step <= 3; ++step) {
    for (int i = 0; i < kFeatures; ++i) gradients[i] = (float)(1 + 2 * rank->number);
    REQUIRE_OK(htone_fsdp_mark_ready(fsdp, parameter));
    REQUIRE_OK(htone_fsdp_finish(fsdp));
    REQUIRE_OK(htone_optimizer_step(optimizer));
    for (int i = 0; i < kFeatures; ++i) REQUIRE(fabsf(weights[i] - (float)(i - step)) < 1e-4f);
  }
  REQUIRE_OK(htone_optimizer_release(optimizer));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_parameters_release(parameters));
  REQUIRE_OK(htone_parameter_release(parameter));
  REQUIRE_OK(htone_tensor_release(gradient));
  REQUIRE_OK(htone_tensor_release(values));
}

static void a_programs_own_arrays_are_trained_where_they_are(void** state) {
  (void)state;
  run_thread_ranks(kRanks, train_own_arrays);
}

static void results_have_the_dtype_that_was_asked_for(void** state) {
  (void)state;
  htone_module* model = keep_module(make_model(test_device()));
  htone_group* group = NULL;
  htone_fsdp* fsdp = NULL;
  htone_tensor *x = NULL, *y = NULL;
  htone_dtype dtype = HTONE_F64;
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  assert_ok(htone_fsdp_create(model, group, NULL, NULL, &fsdp));
  assert_int_equal(htone_fsdp_set_output_dtype(fsdp, HTONE_F64), HTONE_ERROR_INVALID_ARGUMENT);
  assert_true(last_error_says("dtype=f64, expected f32, bf16 or f16"));
  assert_ok(htone_fsdp_set_output_dtype(fsdp, HTONE_BF16));
  assert_ok(htone_tensor_create_ones(test_device(), HTONE_F32, 2, (int64_t[]){1, kFeatures}, &x));
  assert_ok(htone_module_forward(model, x, NULL, &y));
  assert_ok(htone_tensor_dtype(y, &dtype));
  assert_int_equal(dtype, HTONE_BF16);
  htone_optimizer* optimizer = make_sgd(model);
  assert_ok(htone_tensor_backward(y, NULL, 0));
  assert_ok(htone_optimizer_step(optimizer)); /* the gradient came through the conversion */
  assert_ok(htone_optimizer_release(optimizer));
  assert_ok(htone_tensor_release(y));
  assert_ok(htone_tensor_release(x));
  assert_ok(htone_fsdp_release(fsdp));
  assert_ok(htone_group_release(group));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_train_from_averaged_gradients_and_rank_0s_weights),
      cmocka_unit_test(a_tensor_that_is_held_across_a_step_has_all_new_weights),
      cmocka_unit_test(offloaded_state_is_not_on_the_device),
      cmocka_unit_test(weights_are_read_while_they_are_gathered),
      cmocka_unit_test(no_sync_adds_gradients_on_each_rank),
      cmocka_unit_test(a_programs_own_arrays_are_trained_where_they_are),
      cmocka_unit_test(weights_travel_in_the_dtype_that_was_asked_for),
      cmocka_unit_test(results_have_the_dtype_that_was_asked_for),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
