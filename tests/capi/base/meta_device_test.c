/* The device "meta": programs that run on it need, by its counters, the memory that they need on the CPU. */
#include <stdio.h>

#include "test_tensors.h"

/* A model that is trained, and how. */
typedef struct Plan {
  htone_module* (*make)(htone_device* device);
  int64_t input_rank;
  int64_t input[4];
  int64_t rows; /* of the logits */
  htone_dtype precision;
  htone_master_storage masters;
  int has_small_moments; /* 8-bit codes */
} Plan;

static htone_module* make_mlp(htone_device* device) {
  htone_module *layers[3] = {NULL}, *model = NULL;
  assert_ok(htone_module_create_linear(device, 100, 300, NULL, &layers[0]));
  assert_ok(htone_module_create_relu(&layers[1]));
  assert_ok(htone_module_create_linear(device, 300, 10, NULL, &layers[2]));
  assert_ok(htone_module_create_sequential(3, layers, &model));
  return model;
}

static htone_module* make_cnn(htone_device* device) {
  htone_module *layers[6] = {NULL}, *model = NULL;
  assert_ok(htone_module_create_conv2d(device, 3, 8, 3, 3, NULL, &layers[0]));
  assert_ok(htone_module_create_batch_norm2d(device, 8, NULL, &layers[1]));
  assert_ok(htone_module_create_relu(&layers[2]));
  assert_ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[3]));
  assert_ok(htone_module_create_flatten(&layers[4]));
  assert_ok(htone_module_create_linear(device, 8 * 7 * 7, 10, NULL, &layers[5]));
  assert_ok(htone_module_create_sequential(6, layers, &model));
  return model;
}

static htone_module* make_gpt(htone_device* device) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* model = NULL;
  options.vocabulary = 10;
  options.positions = 64;
  options.layers = 2;
  options.width = 64;
  options.heads = 4;
  options.dropout = 0.1;
  assert_ok(htone_module_create_transformer(device, &options, &model));
  return model;
}

static htone_tensor* make_input(htone_device* device, const Plan* plan) {
  htone_tensor *numbers = NULL, *tokens = NULL;
  assert_ok(htone_tensor_create_zeros(device, HTONE_F32, (int32_t)plan->input_rank, plan->input, &numbers));
  if (plan->make != make_gpt) return numbers;
  assert_ok(htone_cast(numbers, HTONE_I64, &tokens));
  return tokens;
}

/* Builds the model and trains it for two steps, then zeroes the gradients. */
static void train(htone_device* device, const Plan* plan) {
  htone_module* model = plan->make(device);
  htone_tensor *input = make_input(device, plan), *targets = NULL;
  htone_autocast_policy* policy = NULL;
  htone_optimizer* optimizer = NULL;
  htone_grad_scaler* scaler = NULL;
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  adamw.compute_dtype = plan->precision;
  adamw.master_storage = plan->masters;
  adamw.moment1_dtype = plan->has_small_moments ? HTONE_I8 : HTONE_F32;
  adamw.moment2_dtype = plan->has_small_moments ? HTONE_U8 : HTONE_F32;
  assert_ok(htone_tensor_create_zeros(device, HTONE_I64, 1, &plan->rows, &targets));
  assert_ok(htone_optimizer_create(model, &adamw, &optimizer));
  assert_ok(htone_grad_scaler_create(device, NULL, &scaler));
  if (plan->precision != HTONE_F32) assert_ok(htone_autocast_policy_create(plan->precision, &policy));
  for (int step = 0; step < 2; ++step) {
    const int64_t rows[] = {plan->rows, 10};
    htone_scope* handles = NULL;
    htone_tensor *output = NULL, *logits = NULL, *loss = NULL, *scaled = NULL;
    assert_ok(htone_handles_begin(&handles));
    assert_ok(htone_optimizer_zero_grad(optimizer));
    assert_ok(htone_module_forward(model, input, policy, &output));
    assert_ok(htone_reshape(output, 2, rows, &logits));
    assert_ok(htone_cross_entropy(logits, targets, NULL, &loss));
    assert_ok(htone_grad_scaler_scale(scaler, loss, &scaled));
    assert_ok(htone_tensor_backward(scaled, NULL, 0));
    assert_ok(htone_grad_scaler_step(scaler, optimizer));
    assert_ok(htone_grad_scaler_update(scaler));
    item_of(loss);
    assert_ok(htone_scope_end(handles));
  }
  assert_ok(htone_optimizer_zero_grad(optimizer));
}

static htone_memory_stats memory_of(const char* name, const Plan* plan) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  htone_scope* program = NULL;
  htone_device* device = NULL;
  assert_ok(htone_handles_begin(&program));
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  htone_context* context = NULL;
  options.num_threads = 2;
  assert_ok(htone_context_create(&options, &context));
  assert_ok(htone_device_create(context, name, &device));
  train(device, plan);
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_ok(htone_scope_end(program));
  return stats;
}

