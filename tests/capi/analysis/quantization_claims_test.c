/* Uniform quantization as docs/seed-claims.md compares it with the first texts, by plain loops over numbers that the
 * library draws: the library has no integer quantizer yet. */
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

enum { kMany = 1 << 16 };

/* The caller frees them. */
static double* draw(htone_status (*fill)(htone_device*, htone_dtype, int32_t, const int64_t*, htone_tensor**)) {
  const int64_t many = kMany;
  htone_tensor* drawn = NULL;
  assert_ok(fill(make_device(make_context(1, 7)), HTONE_F64, 1, &many, &drawn));
  return values_of(keep_tensor(drawn));
}

static double power_of(const double* x, int count) {
  double squares = 0;
  for (int i = 0; i < count; ++i) squares += x[i] * x[i];
  return squares / count;
}

static double decibel(double signal, double noise) { return 10 * log10(signal / noise); }

/* Signed codes of some bits, the largest of them at `clip`. */
static double quantized(double x, double clip, int bits) {
  const double most = (1 << (bits - 1)) - 1;
  return fmax(-most, fmin(most, nearbyint(x / clip * most))) * clip / most;
}

/* Signal to noise of numbers with codes whose largest is at `clip`. */
static double snr_with_clip(const double* x, int count, double clip, int bits) {
  double noise = 0;
  for (int i = 0; i < count; ++i) noise += pow(x[i] - quantized(x[i], clip, bits), 2);
  return decibel(power_of(x, count), noise / count);
}

static double largest_of(const double* x, int count) {
  double largest = 0;
  for (int i = 0; i < count; ++i) largest = fmax(largest, fabs(x[i]));
  return largest;
}

static double best_snr(const double* x, int count, int bits) {
  double best = -INFINITY;
  for (double clip = 0.5; clip < 6; clip += 0.05) best = fmax(best, snr_with_clip(x, count, clip, bits));
  return best;
}

/* Numbers of a range that has 2^b - 1 steps. */
static void the_noise_of_uniform_numbers_is_the_square_of_a_step_over_12(void** state) {
  (void)state;
  double* x = draw(htone_rand);
  for (int bits = 4; bits <= 12; bits += 4) {
    const double step = 2.0 / ((1 << bits) - 1);
    double sum = 0, squares = 0, most = 0, powers = 0;
    for (int i = 0; i < kMany; ++i) {
      const double number = 2 * x[i] - 1, error = number - (nearbyint((number + 1) / step) * step - 1);
      sum += error;
      squares += error * error;
      powers += number * number;
      most = fmax(most, fabs(error));
    }
    assert_true(most <= step / 2 * (1 + 1e-9) && most > 0.49 * step);
    assert_near(sum / kMany, 0, 5 * step / sqrt(12.0 * kMany));
    assert_near(squares / kMany * 12 / (step * step), 1, 0.02);
    assert_near(decibel(powers, squares), 6.02 * bits, bits == 4 ? 0.65 : 0.15);
  }
  free(x);
}

/* 6.02 b + 1.76 dB is that of a sine over the whole range; other signals have their own constant. */
static void the_constant_of_the_signal_to_noise_ratio_is_a_sines(void** state) {
  (void)state;
  double *normal = draw(htone_randn), *sine = draw(htone_rand);
  for (int i = 0; i < kMany; ++i) sine[i] = sin(6.283185307179586 * sine[i]);
  assert_near(snr_with_clip(sine, kMany, 1, 8), 6.02 * 8 + 1.76, 0.15);
  assert_near(best_snr(normal, kMany, 8), 40.54, 0.3);
  assert_near(best_snr(normal, kMany, 4), 18.90, 0.3);
  free(normal);
  free(sine);
}

