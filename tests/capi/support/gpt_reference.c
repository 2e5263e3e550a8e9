#include "gpt_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kHiddenFactor = 4 };
static const double kEpsilon = 1e-5;
static const double kPi = 3.14159265358979323846;

/* One block's parameters, or gradients, in the order of the module. */
typedef struct Block {
  double *ln1_w, *ln1_b, *attn_w, *attn_b, *proj_w, *proj_b, *ln2_w, *ln2_b, *fc_w, *fc_b, *down_w, *down_b;
} Block;

/* One block's values in forward. */
typedef struct Values {
  double *x, *normed1, *qkv, *weights, *attended, *middle, *normed2, *hidden, *active;
} Values;

size_t gpt_parameter_count(GptSizes s) {
  const size_t c = (size_t)s.width, h = kHiddenFactor * c;
  const size_t block = 4 * c + 3 * c * c + 3 * c + c * c + c + h * c + h + c * h + c;
  return (size_t)(s.vocabulary + s.positions) * c + (size_t)s.layers * block + 2 * c;
}

static double* take(double** cursor, size_t count) {
  double* taken = *cursor;
  *cursor += count;
  return taken;
}

static Block take_block(double** cursor, int width) {
  const size_t c = (size_t)width, h = kHiddenFactor * c;
  Block b;
  b.ln1_w = take(cursor, c), b.ln1_b = take(cursor, c);
  b.attn_w = take(cursor, 3 * c * c), b.attn_b = take(cursor, 3 * c);
  b.proj_w = take(cursor, c * c), b.proj_b = take(cursor, c);
  b.ln2_w = take(cursor, c), b.ln2_b = take(cursor, c);
  b.fc_w = take(cursor, h * c), b.fc_b = take(cursor, h);
  b.down_w = take(cursor, c * h), b.down_b = take(cursor, c);
  return b;
}

/* y [n, out] = x [n, in] w^T + b; b may be NULL. */
static void linear(int n, int in, int out, const double* x, const double* w, const double* b, double* y) {
  for (int i = 0; i < n; ++i) {
    for (int o = 0; o < out; ++o) {
      double sum = b == NULL ? 0 : b[o];
      for (int k = 0; k < in; ++k) sum += x[i * in + k] * w[o * in + k];
      y[i * out + o] = sum;
    }
  }
}

/* Adds to gx, gw and, unless it is NULL, gb. */
static void linear_back(int n, int in, int out, const double* x, const double* w, const double* gy, double* gx,
                        double* gw, double* gb) {
  for (int i = 0; i < n; ++i) {
    for (int o = 0; o < out; ++o) {
      const double g = gy[i * out + o];
      if (gb != NULL) gb[o] += g;
      for (int k = 0; k < in; ++k) {
        gx[i * in + k] += g * w[o * in + k];
        gw[o * in + k] += g * x[i * in + k];
      }
    }
  }
}

static void row_statistics(int c, const double* x, double* mean, double* inverse) {
  double sum = 0, squares = 0;
  for (int k = 0; k < c; ++k) sum += x[k];
  *mean = sum / c;
  for (int k = 0; k < c; ++k) squares += (x[k] - *mean) * (x[k] - *mean);
  *inverse = 1 / sqrt(squares / c + kEpsilon);
}

static void norm(int n, int c, const double* x, const double* w, const double* b, double* y) {
  for (int i = 0; i < n; ++i) {
    double mean, inverse;
    row_statistics(c, x + i * c, &mean, &inverse);
    for (int k = 0; k < c; ++k) y[i * c + k] = (x[i * c + k] - mean) * inverse * w[k] + b[k];
  }
}

/* Adds to gx, gw and gb. With the normalized row z: gx = inverse * (g w - mean(g w) - z mean(g w z)). */
static void norm_back(int n, int c, const double* x, const double* w, const double* gy, double* gx, double* gw,
                      double* gb) {
  for (int i = 0; i < n; ++i) {
    double mean, inverse, mean_g = 0, mean_gz = 0;
    row_statistics(c, x + i * c, &mean, &inverse);
    for (int k = 0; k < c; ++k) {
      const double z = (x[i * c + k] - mean) * inverse, g = gy[i * c + k];
      gw[k] += g * z;
      gb[k] += g;
      mean_g += g * w[k] / c;
      mean_gz += g * w[k] * z / c;
    }
    for (int k = 0; k < c; ++k) {
      const double z = (x[i * c + k] - mean) * inverse;
      gx[i * c + k] += inverse * (gy[i * c + k] * w[k] - mean_g - z * mean_gz);
    }
  }
}

/* The position of element d of head h in row `t` of sequence `b` of qkv; `which` is 0, 1, 2 for query, key, value. */
static size_t at(GptSizes s, int b, int t, int which, int h, int d) {
  return (size_t)(((b * s.time + t) * 3 + which) * s.width + h * (s.width / s.heads) + d);
}

