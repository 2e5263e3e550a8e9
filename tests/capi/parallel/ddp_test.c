/* Data-parallel training through the C API, with ranks that are threads: each has a context of its own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run_tests.h"
#include "thread_ranks.h"

enum { kRanks = 3, kFeatures = 4 };

typedef struct Rank {
  int number;
  htone_device* device;
  htone_group* group;
  htone_module* model;        /* linear, of kFeatures inputs and one output; each rank draws other weights */
  htone_optimizer* optimizer; /* SGD over the model */
} Rank;

static void (*rank_body)(Rank* rank);

static void run_rank(ThreadRank* thread) {
  Rank rank = {.number = thread->number, .device = thread->device, .group = thread->group};
  REQUIRE_OK(htone_module_create_linear(rank.device, kFeatures, 1, NULL, &rank.model));
  htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT;
  sgd.lr = 0.5;
  REQUIRE_OK(htone_optimizer_create(rank.model, &sgd, &rank.optimizer));
  rank_body(&rank);
  REQUIRE_OK(htone_optimizer_release(rank.optimizer));
  REQUIRE_OK(htone_module_release(rank.model));
}

static void run_ranks(void (*body)(Rank* rank)) {
  rank_body = body;
  run_thread_ranks(kRanks, run_rank);
}

/* Backward of the sum of the results for one row whose elements are all `value`: the weight's gradient is the row. */
static htone_status backward_of_row(Rank* rank, double value) {
  htone_tensor *x = NULL, *y = NULL;
  REQUIRE_OK(htone_tensor_create_ones(rank->device, HTONE_F32, 2, (int64_t[]){1, kFeatures}, &x));
  REQUIRE_OK(htone_tensor_fill(x, value));
  REQUIRE_OK(htone_module_forward(rank->model, x, NULL, &y));
  const htone_status status = htone_tensor_backward(y, NULL, 0);
  REQUIRE_OK(htone_tensor_release(x));
  REQUIRE_OK(htone_tensor_release(y));
  return status;
}

static htone_parameter* weight_of(Rank* rank) {
  htone_parameters* parameters = NULL;
  htone_parameter* weight = NULL;
  REQUIRE_OK(htone_parameters_create_from_module(rank->model, &parameters));
  REQUIRE_OK(htone_parameters_at(parameters, 0, &weight));
  REQUIRE_OK(htone_parameters_release(parameters));
  return weight;
}

static double first_gradient(Rank* rank) {
  htone_parameter* weight = weight_of(rank);
  htone_tensor* gradient = NULL;
  float values[kFeatures];
  REQUIRE_OK(htone_parameter_grad(weight, &gradient));
  REQUIRE_OK(htone_tensor_read(gradient, HTONE_F32, values, sizeof values));
  REQUIRE_OK(htone_tensor_release(gradient));
  REQUIRE_OK(htone_parameter_release(weight));
  return values[0];
}

static htone_ddp* replicate(Rank* rank, const htone_ddp_options* options) {
  htone_ddp* ddp = NULL;
  REQUIRE_OK(htone_ddp_create(rank->model, rank->group, options, &ddp));
  return ddp;
}

static float results[kRanks][kFeatures];

static void train(Rank* rank) {
  htone_ddp* ddp = replicate(rank, NULL);
  for (int step = 0; step < 3; ++step) {
    REQUIRE_OK(htone_optimizer_zero_grad(rank->optimizer));
    REQUIRE_OK(backward_of_row(rank, rank->number + step));
    REQUIRE(first_gradient(rank) == 1 + step);
    REQUIRE_OK(htone_optimizer_step(rank->optimizer));
  }
  htone_parameter* weight = weight_of(rank);
  htone_tensor* values = NULL;
  REQUIRE_OK(htone_parameter_read(weight, HTONE_F32, &values));
  REQUIRE_OK(htone_tensor_read(values, HTONE_F32, results[rank->number], sizeof results[0]));
  REQUIRE_OK(htone_tensor_release(values));
  REQUIRE_OK(htone_parameter_release(weight));
  REQUIRE_OK(htone_ddp_retain(ddp));
  REQUIRE_OK(htone_ddp_release(ddp));
  REQUIRE_OK(htone_ddp_release(ddp));
}