static int compare_numbers(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* One iteration of Lloyd's algorithm over sorted numbers: each level moves to the mean of the numbers next to it.
 * Returns the mean square of the errors before. */
static double improve_levels(const double* sorted, double* levels, int count) {
  double squares = 0;
  int begin = 0;
  for (int level = 0; level < count; ++level) {
    const double end_value = level + 1 < count ? (levels[level] + levels[level + 1]) / 2 : INFINITY;
    double sum = 0;
    int end = begin;
    for (; end < kMany && sorted[end] < end_value; ++end) {
      sum += sorted[end];
      squares += pow(sorted[end] - levels[level], 2);
    }
    if (end > begin) levels[level] = sum / (end - begin);
    begin = end;
  }
  return squares / kMany;
}

/* Eight levels for normal numbers; Max, Quantizing for Minimum Distortion, 1960: 0.03454, with equal steps 0.03744. */
static void levels_of_lloyd_have_less_noise_than_equal_steps(void** state) {
  (void)state;
  double* x = draw(htone_randn);
  double levels[8], best = INFINITY, noise = INFINITY;
  qsort(x, kMany, sizeof *x, compare_numbers);
  for (double step = 0.3; step < 1; step += 0.01) {
    for (int i = 0; i < 8; ++i) levels[i] = (i - 3.5) * step;
    best = fmin(best, improve_levels(x, levels, 8));
  }
  for (int i = 0; i < 8; ++i) levels[i] = i - 3.5;
  for (int i = 0; i < 200; ++i) noise = improve_levels(x, levels, 8);
  assert_near(best, 0.03744, 0.001);
  assert_near(noise, 0.03454, 0.001);
  free(x);
}

/* Shares of the codes -most to most. */
static double entropy_of(const double* shares, int count) {
  double bits = 0;
  for (int i = 0; i < count; ++i) bits -= shares[i] > 0 ? shares[i] * log2(shares[i]) : 0;
  return bits;
}

/* The mean length of Huffman's codes: the sum of the shares of all pairs that are joined. */
static double huffman_bits(double* shares, int count) {
  double bits = 0;
  for (; count > 1; --count) {
    qsort(shares, (size_t)count, sizeof *shares, compare_numbers);
    shares[0] += shares[1];
    bits += shares[0];
    shares[1] = shares[count - 1];
  }
  return bits;
}

static void count_codes(const double* x, double step, double* shares, int count) {
  for (int i = 0; i < count; ++i) shares[i] = 0;
  for (int i = 0; i < kMany; ++i) shares[(int)nearbyint(x[i] / step) + count / 2] += 1.0 / kMany;
}

static void huffman_codes_are_less_than_a_bit_longer_than_the_entropy(void** state) {
  (void)state;
  enum { kCodes = 255 };
  double halves[] = {0.5, 0.25, 0.125, 0.125}, shares[kCodes];
  assert_near(huffman_bits(halves, 4), 1.75, 1e-12);
  double* x = draw(htone_randn);
  count_codes(x, largest_of(x, kMany) / 127, shares, kCodes);
  const double entropy = entropy_of(shares, kCodes);
  assert_near(entropy, 6.90, 0.01);
  int used = 0;
  for (int i = 0; i < kCodes; ++i) {
    if (shares[i] > 0) shares[used++] = shares[i];
  }
  const double bits = huffman_bits(shares, used);
  assert_true(bits >= entropy && bits < entropy + 1);
  free(x);
}

/* Equal steps with codes of as many bits as their entropy need 0.2546 bits, which is log2(pi e / 6) / 2, more than the
 * least that is possible at their noise. */
static void equal_steps_need_a_quarter_of_a_bit_more_than_the_bound(void** state) {
  (void)state;
  enum { kCodes = 201 };
  const double step = 0.1;
  double shares[kCodes], noise = 0;
  double* x = draw(htone_randn);
  count_codes(x, step, shares, kCodes);
  for (int i = 0; i < kMany; ++i) noise += pow(x[i] - nearbyint(x[i] / step) * step, 2) / kMany;
  assert_near(entropy_of(shares, kCodes) - log2(power_of(x, kMany) / noise) / 2, 0.2546, 0.01);
  free(x);
}

/* The magnitude that 99.9 % of the numbers do not exceed. */
static double percentile(const double* x, int count) {
  double* sorted = malloc((size_t)count * sizeof *sorted);
  for (int i = 0; i < count; ++i) sorted[i] = fabs(x[i]);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_numbers);
  const double clip = sorted[(int)ceil(0.999 * count) - 1];
  free(sorted);
  return clip;
}

