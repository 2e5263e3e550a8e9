/* The work of training that docs/seed-claims.md compares with the first texts: of a model with 70 billion parameters,
 * and what products in blocks read. */
#include <math.h>

#include "test_tensors.h"

/* The parameters of Llama 2 70B with other numbers of layers, described on the device "meta". */
static double parameters_of(int64_t layers) {
  htone_transformer_options llama = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  htone_device* device = NULL;
  htone_module* model = NULL;
  llama.bias = 0;
  llama.vocabulary = 32000;
  llama.layers = layers;
  llama.width = 8192;
  llama.heads = 64;
  llama.kv_heads = 8;
  llama.hidden = 28672;
  llama.norm_kind = HTONE_NORM_RMS;
  llama.feed_forward = HTONE_FEED_FORWARD_SWIGLU;
  llama.head = HTONE_HEAD_OWN;
  llama.position_kind = HTONE_POSITION_ROTARY;
  assert_ok(htone_device_create(make_context(1, 0), "meta", &device));
  keep_device(device);
  assert_ok(htone_module_create_transformer(device, &llama, &model));
  keep_module(model);
  assert_ok(htone_device_memory_stats(device, &stats));
  return (double)stats.by_category[HTONE_MEMORY_PARAMETERS] / 4;
}

/* Six operations for each parameter and token: tests/nn/recompute_work_test.cpp. */
static void fifty_thousand_tokens_a_second_of_70_billion_parameters_are_beyond_64_gpus(void** state) {
  (void)state;
  const double one = parameters_of(1), parameters = one + 79 * (parameters_of(2) - one);
  assert_near(parameters, 68976648192.0, 0);
  const double peak = 64 * 312e12, tokens = 1.4e12, day = 86400;
  assert_near(6 * parameters * 50e3 / peak, 1.036, 0.001);
  assert_near(tokens / 50e3 / day, 324, 0.1);
  assert_near(6 * parameters * tokens / peak / day, 336, 0.5);
  assert_near(tokens / (21 * day), 772e3, 1e3);
}

/* Bytes that a product of n x n matrices reads in square blocks, each of them once into the fast memory. */
static double bytes_read(int64_t n, int64_t block, int element) {
  double bytes = 0;
  for (int64_t row = 0; row < n; row += block) {
    for (int64_t column = 0; column < n; column += block) {
      for (int64_t depth = 0; depth < n; depth += block) bytes += 2.0 * (double)(block * block) * element;
    }
  }
  return bytes;
}

/* 70^2 numbers of 4 bytes have nearly the bytes of 99^2 numbers of 2. */
static void blocks_of_twice_the_numbers_in_half_the_bytes_read_2_83_times_less(void** state) {
  (void)state;
  assert_near(99.0 * 99 * 2 / (70 * 70 * 4), 1, 0.001);
  assert_near(bytes_read(6930, 70, 4) / bytes_read(6930, 99, 2), 2.828, 0.001);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fifty_thousand_tokens_a_second_of_70_billion_parameters_are_beyond_64_gpus),
      cmocka_unit_test(blocks_of_twice_the_numbers_in_half_the_bytes_read_2_83_times_less),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