/* Calls `visit` for every sequence, head and query. */
typedef void (*VisitRow)(GptSizes s, int b, int h, int t, double* weights, void* data);
static void each_row(GptSizes s, double* weights, VisitRow visit, void* data) {
  for (int b = 0; b < s.batch; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      for (int t = 0; t < s.time; ++t) visit(s, b, h, t, weights + ((b * s.heads + h) * s.time + t) * s.time, data);
    }
  }
}

typedef struct Attention {
  const double* qkv;
  double* out;         /* forward */
  const double* g_out; /* backward */
  double* g_qkv;
} Attention;

static void attend_row(GptSizes s, int b, int h, int t, double* weights, void* data) {
  const Attention* a = data;
  const int depth = s.width / s.heads;
  double sum = 0;
  for (int u = 0; u <= t; ++u) {
    double score = 0;
    for (int d = 0; d < depth; ++d) score += a->qkv[at(s, b, t, 0, h, d)] * a->qkv[at(s, b, u, 1, h, d)];
    weights[u] = exp(score / sqrt(depth));
    sum += weights[u];
  }
  for (int u = 0; u <= t; ++u) weights[u] /= sum;
  for (int d = 0; d < depth; ++d) {
    double value = 0;
    for (int u = 0; u <= t; ++u) value += weights[u] * a->qkv[at(s, b, u, 2, h, d)];
    a->out[(b * s.time + t) * s.width + h * depth + d] = value;
  }
}

static void attend_row_back(GptSizes s, int b, int h, int t, double* weights, void* data) {
  const Attention* a = data;
  const int depth = s.width / s.heads;
  const double* g = a->g_out + (b * s.time + t) * s.width + h * depth;
  double mean = 0, g_weight[64];
  for (int u = 0; u <= t; ++u) {
    g_weight[u] = 0;
    for (int d = 0; d < depth; ++d) {
      g_weight[u] += g[d] * a->qkv[at(s, b, u, 2, h, d)];
      a->g_qkv[at(s, b, u, 2, h, d)] += g[d] * weights[u];
    }
    mean += g_weight[u] * weights[u];
  }
  for (int u = 0; u <= t; ++u) {
    const double g_score = weights[u] * (g_weight[u] - mean) / sqrt(depth);
    for (int d = 0; d < depth; ++d) {
      a->g_qkv[at(s, b, t, 0, h, d)] += g_score * a->qkv[at(s, b, u, 1, h, d)];
      a->g_qkv[at(s, b, u, 1, h, d)] += g_score * a->qkv[at(s, b, t, 0, h, d)];
    }
  }
}

static double gelu_angle(double x) { return tanh(sqrt(2 / kPi) * (x + 0.044715 * x * x * x)); }

static double gelu_slope(double x) {
  const double t = gelu_angle(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x);
}

static void block(GptSizes s, Block p, Values v, double* out) {
  const int n = s.batch * s.time, c = s.width, hidden = kHiddenFactor * c;
  Attention attention = {v.qkv, v.attended, NULL, NULL};
  norm(n, c, v.x, p.ln1_w, p.ln1_b, v.normed1);
  linear(n, c, 3 * c, v.normed1, p.attn_w, p.attn_b, v.qkv);
  each_row(s, v.weights, attend_row, &attention);
  linear(n, c, c, v.attended, p.proj_w, p.proj_b, v.middle);
  for (int i = 0; i < n * c; ++i) v.middle[i] += v.x[i];
  norm(n, c, v.middle, p.ln2_w, p.ln2_b, v.normed2);
  linear(n, c, hidden, v.normed2, p.fc_w, p.fc_b, v.hidden);
  for (int i = 0; i < n * hidden; ++i) v.active[i] = 0.5 * v.hidden[i] * (1 + gelu_angle(v.hidden[i]));
  linear(n, hidden, c, v.active, p.down_w, p.down_b, out);
  for (int i = 0; i < n * c; ++i) out[i] += v.middle[i];
}

