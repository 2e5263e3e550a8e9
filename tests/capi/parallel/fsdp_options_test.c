/* The options of sharded training: what is refused, and the choice of units. */
#include "test_modules.h"
#include "thread_ranks.h"

/* The status of sharding a model in a group of one rank, which may be its replicas, too. */
static htone_status status_in_group(htone_module* model, int has_replicas, const htone_fsdp_options* options) {
  htone_group* group = NULL;
  htone_fsdp* fsdp = NULL;
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  const htone_status status = htone_fsdp_create(model, group, has_replicas ? group : NULL, options, &fsdp);
  if (status == HTONE_OK) assert_ok(htone_fsdp_release(fsdp));
  assert_ok(htone_group_release(group));
  return status;
}

static htone_status status_of_sharding(htone_module* model, const htone_fsdp_options* options) {
  return status_in_group(model, 0, options);
}

static htone_status status_of_hybrid_sharding(htone_module* model, const htone_fsdp_options* options) {
  return status_in_group(model, 1, options);
}

static void what_cannot_be_shared_is_refused(void** state) {
  (void)state;
  htone_module* model = make_linear(test_device(), 2, 1, 0);
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_create(model, NULL, &optimizer));
  assert_int_equal(status_of_sharding(model, NULL), HTONE_ERROR_STATE);
  assert_true(last_error_says("parameter weight has an optimizer"));
  assert_ok(htone_optimizer_release(optimizer));
  htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
  options.deterministic = 1;
  options.reduce_dtype = HTONE_BF16;
  assert_int_equal(status_of_sharding(model, &options), HTONE_ERROR_INVALID_ARGUMENT);
  assert_true(last_error_says("options.reduce_dtype=bf16"));
  options.reduce_dtype = HTONE_F8E5M2;
  assert_int_equal(status_of_sharding(model, &options), HTONE_ERROR_INVALID_ARGUMENT);
  assert_true(last_error_says("options.reduce_dtype=f8e5m2, expected f32 with options.deterministic"));
  options.deterministic = 0;
  assert_int_equal(status_of_hybrid_sharding(model, &options), HTONE_ERROR_UNSUPPORTED);
  assert_true(last_error_says("replicas with options.reduce_dtype=f8e5m2"));
  options = (htone_fsdp_options)HTONE_FSDP_OPTIONS_INIT;
  options.weight_dtype = HTONE_F8E5M2;
  assert_int_equal(status_of_sharding(model, &options), HTONE_ERROR_INVALID_ARGUMENT);
  assert_true(last_error_says("options.weight_dtype=f8e5m2, expected f32, bf16, f16 or f8e4m3"));
  options = (htone_fsdp_options)HTONE_FSDP_OPTIONS_INIT;
  options.offload = HTONE_OFFLOAD_FILE;
  assert_int_equal(status_of_sharding(model, &options), HTONE_ERROR_INVALID_ARGUMENT);
  assert_true(last_error_says("options.offload_path is NULL, expected a directory"));
  assert_ok(status_of_sharding(model, NULL));
  assert_int_equal(status_of_sharding(model, NULL), HTONE_ERROR_STATE);
  assert_true(last_error_says("sharded already"));
  assert_int_equal(htone_optimizer_create(model, &(htone_optimizer_options)HTONE_ADAFACTOR_OPTIONS_INIT, &optimizer),
                   HTONE_ERROR_UNSUPPORTED);
  htone_module* narrow = NULL;
  htone_linear_options linear = HTONE_LINEAR_OPTIONS_INIT;
  linear.dtype = HTONE_BF16;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, &linear, &narrow));
  assert_int_equal(status_of_sharding(narrow, NULL), HTONE_ERROR_DTYPE_MISMATCH);
  assert_ok(htone_module_release(narrow));
  htone_module* empty = NULL;
  assert_ok(htone_module_create_relu(&empty));
  assert_int_equal(status_of_sharding(empty, NULL), HTONE_ERROR_STATE);
  assert_ok(htone_module_release(empty));
}

static void units_are_chosen_by_path_kind_and_size(void** state) {
  (void)state;
  htone_transformer_options transformer = HTONE_TRANSFORMER_OPTIONS_INIT;
  transformer.vocabulary = transformer.positions = 8;
  transformer.width = transformer.heads = transformer.layers = 4;
  htone_group* group = NULL;
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  const struct {
    const char *path, *kind;
    int64_t elements;
    size_t units;
  } rules[] = {{NULL, NULL, 1 << 20, 1},
               {NULL, "transformer_block", 1, 5},
               {"h.0*", "transformer_block", 1, 2},
               {NULL, "transformer_block", 1000000, 1},
               {"h.?", NULL, 1, 5}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    htone_module* model = NULL;
    htone_fsdp* fsdp = NULL;
    size_t count = 0;
    htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
    options.unit_path = rules[i].path;
    options.unit_kind = rules[i].kind;
    options.unit_elements = rules[i].elements;
    assert_ok(htone_module_create_transformer(test_device(), &transformer, &model));
    assert_ok(htone_fsdp_create(model, group, NULL, &options, &fsdp));
    assert_ok(htone_fsdp_unit_count(fsdp, &count));
    assert_int_equal(count, rules[i].units);
    assert_ok(htone_fsdp_release(fsdp));
    assert_ok(htone_module_release(model));
  }
  assert_ok(htone_group_release(group));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_cannot_be_shared_is_refused),
      cmocka_unit_test(units_are_chosen_by_path_kind_and_size),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
