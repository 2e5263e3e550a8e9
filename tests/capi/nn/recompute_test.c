/* Recomputation through the C API: training runs are bitwise the same with less memory, custom modules and hooks run
 * again, and what must not happen between forward and backward is refused. */
#include <string.h>

#include "test_optimizers.h"

enum { kSteps = 4, kBatch = 3, kTime = 8, kVocabulary = 13, kLayers = 4, kWidth = 32 };

static htone_module* make_gpt(htone_context* context) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* module = NULL;
  options.vocabulary = kVocabulary;
  options.positions = kTime;
  options.layers = kLayers;
  options.width = kWidth;
  options.heads = 4;
  options.dropout = 0.1;
  assert_ok(htone_module_create_transformer(make_device(context), &options, &module));
  return keep_module(module);
}

static htone_tensor* make_tokens(htone_device* device, int step, int shift) {
  int64_t numbers[kBatch * kTime];
  const int64_t shape[] = {kBatch, kTime};
  htone_tensor* tensor = NULL;
  for (int i = 0; i < kBatch * kTime; ++i) numbers[i] = (i * 5 + step * 3 + i / 4 + shift) % kVocabulary;
  assert_ok(htone_tensor_create_copy(device, HTONE_I64, 2, shape, numbers, &tensor));
  return keep_tensor(tensor);
}

/* One rule for a run: NULL recomputes nothing. */
typedef struct Rule {
  const char* kind;
  int64_t every;
  size_t count;
} Rule;

static const Rule kRules[] = {
    {"transformer_block", 1, 4}, {"transformer_block", 2, 2}, {"multihead_attention", 1, 4}, {"transformer", 1, 1}};

typedef struct Training {
  htone_context* context;
  htone_device* device;
  htone_module* model;
  htone_optimizer* optimizer;
  htone_autocast_policy* policy;
  htone_grad_scaler* scaler;
} Training;

static Training begin_training(htone_dtype autocast, const Rule* rule) {
  Training training = {.context = make_context(2, 11)};
  size_t count = 0;
  training.device = make_device(training.context);
  training.model = make_gpt(training.context);
  training.optimizer = make_adamw(training.model, NULL);
  if (autocast != HTONE_F32) {
    assert_ok(htone_autocast_policy_create(autocast, &training.policy));
    keep_policy(training.policy);
  }
  if (autocast == HTONE_F16) {
    assert_ok(htone_grad_scaler_create(training.device, NULL, &training.scaler));
    keep_grad_scaler(training.scaler);
  }
  if (rule != NULL) {
    assert_ok(htone_module_set_recompute_matching(training.model, NULL, rule->kind, rule->every, &count));
    assert_int_equal(count, rule->count);
  }
  return training;
}

static htone_tensor* loss_of(const Training* training, int step) {
  const int64_t rows[] = {kBatch * kTime, kVocabulary}, all[] = {kBatch * kTime};
  htone_tensor *logits = NULL, *flat = NULL, *targets = NULL, *loss = NULL, *scaled = NULL;
  assert_ok(htone_module_forward(training->model, make_tokens(training->device, step, 0), training->policy, &logits));
  assert_ok(htone_reshape(keep_tensor(logits), 2, rows, &flat));
  assert_ok(htone_reshape(make_tokens(training->device, step, 1), 1, all, &targets));
  assert_ok(htone_cross_entropy(keep_tensor(flat), keep_tensor(targets), NULL, &loss));
  keep_tensor(loss);
  if (training->scaler == NULL) return loss;
  assert_ok(htone_grad_scaler_scale(training->scaler, loss, &scaled));
  return keep_tensor(scaled);
}

/* Two rounds of accumulation a step, of which the first one's backward runs twice. */
static void train(htone_dtype autocast, const Rule* rule, double* losses) {
  const Training training = begin_training(autocast, rule);
  for (int step = 0; step < kSteps; ++step) {
    assert_ok(htone_optimizer_zero_grad(training.optimizer));
    htone_tensor *first = loss_of(&training, step), *second = loss_of(&training, step + 1);
    assert_ok(htone_tensor_backward(first, NULL, 1));
    assert_ok(htone_tensor_backward(second, NULL, 0));
    assert_ok(htone_tensor_backward(first, NULL, 0));
    if (training.scaler != NULL) {
      assert_ok(htone_grad_scaler_step(training.scaler, training.optimizer));
      assert_ok(htone_grad_scaler_update(training.scaler));
    } else {
      assert_ok(htone_optimizer_step(training.optimizer));
    }
    losses[step] = item_of(second);
  }
}

