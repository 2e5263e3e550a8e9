/* The list of devices, and the CPU's features. stub_device_test.c has the devices of a plugin. */
#include <string.h>

#include "test_tensors.h"

static void the_cpu_is_the_first_device(void** state) {
  (void)state;
  size_t count = 0;
  htone_device_info info = HTONE_DEVICE_INFO_INIT;
  assert_ok(htone_context_device_count(test_context(), &count));
  assert_int_equal(count, 1);
  assert_ok(htone_context_device_info(test_context(), 0, &info));
  assert_string_equal(info.name, "cpu");
  assert_int_equal(info.type, HTONE_DEVICE_CPU);
  assert_fails(htone_context_device_info(test_context(), 1, &info), HTONE_ERROR_INVALID_ARGUMENT, "index=1");
}

static void a_name_that_is_cut_off_ends_with_a_zero_byte(void** state) {
  (void)state;
  struct {
    htone_device_info info;
    char guard[8];
  } shown;
  memset(&shown, 0x5a, sizeof shown);
  shown.info.struct_size = 16;
  assert_ok(htone_context_device_info(test_context(), 0, &shown.info));
  assert_string_equal(shown.info.name, "cpu");
  assert_int_equal(shown.info.name[8], 0x5a);
}

static void a_missing_device_is_told_with_those_there_are(void** state) {
  (void)state;
  htone_device* device = NULL;
  assert_fails(
      htone_device_create(test_context(), "gpu", &device), HTONE_ERROR_DEVICE,
      "there is no device \"gpu:0\": this build has no \"gpu\" backend, and no loaded plugin serves one; there are "
      "cpu");
  assert_fails(htone_device_create(test_context(), "cuda", &device), HTONE_ERROR_DEVICE, "device");
  assert_fails(htone_device_create(test_context(), "cpu:3", &device), HTONE_ERROR_DEVICE, "there are cpu");
  assert_null(device);
}

/* The build information names the instruction set, too. */
static void an_option_that_a_device_lacks_is_unsupported(void** state) {
  (void)state;
  htone_device* cpu = NULL;
  assert_ok(htone_device_create(test_context(), "cpu", &cpu));
  assert_fails(htone_device_set_option(cpu, HTONE_DEVICE_FUSED_GELU, 1), HTONE_ERROR_UNSUPPORTED,
               "cpu has no option HTONE_DEVICE_FUSED_GELU");
  assert_fails(htone_device_set_option(cpu, HTONE_DEVICE_MANAGED_MEMORY, 2), HTONE_ERROR_INVALID_ARGUMENT, "value=2");
  assert_fails(htone_device_set_option(cpu, (htone_device_option)7, 1), HTONE_ERROR_INVALID_ARGUMENT, "option=7");
  assert_ok(htone_device_release(cpu));
}

/* 1 + 2^-12 is 1 in TF32. */
static void the_cpu_rounds_products_to_tf32_where_asked(void** state) {
  (void)state;
  htone_device* cpu = NULL;
  htone_tensor* out = NULL;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1 + 0x1p-12}, 2, 1, 1);
  assert_ok(htone_device_create(test_context(), "cpu", &cpu));
  assert_ok(htone_device_set_option(cpu, HTONE_DEVICE_TF32_PRODUCTS, 1));
  assert_ok(htone_matmul(x, x, &out));
  assert_near(item_of(keep_tensor(out)), 1, 0);
  assert_ok(htone_device_set_option(cpu, HTONE_DEVICE_TF32_PRODUCTS, 0));
  assert_ok(htone_matmul(x, x, &out));
  assert_near(item_of(keep_tensor(out)), 1 + 0x1p-11, 0x1p-23);
  assert_ok(htone_device_release(cpu));
}

static void the_cpu_is_described(void** state) {
  (void)state;
  htone_cpu_features features = HTONE_CPU_FEATURES_INIT, again = features;
  char build[256];
  size_t length = 0;
  assert_ok(htone_cpu_describe(&features));
  assert_ok(htone_build_info(build, sizeof build, &length));
  assert_true(strlen(features.instruction_set) > 0 && strstr(build, features.instruction_set) != NULL);
  assert_true(features.has_bf16_products == 0 || features.has_bf16_products == 1);
  assert_true(features.uses_bf16_products <= features.has_bf16_products);
  if (features.has_bf16_products) assert_string_equal(features.instruction_set, "AVX3");
  assert_ok(htone_cpu_describe(&again));
  assert_memory_equal(&again, &features, sizeof features); /* measured once */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cpu_is_the_first_device),
      cmocka_unit_test(a_name_that_is_cut_off_ends_with_a_zero_byte),
      cmocka_unit_test(a_missing_device_is_told_with_those_there_are),
      cmocka_unit_test(an_option_that_a_device_lacks_is_unsupported),
      cmocka_unit_test(the_cpu_rounds_products_to_tf32_where_asked),
      cmocka_unit_test(the_cpu_is_described),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