static void a_percentile_helps_most_numbers_beside_an_outlier_and_costs_without_one(void** state) {
  (void)state;
  enum { kCount = 4096 };
  double* x = draw(htone_randn);
  const double most = largest_of(x, kCount), share = percentile(x, kCount);
  assert_near(snr_with_clip(x, kCount, most, 8), 40.6, 0.1);
  assert_near(snr_with_clip(x, kCount, share, 8), 36.3, 0.1);
  assert_near(snr_with_clip(x, kCount, most, 4), 15.3, 0.1);
  assert_near(snr_with_clip(x, kCount, share, 4), 16.9, 0.1);
  x[kCount - 1] = 100;
  const double clip = percentile(x, kCount);
  assert_near(snr_with_clip(x, kCount - 1, 100, 8), 13.1, 0.1);
  assert_near(snr_with_clip(x, kCount - 1, clip, 8), 36.5, 0.1);
  assert_near(snr_with_clip(x, kCount, 100, 8), 18.3, 0.1);
  assert_near(snr_with_clip(x, kCount, clip, 8), 1.9, 0.1); /* the outlier becomes 3.6 */
  free(x);
}

enum { kBins = 2048, kLevels = 128 };

static double sum_counts(const double* counts, int begin, int end) {
  double sum = 0;
  for (int i = begin; i < end; ++i) sum += counts[i];
  return sum;
}

/* Divergence of Kullback and Leibler of magnitudes that are clipped to the first `used` bins from 128 levels, each of
 * which spreads its share evenly over its bins that are not empty, where an empty level has 1e-4 of a number: the
 * calibration of Migacz, 8-bit Inference with TensorRT, 2017. */
static double divergence(const double* counts, int used) {
  const double all = sum_counts(counts, 0, kBins), kept = sum_counts(counts, 0, used);
  double sum = 0;
  for (int level = 0; level < kLevels; ++level) {
    const int begin = level * used / kLevels, end = (level + 1) * used / kLevels;
    int full = 0;
    for (int i = begin; i < end; ++i) full += counts[i] > 0;
    const double even = fmax(sum_counts(counts, begin, end) / (full + (full == 0)), 1e-4) / kept;
    for (int i = begin; i < end; ++i) {
      const double share = (counts[i] + (i == used - 1 ? all - kept : 0)) / all;
      if (share > 0) sum += share * log(share / even);
    }
  }
  return sum;
}

static double clip_by_divergence(const double* x, int count) {
  const double largest = largest_of(x, count);
  double counts[kBins] = {0}, least = INFINITY;
  int best = kBins;
  for (int i = 0; i < count; ++i) counts[(int)fmin(kBins - 1, fabs(x[i]) / largest * kBins)] += 1;
  for (int used = kLevels; used <= kBins; ++used) {
    const double own = divergence(counts, used);
    if (own < least) {
      least = own;
      best = used;
    }
  }
  return (best + 0.5) / kBins * largest;
}

/* With an outlier of 100 the least clip that is tried, 128 of 2048 bins, is 6.25. */
static void the_least_divergence_finds_the_best_clip_and_ignores_an_outlier(void** state) {
  (void)state;
  double* x = draw(htone_randn);
  const double alone = clip_by_divergence(x, kMany);
  assert_near(alone, 3.92, 0.1);
  assert_near(snr_with_clip(x, kMany, alone, 8), best_snr(x, kMany, 8), 0.05);
  x[kMany - 1] = 100;
  const double beside = clip_by_divergence(x, kMany);
  assert_near(beside, 6.25, 0.05);
  assert_near(snr_with_clip(x, kMany - 1, beside, 8), 36.9, 0.1);
  assert_near(snr_with_clip(x, kMany - 1, 100, 8), 12.9, 0.1);
  free(x);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_noise_of_uniform_numbers_is_the_square_of_a_step_over_12),
      cmocka_unit_test(the_constant_of_the_signal_to_noise_ratio_is_a_sines),
      cmocka_unit_test(levels_of_lloyd_have_less_noise_than_equal_steps),
      cmocka_unit_test(huffman_codes_are_less_than_a_bit_longer_than_the_entropy),
      cmocka_unit_test(equal_steps_need_a_quarter_of_a_bit_more_than_the_bound),
      cmocka_unit_test(a_percentile_helps_most_numbers_beside_an_outlier_and_costs_without_one),
      cmocka_unit_test(the_least_divergence_finds_the_best_clip_and_ignores_an_outlier),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
