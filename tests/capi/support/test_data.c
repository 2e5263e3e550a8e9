#include "test_data.h"

htone_sampler_options sampler_options(int64_t count, int64_t batch_size) {
  htone_sampler_options options;
  assert_ok(htone_sampler_options_init(&options));
  options.count = count;
  options.batch_size = batch_size;
  return options;
}

htone_sampler* make_sampler(htone_sampler_options options) {
  htone_sampler* sampler = NULL;
  assert_ok(htone_sampler_create(&options, &sampler));
  return keep_sampler(sampler);
}

htone_sampler* make_ordered_sampler(int64_t count, int64_t batch_size) {
  htone_sampler_options options = sampler_options(count, batch_size);
  options.shuffle = 0;
  return make_sampler(options);
}

htone_tensor* batch_of(htone_batches* batches, size_t index) {
  htone_tensor* out = NULL;
  assert_ok(htone_batches_tensor(batches, index, &out));
  return keep_tensor(out);
}

void assert_position(htone_sampler* sampler, int64_t epoch, int64_t batch) {
  int64_t actual_epoch = -1, actual_batch = -1;
  assert_ok(htone_sampler_position(sampler, &actual_epoch, &actual_batch));
  assert_int_equal(actual_epoch, epoch);
  assert_int_equal(actual_batch, batch);
}

size_t take_epoch(htone_sampler* sampler, int64_t* indices, size_t capacity) {
  int64_t batches = 0;
  size_t taken = 0;
  assert_ok(htone_sampler_batches_per_epoch(sampler, &batches));
  for (; batches > 0; --batches) {
    size_t count = 0;
    assert_ok(htone_sampler_next(sampler, indices + taken, capacity - taken, &count));
    taken += count;
  }
  return taken;
}
