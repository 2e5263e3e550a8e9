/* Statistics of a model whose weights ranks share: each rank samples the part that it updates. A linear layer of 600
 * weights on two ranks, which keep 512 and 88 of them; the mean gradient is 2 for the first step. */

#include "run_tests.h"
#include "thread_ranks.h"

enum { kRanks = 2, kFeatures = 600 };

typedef struct Shared {
  htone_module* model;
  htone_fsdp* fsdp;
  htone_optimizer* optimizer;
  htone_statistics* statistics;
} Shared;

static Shared make_shared(const ThreadRank* rank, htone_sharding sharding, htone_offload offload) {
  Shared made = {NULL, NULL, NULL, NULL};
  htone_linear_options linear = HTONE_LINEAR_OPTIONS_INIT;
  htone_fsdp_options fsdp = HTONE_FSDP_OPTIONS_INIT;
  htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT;
  linear.bias = 0;
  fsdp.sharding = sharding;
  fsdp.offload = offload;
  sgd.lr = 0.5;
  REQUIRE_OK(htone_module_create_linear(rank->device, kFeatures, 1, &linear, &made.model));
  REQUIRE_OK(htone_fsdp_create(made.model, rank->group, NULL, &fsdp, &made.fsdp));
  REQUIRE_OK(htone_optimizer_create(made.model, &sgd, &made.optimizer));
  REQUIRE_OK(htone_statistics_create(rank->device, NULL, &made.statistics));
  return made;
}

static void release_shared(const Shared* shared) {
  REQUIRE_OK(htone_statistics_release(shared->statistics));
  REQUIRE_OK(htone_optimizer_release(shared->optimizer));
  REQUIRE_OK(htone_fsdp_release(shared->fsdp));
  REQUIRE_OK(htone_module_release(shared->model));
}

/* The weight's gradient is 1 on the first rank and 3 on the second one. */
static void take_step(const ThreadRank* rank, const Shared* shared) {
  htone_tensor *x = NULL, *y = NULL;
  REQUIRE_OK(htone_statistics_begin_step(shared->statistics));
  REQUIRE_OK(htone_tensor_create_full(rank->device, HTONE_F32, 2, (int64_t[]){1, kFeatures}, 1 + 2 * rank->number, &x));
  REQUIRE_OK(htone_module_forward(shared->model, x, NULL, &y));
  REQUIRE_OK(htone_tensor_backward(y, NULL, 0));
  REQUIRE_OK(htone_optimizer_step(shared->optimizer));
  REQUIRE_OK(htone_statistics_end_step(shared->statistics, 0, 1));
  REQUIRE_OK(htone_statistics_flush(shared->statistics));
  REQUIRE_OK(htone_tensor_release(x));
  REQUIRE_OK(htone_tensor_release(y));
}

static htone_tensor_statistics tensor_of_kind(const Shared* shared, htone_tensor_kind kind) {
  htone_tensor_statistics tensor = HTONE_TENSOR_STATISTICS_INIT;
  size_t count = 0;
  REQUIRE_OK(htone_statistics_tensor_count(shared->statistics, &count));
  for (size_t i = 0; i < count; ++i) {
    REQUIRE_OK(htone_statistics_tensor(shared->statistics, i, &tensor));
    if (tensor.kind == kind) return tensor;
  }
  REQUIRE(0);
  return tensor;
}

static void sample(const ThreadRank* rank, htone_sharding sharding) {
  const int64_t own = rank->number == 0 ? 512 : kFeatures - 512;
  const Shared shared = make_shared(rank, sharding, HTONE_OFFLOAD_NONE);
  REQUIRE_OK(htone_statistics_watch(shared.statistics, shared.model, shared.optimizer, NULL));
  take_step(rank, &shared);
  const htone_tensor_statistics gradient = tensor_of_kind(&shared, HTONE_TENSOR_GRADIENT);
  const htone_tensor_statistics weights = tensor_of_kind(&shared, HTONE_TENSOR_PARAMETER);
  REQUIRE(gradient.elements == own && weights.elements == own);
  REQUIRE(gradient.largest == 2 && gradient.least == 2);
  REQUIRE(weights.has_update == 1 && weights.lost_updates == 0);
  REQUIRE(tensor_of_kind(&shared, HTONE_TENSOR_ACTIVATION).elements == 1);
  release_shared(&shared);
}

static void sample_optimizer(ThreadRank* rank) { sample(rank, HTONE_SHARDING_OPTIMIZER); }
static void sample_gradients(ThreadRank* rank) { sample(rank, HTONE_SHARDING_GRADIENTS); }
static void sample_full(ThreadRank* rank) { sample(rank, HTONE_SHARDING_FULL); }

static void each_rank_samples_its_part(void** state) {
  (void)state;
  run_thread_ranks(kRanks, sample_optimizer);
  run_thread_ranks(kRanks, sample_gradients);
  run_thread_ranks(kRanks, sample_full);
}

static void watch_offloaded(ThreadRank* rank) {
  htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
  const Shared shared = make_shared(rank, HTONE_SHARDING_FULL, HTONE_OFFLOAD_HOST);
  REQUIRE(htone_statistics_watch(shared.statistics, shared.model, shared.optimizer, NULL) == HTONE_ERROR_UNSUPPORTED);
  REQUIRE(last_error_says("options.parameters=1, but the weights of weight are offloaded"));
  options.parameters = 0;
  REQUIRE_OK(htone_statistics_watch(shared.statistics, shared.model, shared.optimizer, &options));
  take_step(rank, &shared);
  REQUIRE(tensor_of_kind(&shared, HTONE_TENSOR_GRADIENT).largest == 2);
  release_shared(&shared);
}

static void offloaded_weights_are_refused(void** state) {
  (void)state;
  run_thread_ranks(kRanks, watch_offloaded);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rank_samples_its_part),
      cmocka_unit_test(offloaded_weights_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