static void ranks_average_gradients_and_stay_equal(void** state) {
  (void)state;
  run_ranks(train);
  for (int i = 1; i < kRanks; ++i) assert_memory_equal(results[i], results[0], sizeof results[0]);
}

static void accumulate(Rank* rank) {
  htone_ddp* ddp = replicate(rank, NULL);
  htone_scope* scope = NULL;
  REQUIRE_OK(htone_ddp_no_sync_begin(ddp, &scope));
  REQUIRE_OK(backward_of_row(rank, rank->number));
  REQUIRE(first_gradient(rank) == rank->number);
  REQUIRE_OK(htone_scope_end(scope));
  REQUIRE_OK(backward_of_row(rank, 10));
  REQUIRE(first_gradient(rank) == 11);
  REQUIRE_OK(htone_ddp_release(ddp));
}

static void no_sync_leaves_gradients_to_the_rank_until_its_scope_ends(void** state) {
  (void)state;
  run_ranks(accumulate);
}

static void run_uneven(Rank* rank) {
  htone_ddp* ddp = replicate(rank, NULL);
  REQUIRE(htone_ddp_join_end(ddp) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_ddp_join_begin(ddp, 1));
  for (int batch = 0; batch <= rank->number; ++batch) {
    REQUIRE_OK(htone_optimizer_zero_grad(rank->optimizer));
    REQUIRE_OK(backward_of_row(rank, rank->number));
    /* Ranks `batch` to 2 have a batch. */
    REQUIRE(fabs(first_gradient(rank) - (batch + 2) / 2.0) < 1e-6);
  }
  REQUIRE_OK(htone_ddp_join_end(ddp));
  REQUIRE_OK(htone_ddp_release(ddp));
}

static void join_lets_ranks_have_different_numbers_of_batches(void** state) {
  (void)state;
  run_ranks(run_uneven);
}

static void bring_gradients(Rank* rank) {
  htone_parameters* parameters = NULL;
  htone_ddp* ddp = NULL;
  size_t count = 0;
  REQUIRE_OK(htone_parameters_create_from_module(rank->model, &parameters));
  REQUIRE_OK(htone_ddp_create_from_parameters(parameters, rank->group, NULL, &ddp));
  REQUIRE(htone_ddp_finish(ddp) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_parameters_count(parameters, &count));
  float memory[2][kFeatures];
  for (size_t i = 0; i < count; ++i) {
    htone_parameter* parameter = NULL;
    htone_tensor* gradient = NULL;
    for (int j = 0; j < kFeatures; ++j) memory[i][j] = (float)rank->number;
    REQUIRE_OK(htone_parameters_at(parameters, i, &parameter));
    REQUIRE(htone_ddp_mark_ready(ddp, parameter) == HTONE_ERROR_STATE);
    const int64_t weight_shape[] = {1, kFeatures}, bias_shape[] = {1};
    REQUIRE_OK(htone_tensor_from_buffer(rank->device, HTONE_F32, i == 0 ? 2 : 1, i == 0 ? weight_shape : bias_shape,
                                        memory[i], NULL, NULL, &gradient));
    REQUIRE_OK(htone_parameter_set_grad(parameter, gradient));
    REQUIRE_OK(htone_ddp_mark_ready(ddp, parameter));
    REQUIRE_OK(htone_tensor_release(gradient));
    REQUIRE_OK(htone_parameter_release(parameter));
  }
  REQUIRE_OK(htone_ddp_finish(ddp));
  REQUIRE(memory[0][0] == 1.0f && memory[1][0] == 1.0f);
  REQUIRE_OK(htone_optimizer_zero_grad(rank->optimizer));
  REQUIRE_OK(htone_ddp_release(ddp));
  REQUIRE_OK(htone_parameters_release(parameters));
}

static void gradients_of_another_engine_are_averaged_in_their_memory(void** state) {
  (void)state;
  run_ranks(bring_gradients);
}

