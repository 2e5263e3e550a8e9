/* Samplers and batches for tests, made and read by one call. All results are kept until the test ends. Main thread
 * only. */
#ifndef HALFTONE_TESTS_CAPI_TEST_DATA_H
#define HALFTONE_TESTS_CAPI_TEST_DATA_H

#include "test_tensors.h"

/* The defaults, and the last batch of an epoch may be short. */
htone_sampler_options sampler_options(int64_t count, int64_t batch_size);
htone_sampler* make_sampler(htone_sampler_options options);
/* Without a shuffle. */
htone_sampler* make_ordered_sampler(int64_t count, int64_t batch_size);
htone_tensor* batch_of(htone_batches* batches, size_t index);

/* The sampler's position. */
void assert_position(htone_sampler* sampler, int64_t epoch, int64_t batch);

/* Takes one epoch of at most `capacity` indices, and returns their number. */
size_t take_epoch(htone_sampler* sampler, int64_t* indices, size_t capacity);

#endif
