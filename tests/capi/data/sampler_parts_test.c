/* Samplers of the two parts of a split. */
#include "test_data.h"

enum { kSamples = 1000 };

static htone_sampler* make_part(htone_data_part part, double share, uint64_t seed, int32_t shuffle) {
  htone_sampler_options options = sampler_options(kSamples, 64);
  htone_sampler* sampler = NULL;
  options.shuffle = shuffle;
  assert_ok(htone_sampler_create_part(&options, part, share, seed, &sampler));
  return keep_sampler(sampler);
}

static void the_parts_share_the_samples_without_overlap(void** state) {
  (void)state;
  for (int32_t shuffle = 0; shuffle < 2; ++shuffle) {
    int64_t indices[kSamples];
    int seen[kSamples] = {0};
    const size_t training = take_epoch(make_part(HTONE_PART_TRAINING, 0.2501, 3, shuffle), indices, kSamples);
    assert_int_equal(training, 750);
    assert_int_equal(take_epoch(make_part(HTONE_PART_VALIDATION, 0.2501, 3, shuffle), indices + training, 250), 250);
    for (int i = 0; i < kSamples; ++i) ++seen[indices[i]];
    for (int i = 0; i < kSamples; ++i) assert_int_equal(seen[i], 1);
  }
}

static void a_split_is_random_and_depends_on_its_seed_alone(void** state) {
  (void)state;
  int64_t first[kSamples], same[kSamples], other[kSamples];
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 3, 0), first, kSamples);
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 3, 0), same, kSamples);
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 4, 0), other, kSamples);
  assert_memory_equal(first, same, 500 * sizeof *first);
  assert_memory_not_equal(first, other, 500 * sizeof *first);
  int in_lower_half = 0;
  for (int i = 0; i < 500; ++i) {
    in_lower_half += first[i] < kSamples / 2;
    if (i > 0) assert_true(first[i] > first[i - 1]); /* without shuffle in rising order */
  }
  assert_true(in_lower_half > 200 && in_lower_half < 300); /* six standard deviations */
}

static void parts_shuffle_anew_each_epoch_and_share_out_to_ranks(void** state) {
  (void)state;
  int64_t first[kSamples], second[kSamples];
  htone_sampler* sampler = make_part(HTONE_PART_TRAINING, 0.1, 3, 1);
  take_epoch(sampler, first, kSamples);
  assert_int_equal(take_epoch(sampler, second, kSamples), 900);
  assert_memory_not_equal(first, second, 900 * sizeof *first);
  int seen[kSamples] = {0};
  for (int32_t rank = 0; rank < 2; ++rank) {
    htone_sampler_options options = sampler_options(kSamples, 64);
    htone_sampler* part = NULL;
    options.rank = rank;
    options.world_size = 2;
    assert_ok(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 0.1, 3, &part));
    assert_int_equal(take_epoch(keep_sampler(part), second, kSamples), 450);
    for (int i = 0; i < 450; ++i) ++seen[second[i]];
  }
  for (int i = 0; i < 900; ++i) assert_int_equal(seen[first[i]], 1);
}

static void a_part_without_a_batch_is_refused(void** state) {
  (void)state;
  htone_sampler_options options = sampler_options(10, 4);
  htone_sampler* out = NULL;
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_VALIDATION, 0.05, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=10");
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=10");
  options.count = INT64_MAX;
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "expected at most 1152921504606846975");
  assert_null(out);
}

static void a_checkpoint_of_another_part_does_not_fit(void** state) {
  (void)state;
  htone_checkpoint* checkpoint = NULL;
  int64_t step = -1;
  assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
  assert_ok(htone_checkpoint_add_sampler(checkpoint, "data", make_part(HTONE_PART_TRAINING, 0.5, 3, 1)));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_ok(htone_checkpoint_release(checkpoint));
  htone_sampler* const others[] = {
      make_part(HTONE_PART_VALIDATION, 0.5, 3, 1), make_part(HTONE_PART_TRAINING, 0.25, 3, 1),
      make_part(HTONE_PART_TRAINING, 0.5, 4, 1), make_sampler(sampler_options(kSamples, 64))};
  for (size_t i = 0; i < COUNT_OF(others); ++i) {
    assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
    assert_ok(htone_checkpoint_add_sampler(checkpoint, "data", others[i]));
    assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "it was saved with");
    assert_ok(htone_checkpoint_release(checkpoint));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_parts_share_the_samples_without_overlap),
      cmocka_unit_test(a_split_is_random_and_depends_on_its_seed_alone),
      cmocka_unit_test(parts_shuffle_anew_each_epoch_and_share_out_to_ranks),
      cmocka_unit_test(a_part_without_a_batch_is_refused),
      cmocka_unit_test(a_checkpoint_of_another_part_does_not_fit),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