typedef struct Reduction {
  htone_group* group;
  int calls;
  int destroyed;
} Reduction;

static htone_status reduce_by_maximum(htone_tensor* bucket, size_t index, void* user) {
  Reduction* reduction = user;
  reduction->calls += index == 0;
  return htone_group_all_reduce(reduction->group, HTONE_REDUCE_MAX, bucket, bucket, NULL);
}

static void note_destroyed(void* user) { ++((Reduction*)user)->destroyed; }

static void reduce_by_callback(Rank* rank) {
  Reduction reduction = {.group = rank->group};
  htone_ddp* ddp = replicate(rank, NULL);
  REQUIRE_OK(htone_ddp_set_reduction(ddp, reduce_by_maximum, &reduction, note_destroyed));
  REQUIRE_OK(backward_of_row(rank, rank->number));
  REQUIRE(first_gradient(rank) == kRanks - 1);
  REQUIRE(reduction.calls == 1 && reduction.destroyed == 0);
  REQUIRE_OK(htone_ddp_release(ddp));
  REQUIRE(reduction.destroyed == 1);
}

static void a_callback_may_average_in_its_own_way(void** state) {
  (void)state;
  run_ranks(reduce_by_callback);
}

static htone_status reduce_unless_last(htone_tensor* bucket, size_t index, void* user) {
  Rank* rank = user;
  (void)index;
  if (rank->number == kRanks - 1) return HTONE_ERROR_IO;
  return htone_group_all_reduce(rank->group, HTONE_REDUCE_MAX, bucket, bucket, NULL);
}

/* The others' callbacks return the error of their operation, which is not theirs. */
static void fail_on_the_last_rank(Rank* rank) {
  htone_ddp* ddp = replicate(rank, NULL);
  REQUIRE_OK(htone_ddp_set_reduction(ddp, reduce_unless_last, rank, NULL));
  const htone_status status = backward_of_row(rank, rank->number);
  htone_error_info error = HTONE_ERROR_INFO_INIT;
  REQUIRE_OK(htone_error_last(&error));
  REQUIRE(status == (rank->number == kRanks - 1 ? HTONE_ERROR_CALLBACK : HTONE_ERROR_PEER_LOST));
  char names[64];
  snprintf(names, sizeof names, "rank %d aborted the group: its reduction", kRanks - 1);
  REQUIRE(rank->number == kRanks - 1 || strstr(error.message, names) != NULL);
  REQUIRE(strstr(error.message, "returned") != NULL);
  REQUIRE_OK(htone_ddp_release(ddp));
}

static void a_callback_that_fails_is_the_other_ranks_lost_peer(void** state) {
  (void)state;
  run_ranks(fail_on_the_last_rank);
}

static void try_settings(Rank* rank) {
  const htone_ddp_compression kinds[] = {HTONE_DDP_COMPRESSION_F16, HTONE_DDP_COMPRESSION_BF16,
                                         HTONE_DDP_COMPRESSION_POWER_SGD, HTONE_DDP_COMPRESSION_F8E5M2};
  for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
    htone_ddp_options options = HTONE_DDP_OPTIONS_INIT;
    options.compression = kinds[i];
    options.power_sgd_start = 0;
    htone_ddp* ddp = replicate(rank, &options);
    REQUIRE_OK(htone_optimizer_zero_grad(rank->optimizer));
    REQUIRE_OK(backward_of_row(rank, rank->number));
    REQUIRE(fabs(first_gradient(rank) - 1) < 0.01);
    REQUIRE_OK(htone_ddp_release(ddp));
  }
  htone_ddp_options options = HTONE_DDP_OPTIONS_INIT;
  options.deterministic = 1;
  htone_ddp* ddp = replicate(rank, &options);
  htone_scope* scope = NULL;
  REQUIRE(htone_ddp_no_sync_begin(ddp, &scope) == HTONE_ERROR_STATE);
  REQUIRE(htone_ddp_set_reduction(ddp, reduce_by_maximum, NULL, NULL) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_optimizer_zero_grad(rank->optimizer));
  REQUIRE_OK(backward_of_row(rank, rank->number));
  REQUIRE_OK(backward_of_row(rank, rank->number));
  REQUIRE(first_gradient(rank) == 6); /* ranks and backwards are added */
  REQUIRE_OK(htone_ddp_release(ddp));
}

