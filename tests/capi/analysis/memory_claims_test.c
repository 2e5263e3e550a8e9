/* Memory of training that docs/seed-claims.md compares with the first texts: of activations in 16 bits, of
 * recomputation, and of models of hundreds of billions of parameters. All of it is counted on the device "meta", whose
 * counters are those of the CPU (meta_device_test.c). */
#include <math.h>

#include "test_tensors.h"

/* A stack of blocks, or a whole language model, and the step that is counted. */
typedef struct Run {
  htone_transformer_options model;
  int64_t batch, time;
  htone_dtype precision;
  int groups;         /* of blocks: as many as model.layers / groups each; 0: the whole model with its loss */
  int is_recomputing; /* each group keeps its input alone */
} Run;

typedef struct Use {
  double kept;  /* bytes of activations between forward and backward */
  double peak;  /* bytes beyond those of weights, gradients and moments */
  double total; /* bytes of everything at the peak */
} Use;

/* Its addresses are free again when the handles of a run are released. */
static htone_device* make_meta(void) {
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  htone_context* context = NULL;
  htone_device* device = NULL;
  options.num_threads = 1;
  assert_ok(htone_context_create(&options, &context));
  assert_ok(htone_device_create(context, "meta", &device));
  return device;
}

static htone_module* make_group(htone_device* device, const Run* run) {
  htone_module *blocks[16] = {NULL}, *group = NULL;
  const size_t count = (size_t)(run->model.layers / run->groups);
  assert_true(count <= COUNT_OF(blocks));
  for (size_t i = 0; i < count; ++i) assert_ok(htone_module_create_transformer_block(device, &run->model, &blocks[i]));
  assert_ok(htone_module_create_sequential(count, blocks, &group));
  assert_ok(htone_module_set_recompute(group, run->is_recomputing));
  return group;
}

static htone_module* make_model(htone_device* device, const Run* run) {
  htone_module *groups[96] = {NULL}, *model = NULL;
  if (run->groups == 0) {
    assert_ok(htone_module_create_transformer(device, &run->model, &model));
    return model;
  }
  for (int i = 0; i < run->groups; ++i) groups[i] = make_group(device, run);
  assert_ok(htone_module_create_sequential((size_t)run->groups, groups, &model));
  return model;
}

static htone_tensor* loss_of(htone_device* device, const Run* run, htone_module* model, htone_autocast_policy* policy) {
  const int64_t sequence[] = {run->batch, run->time, run->model.width};
  const int64_t rows = run->batch * run->time, logits_shape[] = {rows, run->model.vocabulary};
  htone_tensor *input = NULL, *targets = NULL, *output = NULL, *logits = NULL, *loss = NULL;
  const int is_whole = run->groups == 0;
  assert_ok(
      htone_tensor_create_zeros(device, is_whole ? HTONE_I64 : run->precision, is_whole ? 2 : 3, sequence, &input));
  assert_ok(htone_module_forward(model, input, policy, &output));
  if (!is_whole) {
    assert_ok(htone_sum(output, 0, NULL, 0, &loss));
    return loss;
  }
  assert_ok(htone_reshape(output, 2, logits_shape, &logits));
  assert_ok(htone_tensor_create_zeros(device, HTONE_I64, 1, &rows, &targets));
  assert_ok(htone_cross_entropy(logits, targets, NULL, &loss));
  return loss;
}

static htone_memory_stats memory_of(htone_device* device) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats;
}

/* The first step makes the gradients, and the moments of a whole model; the second one is counted. */
static Use use_of(const Run* run) {
  Use use = {0, 0, 0};
  htone_scope* program = NULL;
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_optimizer* optimizer = NULL;
  htone_autocast_policy* policy = NULL;
  assert_ok(htone_handles_begin(&program));
  htone_device* device = make_meta();
  htone_module* model = make_model(device, run);
  adamw.compute_dtype = run->precision;
  assert_ok(htone_optimizer_create(model, &adamw, &optimizer));
  if (run->precision != HTONE_F32) assert_ok(htone_autocast_policy_create(run->precision, &policy));
  for (int step = 0; step < 2; ++step) {
    htone_scope* handles = NULL;
    assert_ok(htone_handles_begin(&handles));
    assert_ok(htone_device_reset_peak_memory(device));
    const double before = (double)memory_of(device).current;
    htone_tensor* loss = loss_of(device, run, model, policy);
    use.kept = (double)memory_of(device).by_category[HTONE_MEMORY_ACTIVATIONS];
    assert_ok(htone_tensor_backward(loss, NULL, 0));
    use.total = (double)memory_of(device).peak;
    use.peak = use.total - before;
    /* Stacks have no moments: the plan of an update of 174 billion weights takes a second. */
    if (run->groups == 0) assert_ok(htone_optimizer_step(optimizer));
    assert_ok(htone_scope_end(handles));
  }
  assert_ok(htone_scope_end(program));
  return use;
}