static void a_plan_has_the_bytes_of_training(void** state) {
  (void)state;
  static const htone_dtype kPrecisions[] = {HTONE_F32, HTONE_BF16, HTONE_F16};
  static const Plan kModels[] = {
      {.make = make_mlp, .input_rank = 2, .input = {32, 100}, .rows = 32},
      {.make = make_cnn, .input_rank = 4, .input = {4, 3, 16, 16}, .rows = 4},
      {.make = make_gpt, .input_rank = 2, .input = {2, 64}, .rows = 128},
  };
  for (size_t model = 0; model < COUNT_OF(kModels); ++model) {
    for (size_t i = 0; i < COUNT_OF(kPrecisions); ++i) {
      for (int storage = 0; storage < 3; ++storage) {
        Plan plan = kModels[model];
        plan.precision = kPrecisions[i];
        plan.has_small_moments = storage == 1;
        if (storage == 2) {
          if (plan.precision != HTONE_BF16) continue; /* split masters are BF16 and 16 more bits */
          plan.masters = HTONE_MASTER_SPLIT;
        }
        const htone_memory_stats planned = memory_of("meta", &plan), used = memory_of("cpu", &plan);
        assert_true(used.peak > 0);
        assert_int_equal(planned.peak, used.peak);
        for (int category = 0; category < 8; ++category) {
          assert_int_equal(planned.peak_by_category[category], used.peak_by_category[category]);
          assert_int_equal(planned.by_category[category], used.by_category[category]);
        }
      }
    }
  }
}

static void the_categories_at_the_peak_add_up_to_it(void** state) {
  (void)state;
  const Plan plan = {.make = make_gpt, .input_rank = 2, .input = {2, 64}, .rows = 128, .precision = HTONE_BF16};
  const htone_memory_stats stats = memory_of("meta", &plan);
  int64_t sum = 0;
  for (int category = 0; category < 8; ++category) sum += stats.peak_by_category[category];
  assert_int_equal(sum, stats.peak);
  assert_true(stats.peak_by_category[HTONE_MEMORY_ACTIVATIONS] > stats.by_category[HTONE_MEMORY_ACTIVATIONS]);
}

/* The forward of these shapes holds much more than the gradients take, so that the peak is in a backward that has just
 * begun: few gradients are there. */
static void the_plan_has_few_gradients_at_the_peak(void** state) {
  (void)state;
  const Plan plan = {.make = make_gpt, .input_rank = 2, .input = {32, 64}, .rows = 2048, .precision = HTONE_F32};
  const htone_memory_stats stats = memory_of("meta", &plan);
  assert_true(stats.peak_by_category[HTONE_MEMORY_GRADIENTS] < stats.by_category[HTONE_MEMORY_PARAMETERS] / 4);
  assert_int_equal(stats.by_category[HTONE_MEMORY_GRADIENTS], 0);
}

/* Resident memory of this process in bytes. */
static int64_t resident(void) {
  long pages = 0, shared = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*s %ld %ld", &pages, &shared), 2);
  fclose(file);
  return pages * 4096;
}

static void models_larger_than_the_machine_can_be_planned(void** state) {
  (void)state;
  htone_device* device = NULL;
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* model = NULL;
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  const int64_t before = resident();
  assert_ok(htone_device_create(make_context(2, 0), "meta", &device));
  keep_device(device);
  options.vocabulary = 50257; /* GPT-3 */
  options.positions = 2048;
  options.layers = 12;
  options.width = 12288;
  options.heads = 96;
  assert_ok(htone_module_create_transformer(device, &options, &model));
  keep_module(model);
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_true(stats.by_category[HTONE_MEMORY_PARAMETERS] > INT64_C(80) << 30);
  assert_true(resident() - before < 64 << 20);
}

static void there_is_one_meta_device(void** state) {
  (void)state;
  htone_device *device = NULL, *other = NULL;
  htone_context* context = make_context(1, 0);
  htone_device_type kind = HTONE_DEVICE_CPU;
  assert_ok(htone_device_create(context, "meta", &device));
  keep_device(device);
  assert_ok(htone_device_kind(device, &kind));
  assert_int_equal(kind, HTONE_DEVICE_OTHER);
  assert_fails(htone_device_create(context, "meta:1", &other), HTONE_ERROR_DEVICE, "meta:1");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_has_the_bytes_of_training),
      cmocka_unit_test(the_categories_at_the_peak_add_up_to_it),
      cmocka_unit_test(the_plan_has_few_gradients_at_the_peak),
      cmocka_unit_test(models_larger_than_the_machine_can_be_planned),
      cmocka_unit_test(there_is_one_meta_device),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
