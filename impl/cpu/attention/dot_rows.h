// Arithmetic on rows of scores between dot products: it is that of rows-inl.h, but the weights are rounded to BF16 and
// stored in pairs, which the next product reads as its words. Only for CPUs with has_dot(); pure functions, any thread.
#pragma once

#include <cstdint>

namespace halftone::cpu {

// A row is read and written up to the next multiple of this many scores: zeros follow its last score.
constexpr int64_t kPairStep = 32;

// Makes exp(scale * row[i] - shift), the weights, of `count` scores and writes them over the row's beginning as pairs.
// Returns the sum of the weights before they are rounded.
float weigh_into_pairs(float* row, int64_t count, float scale, float shift) noexcept;

// Writes FP32 weights over their row's beginning as pairs.
void round_into_pairs(float* row, int64_t count) noexcept;

// Two neighbouring rows of backward, which has products whose depth are the rows, and one whose depth are the keys.
struct SlopePair {
  struct Row {
    int64_t count;         // of scores that the row sees; 0 for a row after the last
    float log_sum;         // infinity gives weights of 0
    float product;         // D
    const float* factors;  // dropout's, for all rows or for none
  };
  Row rows[2];
  float scale;
  // Scores before the scale, and the gradients of the weights. They begin `stride` after those of the row before. The
  // first row receives the weights, and the slopes, of both rows: a pair is one key's. The second row is not changed.
  float* scores;
  float* slopes;
  int64_t stride;
  // Receives each row's slopes; a pair is two neighbouring keys'. Rows of kPairStride words.
  float* slope_rows;
};
// weight = exp(scale * score - log_sum); the slope is weight * (factor * slope - product), and the weight that is
// stored is factor * weight.
void weigh_slope_pair(const SlopePair& pair) noexcept;

// products[i] of 16 rows: the dot product of rows i of a and b, which are lanes of panels, as dot_tile_function's
// kernels compute it.
void multiply_rows(const float* a, const float* b, int64_t words, float* products) noexcept;

}  // namespace halftone::cpu