static Run run_of(int64_t layers, int64_t width, int64_t heads, int64_t batch, int64_t time) {
  Run run = {.model = HTONE_TRANSFORMER_OPTIONS_INIT, .batch = batch, .time = time, .precision = HTONE_BF16};
  run.model.layers = layers;
  run.model.width = width;
  run.model.heads = heads;
  run.groups = (int)layers;
  return run;
}

/* The share of FP32's bytes that a step in BF16 has. */
static Use share_of_bf16(Run run) {
  const Use narrow = use_of(&run);
  run.precision = HTONE_F32;
  const Use wide = use_of(&run);
  return (Use){narrow.kept / wide.kept, narrow.peak / wide.peak, narrow.total / wide.total};
}

/* GPT-2 with 124 million parameters. */
static void bf16_halves_activations_and_not_the_memory_of_a_step(void** state) {
  (void)state;
  Run run = run_of(12, 768, 12, 8, 1024);
  assert_near(share_of_bf16(run).kept, 0.501, 0.001);
  run.groups = 0; /* with logits and loss, which are FP32 */
  assert_near(share_of_bf16(run).kept, 0.560, 0.001);
  assert_near(share_of_bf16(run).total, 0.676, 0.001);
  run.batch = 1;
  assert_near(share_of_bf16(run).total, 0.949, 0.001);
}

/* Numbers of 16 bits for each element of a layer's output. */
typedef struct Numbers {
  double kept; /* by each layer */
  double more; /* at the peak, beside those that the layers keep */
} Numbers;

static Numbers numbers_of(int is_recomputing) {
  Use uses[2];
  for (int i = 0; i < 2; ++i) {
    Run run = run_of(i + 1, 12288, 96, 8, 2048);
    run.is_recomputing = is_recomputing;
    uses[i] = use_of(&run);
  }
  const double one = 8.0 * 2048 * 12288 * 2, kept = uses[1].kept - uses[0].kept;
  assert_near(uses[1].peak - uses[0].peak, kept, 0.01 * kept);
  return (Numbers){kept / one, (uses[1].peak - 2 * kept) / one};
}

/* Two layers of GPT-3, of which 96 with 32 sequences follow: valgrind has addresses for 128 GB. An activation of one
 * number for each layer is what recomputation leaves of it. */
static void a_layer_keeps_12_numbers_of_16_bits_and_one_if_it_is_recomputed(void** state) {
  (void)state;
  const double gigabytes = 32.0 * 2048 * 12288 * 2 / 1e9;
  const Numbers plain = numbers_of(0), each = numbers_of(1);
  assert_near(96 * gigabytes, 154.6, 0.1);
  assert_near(plain.kept, 12, 0.02);
  assert_near(96 * plain.kept * gigabytes, 1858, 1);
  assert_near(each.kept, 1, 0.001);
  assert_near((96 * each.kept + each.more) * gigabytes, 180.5, 0.3);
  assert_near((96 * plain.kept + plain.more) / (96 * each.kept + each.more), 10.3, 0.1);
}

/* Groups of as many blocks as there are groups. */
static void recomputed_groups_need_the_root_of_the_memory(void** state) {
  (void)state;
  double plain[3], grouped[3], each[3];
  for (int i = 0; i < 3; ++i) {
    const int root = 2 << i;
    Run run = run_of(root * root, 768, 12, 8, 1024);
    plain[i] = use_of(&run).peak;
    run.is_recomputing = 1;
    each[i] = use_of(&run).peak;
    run.groups = root;
    grouped[i] = use_of(&run).peak;
  }
  for (int i = 1; i < 3; ++i) {
    assert_near(plain[i] / plain[i - 1], 4, 0.35);
    assert_near(grouped[i] / grouped[i - 1], 2, 0.2);
  }
  assert_true(each[2] < grouped[2]); /* 64 inputs and one inside are less than 8 inputs and 8 insides */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bf16_halves_activations_and_not_the_memory_of_a_step),
      cmocka_unit_test(a_layer_keeps_12_numbers_of_16_bits_and_one_if_it_is_recomputed),
      cmocka_unit_test(recomputed_groups_need_the_root_of_the_memory),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