static void settings_select_how_averages_are_made(void** state) {
  (void)state;
  run_ranks(try_settings);
}

static void synchronize_norms(Rank* rank) {
  REQUIRE(htone_module_synchronize_batch_norm(rank->model, rank->group) == HTONE_ERROR_STATE);
  htone_module* norm = NULL;
  htone_tensor *x = NULL, *y = NULL;
  REQUIRE_OK(htone_module_create_batch_norm1d(rank->device, 1, NULL, &norm));
  REQUIRE_OK(htone_module_synchronize_batch_norm(norm, rank->group));
  REQUIRE_OK(htone_tensor_create_ones(rank->device, HTONE_F32, 2, (int64_t[]){1, 1}, &x));
  REQUIRE_OK(htone_tensor_fill(x, rank->number));
  REQUIRE_OK(htone_module_forward(norm, x, NULL, &y));
  float value = 0;
  REQUIRE_OK(htone_tensor_read(y, HTONE_F32, &value, sizeof value));
  REQUIRE(fabs(value - (rank->number - 1) / sqrt(2.0 / 3 + 1e-5)) < 1e-6); /* of 0, 1 and 2 */
  REQUIRE_OK(htone_tensor_release(y));
  REQUIRE_OK(htone_tensor_release(x));
  REQUIRE_OK(htone_module_release(norm));
}

static void batch_norms_use_the_batches_of_all_ranks(void** state) {
  (void)state;
  run_ranks(synchronize_norms);
}

static void wrong_settings_are_refused(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_group* group = NULL;
  htone_ddp* ddp = NULL;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &module));
  keep_module(module);
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  keep_group(group);
  htone_ddp_options options = HTONE_DDP_OPTIONS_INIT;
  options.compression = HTONE_DDP_COMPRESSION_POWER_SGD;
  options.power_sgd_rank = 0;
  assert_fails(htone_ddp_create(module, group, &options, &ddp), HTONE_ERROR_INVALID_ARGUMENT, "rank 0");
  options.power_sgd_rank = 1;
  options.power_sgd_rate = 0;
  assert_fails(htone_ddp_create(module, group, &options, &ddp), HTONE_ERROR_INVALID_ARGUMENT, "rate=0");
  options.power_sgd_rate = 1;
  options.power_sgd_start = -1;
  assert_fails(htone_ddp_create(module, group, &options, &ddp), HTONE_ERROR_INVALID_ARGUMENT, "power_sgd_start=-1");
  options.compression = HTONE_DDP_COMPRESSION_F8E5M2;
  options.deterministic = 1;
  assert_fails(htone_ddp_create(module, group, &options, &ddp), HTONE_ERROR_INVALID_ARGUMENT, "compression=5");
  htone_context* other = make_context(1, 1);
  htone_module* far = NULL;
  assert_ok(htone_module_create_linear(make_device(other), 2, 2, NULL, &far));
  keep_module(far);
  assert_fails(htone_ddp_create(far, group, NULL, &ddp), HTONE_ERROR_DEVICE, "another device");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_average_gradients_and_stay_equal),
      cmocka_unit_test(no_sync_leaves_gradients_to_the_rank_until_its_scope_ends),
      cmocka_unit_test(join_lets_ranks_have_different_numbers_of_batches),
      cmocka_unit_test(gradients_of_another_engine_are_averaged_in_their_memory),
      cmocka_unit_test(a_callback_may_average_in_its_own_way),
      cmocka_unit_test(a_callback_that_fails_is_the_other_ranks_lost_peer),
      cmocka_unit_test(settings_select_how_averages_are_made),
      cmocka_unit_test(batch_norms_use_the_batches_of_all_ranks),
      cmocka_unit_test(wrong_settings_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