/* `g` is the gradient of the block's output, then of its input. `memory` has room for [n, 9 c]. */
static void block_back(GptSizes s, Block p, Block gp, Values v, double* g, double* memory) {
  const int n = s.batch * s.time, c = s.width, hidden = kHiddenFactor * c;
  double *g_wide = memory, *g_narrow = memory + (size_t)n * 4 * c, *g_qkv = g_narrow + (size_t)n * c;
  Attention attention = {v.qkv, NULL, g_narrow, g_qkv};
  memset(memory, 0, (size_t)n * 9 * c * sizeof *memory);
  linear_back(n, hidden, c, v.active, p.down_w, g, g_wide, gp.down_w, gp.down_b);
  for (int i = 0; i < n * hidden; ++i) g_wide[i] *= gelu_slope(v.hidden[i]);
  linear_back(n, c, hidden, v.normed2, p.fc_w, g_wide, g_narrow, gp.fc_w, gp.fc_b);
  norm_back(n, c, v.middle, p.ln2_w, g_narrow, g, gp.ln2_w, gp.ln2_b);
  memset(g_narrow, 0, (size_t)n * c * sizeof *g_narrow);
  linear_back(n, c, c, v.attended, p.proj_w, g, g_narrow, gp.proj_w, gp.proj_b);
  each_row(s, v.weights, attend_row_back, &attention);
  memset(g_narrow, 0, (size_t)n * c * sizeof *g_narrow);
  linear_back(n, c, 3 * c, v.normed1, p.attn_w, g_qkv, g_narrow, gp.attn_w, gp.attn_b);
  norm_back(n, c, v.x, p.ln1_w, g_narrow, g, gp.ln1_w, gp.ln1_b);
}

/* Returns the mean loss, and replaces the logits [n, vocabulary] by their gradients. */
static double cross_entropy(int n, int vocabulary, const int* targets, double* logits) {
  double loss = 0;
  for (int i = 0; i < n; ++i) {
    double* row = logits + i * vocabulary;
    double sum = 0;
    for (int k = 0; k < vocabulary; ++k) sum += exp(row[k]);
    loss += (log(sum) - row[targets[i]]) / n;
    for (int k = 0; k < vocabulary; ++k) row[k] = (exp(row[k]) / sum - (k == targets[i])) / n;
  }
  return loss;
}

static Values take_values(double** cursor, GptSizes s) {
  const size_t nc = (size_t)(s.batch * s.time * s.width);
  Values v;
  v.x = take(cursor, nc), v.normed1 = take(cursor, nc), v.qkv = take(cursor, 3 * nc);
  v.weights = take(cursor, (size_t)(s.batch * s.heads * s.time * s.time));
  v.attended = take(cursor, nc), v.middle = take(cursor, nc), v.normed2 = take(cursor, nc);
  v.hidden = take(cursor, kHiddenFactor * nc), v.active = take(cursor, kHiddenFactor * nc);
  return v;
}

enum { kMaxLayers = 8 };

double gpt_loss(GptSizes s, const double* parameters, const int* tokens, const int* targets, double* gradients) {
  const int n = s.batch * s.time, c = s.width;
  const size_t nc = (size_t)n * (size_t)c, block_size = 16 * nc + (size_t)(s.batch * s.heads * s.time * s.time);
  double* memory = calloc((size_t)s.layers * block_size + 13 * nc + (size_t)(n * s.vocabulary), sizeof *memory);
  double *free_memory = memory, *p = (double*)(size_t)parameters, *gp = gradients;
  Block blocks[kMaxLayers], grads[kMaxLayers];
  Values values[kMaxLayers];
  memset(gradients, 0, gpt_parameter_count(s) * sizeof *gradients);
  double *wte = take(&p, (size_t)(s.vocabulary * c)), *g_wte = take(&gp, (size_t)(s.vocabulary * c));
  double *wpe = take(&p, (size_t)(s.positions * c)), *g_wpe = take(&gp, (size_t)(s.positions * c));
  for (int l = 0; l < s.layers; ++l) {
    blocks[l] = take_block(&p, c), grads[l] = take_block(&gp, c);
    values[l] = take_values(&free_memory, s);
  }
  double *x = take(&free_memory, nc), *normed = take(&free_memory, nc), *g = take(&free_memory, nc);
  double *g_normed = take(&free_memory, nc), *logits = take(&free_memory, (size_t)(n * s.vocabulary));
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < c; ++k) values[0].x[i * c + k] = wte[tokens[i] * c + k] + wpe[i % s.time * c + k];
  }
  for (int l = 0; l < s.layers; ++l) block(s, blocks[l], values[l], l + 1 < s.layers ? values[l + 1].x : x);
  norm(n, c, x, p, p + c, normed);
  linear(n, c, s.vocabulary, normed, wte, NULL, logits);
  const double loss = cross_entropy(n, s.vocabulary, targets, logits);
  linear_back(n, c, s.vocabulary, normed, wte, logits, g_normed, g_wte, NULL);
  norm_back(n, c, x, p, g_normed, g, gp, gp + c);
  for (int l = s.layers - 1; l >= 0; --l) block_back(s, blocks[l], grads[l], values[l], g, free_memory);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < c; ++k) {
      g_wte[tokens[i] * c + k] += g[i * c + k];
      g_wpe[i % s.time * c + k] += g[i * c + k];
    }
  }
  free(memory);
  return loss;
}