static void a_gpt_learns_bitwise_the_same_in_every_precision(void** state) {
  (void)state;
  const htone_dtype dtypes[] = {HTONE_F32, HTONE_BF16, HTONE_F16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    double expected[kSteps], losses[kSteps];
    train(dtypes[i], NULL, expected);
    assert_true(expected[kSteps - 1] < expected[0]);
    for (size_t rule = 0; rule < COUNT_OF(kRules); ++rule) {
      train(dtypes[i], &kRules[rule], losses);
      assert_memory_equal(losses, expected, sizeof expected);
    }
  }
}

static int64_t activations_after_forward(const Rule* rule) {
  const Training training = begin_training(HTONE_F32, rule);
  htone_memory_stats before = HTONE_MEMORY_STATS_INIT, after = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(training.device, &before));
  loss_of(&training, 0);
  assert_ok(htone_device_memory_stats(training.device, &after));
  return after.by_category[HTONE_MEMORY_ACTIVATIONS] - before.by_category[HTONE_MEMORY_ACTIVATIONS];
}

/* A block's input has kInput bytes, its inside more than 12 times as many. Full recomputation keeps the input alone. */
static void the_memory_counters_show_what_is_saved(void** state) {
  (void)state;
  enum { kInput = kBatch * kTime * kWidth * 4 };
  const int64_t none = activations_after_forward(NULL), all = activations_after_forward(&kRules[0]);
  const int64_t half = activations_after_forward(&kRules[1]), attention = activations_after_forward(&kRules[2]);
  assert_true(none - all >= (int64_t)kLayers * 11 * kInput);
  assert_int_equal(none - half, (none - all) / 2);
  assert_true(none - attention >= (int64_t)kLayers * 3 * kInput);
  assert_true(all < half && half < attention && attention < none);
}

typedef struct Probe {
  int calls;       /* of the forward */
  int again;       /* those that are second forwards */
  int differs;     /* the second forward saves more tensors */
  int fails_again; /* the second forward fails */
} Probe;

/* x^4 by two products, which save their operands. */
static htone_status run_probe(htone_module* module, const htone_forward_call* call, void* user) {
  Probe* probe = user;
  int32_t is_second = 0;
  htone_tensor *square = NULL, *more = NULL;
  (void)module;
  htone_status status = htone_is_recomputing(&is_second);
  ++probe->calls;
  probe->again += is_second;
  if (is_second && probe->fails_again) return htone_error_set(HTONE_ERROR_CANCELLED, "the probe was told to stop");
  if (status == HTONE_OK) status = htone_mul(call->inputs[0], call->inputs[0], &square);
  if (status == HTONE_OK && is_second && probe->differs) status = htone_exp(square, &more);
  if (status == HTONE_OK) status = htone_mul(square, square, call->out_tensors);
  htone_tensor_release(more);
  htone_tensor_release(square);
  return status;
}

static htone_module* make_probe(Probe* probe) {
  htone_module* module = NULL;
  *probe = (Probe){0};
  assert_ok(htone_module_create_custom(run_probe, probe, NULL, NULL, &module));
  assert_ok(htone_module_set_recompute(keep_module(module), 1));
  return module;
}

static void a_custom_module_is_told_of_its_second_forward(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = make_probe(&probe);
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  int32_t is_second = 1;
  backward(sum_of(forward(module, x)));
  assert_values(grad_of(x), 0, 4, 32);
  assert_int_equal(probe.calls, 2);
  assert_int_equal(probe.again, 1);
  assert_ok(htone_is_recomputing(&is_second));
  assert_int_equal(is_second, 0);
}

static void a38_a_forward_that_differs_or_fails_the_second_time_is_an_error(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = make_probe(&probe);
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  probe.differs = 1;
  assert_fails(htone_tensor_backward(sum_of(forward(module, x)), NULL, 0), HTONE_ERROR_STATE,
               "the forward of the module of kind custom is not the same twice, as recomputing it requires");
  probe.differs = 0;
  probe.fails_again = 1;
  assert_fails(htone_tensor_backward(sum_of(forward(module, x)), NULL, 0), HTONE_ERROR_CALLBACK,
               "the probe was told to stop");
  probe.fails_again = 0;
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(forward(module, x)));
  assert_values(grad_of(x), 0, 4, 32);
}

static void a38_writing_the_input_before_backward_is_refused(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = make_probe(&probe);
  htone_tensor *x = make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2), *scale = leaf(make_scalar(HTONE_F32, 3));
  htone_tensor *input = apply2(htone_mul, x, scale), *view = NULL, *loss = sum_of(forward(module, input));
  assert_ok(htone_tensor_detach(input, &view));
  assert_ok(htone_tensor_copy_from(keep_tensor(view), x));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "which was written after the forward");
  assert_int_equal(probe.calls, 1);
}

static void a_model_may_be_released_before_its_backward(void** state) {
  (void)state;
  static Probe probe;
  htone_module* module = NULL;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  htone_tensor* y = NULL;
  probe = (Probe){0};
  assert_ok(htone_module_create_custom(run_probe, &probe, NULL, NULL, &module));
  assert_ok(htone_module_set_recompute(module, 1));
  assert_ok(htone_module_forward(module, x, NULL, &y));
  assert_ok(htone_module_release(module));
  backward(sum_of(keep_tensor(y)));
  assert_values(grad_of(x), 0, 4, 32);
}

static htone_status count_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call;
  ++*(int*)user;
  return HTONE_OK;
}

static void hooks_of_the_inside_run_twice_and_marks_are_no_state(void** state) {
  (void)state;
  static int inner, outer;
  htone_module *model = make_gpt(test_context()), *attention = NULL, *block = NULL;
  htone_hook* hook = NULL;
  htone_state_dict *plain = NULL, *marked = NULL;
  size_t before = 0, after = 0;
  int32_t recomputes = 0;
  const Training training = {.device = test_device(), .model = model};
  assert_ok(htone_module_find(model, "h.1", &block));
  assert_ok(htone_module_find(keep_module(block), "attn", &attention));
  assert_ok(htone_module_add_forward_hook(keep_module(attention), count_forward, &inner, NULL, &hook));
  keep_hook(hook);
  assert_ok(htone_module_add_forward_hook(block, count_forward, &outer, NULL, &hook));
  keep_hook(hook);
  assert_ok(htone_module_state_dict(model, &plain));
  assert_ok(htone_state_dict_count(keep_state_dict(plain), &before));
  assert_ok(htone_module_set_recompute(block, 1));
  assert_ok(htone_module_recomputes(block, &recomputes));
  assert_int_equal(recomputes, 1);
  assert_ok(htone_module_recomputes(attention, &recomputes));
  assert_int_equal(recomputes, 0);
  assert_ok(htone_module_state_dict(model, &marked));
  assert_ok(htone_state_dict_count(keep_state_dict(marked), &after));
  assert_int_equal(after, before);
  backward(loss_of(&training, 0));
  assert_int_equal(inner, 2);
  assert_int_equal(outer, 1);
}

static void rules_are_checked(void** state) {
  (void)state;
  htone_module* model = make_gpt(test_context());
  size_t count = 0;
  assert_ok(htone_module_set_recompute_matching(model, "h.?", NULL, 3, &count));
  assert_int_equal(count, 2); /* h.0 and h.3 */
  assert_ok(htone_module_set_recompute_matching(model, NULL, NULL, 0, &count));
  assert_true(count > 20);
  assert_ok(htone_module_set_recompute_matching(model, "no such path", NULL, 1, &count));
  assert_int_equal(count, 0);
  assert_fails(htone_module_set_recompute_matching(model, NULL, NULL, -1, &count), HTONE_ERROR_INVALID_ARGUMENT,
               "every=-1, expected at least 0");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gpt_learns_bitwise_the_same_in_every_precision),
      cmocka_unit_test(the_memory_counters_show_what_is_saved),
      cmocka_unit_test(a_custom_module_is_told_of_its_second_forward),
      cmocka_unit_test(a38_a_forward_that_differs_or_fails_the_second_time_is_an_error),
      cmocka_unit_test(a38_writing_the_input_before_backward_is_refused),
      cmocka_unit_test(a_model_may_be_released_before_its_backward),
      cmocka_unit_test(hooks_of_the_inside_run_twice_and_marks_are_no_state),
      cmocka_unit_test(rules_are_checked),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
