#include "plain_attention.h"

#include <math.h>
#include <stdio.h>

htone_tensor* parameter_named(htone_module* module, const char* name) {
  htone_parameter* found = NULL;
  htone_tensor* tensor = NULL;
  assert_ok(htone_module_find_parameter(module, name, &found));
  keep_parameter(found);
  assert_ok(htone_parameter_tensor(found, &tensor));
  return keep_tensor(tensor);
}

static htone_tensor* reshaped(htone_tensor* x, int32_t ndim, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t shape[4] = {a, b, c, d};
  htone_tensor* out = NULL;
  assert_ok(htone_reshape(x, ndim, shape, &out));
  return keep_tensor(out);
}

htone_tensor* linear_of(htone_tensor* x, htone_tensor* weight, htone_tensor* bias) {
  htone_tensor* out = NULL;
  assert_ok(htone_linear(x, weight, bias, &out));
  return keep_tensor(out);
}

/* The rows of the projections' weight or bias that make queries (0), keys (1) or values (2). */
static htone_tensor* rows_of(htone_tensor* fused, int which, int64_t width, int64_t kv_width) {
  const int64_t begin[] = {0, width, width + kv_width, width + 2 * kv_width};
  return slice_of(fused, 0, begin[which], begin[which + 1], 1);
}

static htone_tensor* rotated(htone_tensor* rows, const htone_rotary_options* rotary) {
  htone_tensor* out = NULL;
  if (rotary == NULL) return rows;
  assert_ok(htone_rotary_embedding(rows, NULL, rotary, &out));
  return keep_tensor(out);
}

htone_tensor* rotary_attention(htone_module* module, const char* prefix, htone_tensor* query, htone_tensor* source,
                               int64_t heads, int64_t kv_heads, htone_tensor* hidden,
                               const htone_rotary_options* rotary) {
  int64_t shape[3], keys[3];
  int32_t ndim = 0;
  char name[64];
  htone_tensor *weights[4], *projected[3], *parts[8], *scaled = NULL, *merged = NULL;
  static const char* const names[] = {"c_attn.weight", "c_attn.bias", "c_proj.weight", "c_proj.bias"};
  for (int i = 0; i < 4; ++i) {
    snprintf(name, sizeof name, "%s%s", prefix, names[i]);
    weights[i] = parameter_named(module, name);
  }
  assert_ok(htone_tensor_shape(query, shape, 3, &ndim));
  assert_ok(htone_tensor_shape(source, keys, 3, &ndim));
  const int64_t depth = shape[2] / heads;
  for (int i = 0; i < 3; ++i) {
    projected[i] = linear_of(i == 0 ? query : source, rows_of(weights[0], i, shape[2], kv_heads * depth),
                             rows_of(weights[1], i, shape[2], kv_heads * depth));
  }
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t g = h / (heads / kv_heads);
    htone_tensor* q = rotated(slice_of(projected[0], 2, h * depth, (h + 1) * depth, 1), rotary);
    htone_tensor* k = rotated(slice_of(projected[1], 2, g * depth, (g + 1) * depth, 1), rotary);
    htone_tensor* v = slice_of(projected[2], 2, g * depth, (g + 1) * depth, 1);
    assert_ok(htone_mul_scalar(apply2(htone_matmul, q, transpose_of(k, 1, 2)), 1 / sqrt((double)depth), &scaled));
    htone_tensor *scores = keep_tensor(scaled), *softmax = NULL;
    if (hidden != NULL) {
      assert_ok(htone_masked_fill(scores, hidden, -1e300, &scaled));
      scores = keep_tensor(scaled);
    }
    assert_ok(htone_softmax(scores, 2, &softmax));
    parts[h] = apply2(htone_matmul, keep_tensor(softmax), v);
  }
  assert_ok(htone_cat((size_t)heads, parts, 2, &merged));
  return linear_of(keep_tensor(merged), weights[2], weights[3]);
}

htone_tensor* plain_attention(htone_module* module, const char* prefix, htone_tensor* query, htone_tensor* source,
                              int64_t heads, int64_t kv_heads, htone_tensor* hidden) {
  return rotary_attention(module, prefix, query, source, heads, kv_heads, hidden, NULL);
}

htone_tensor* later_keys(int64_t queries, int64_t keys) {
  double values[64];
  for (int64_t i = 0; i < queries * keys; ++i) values[i] = i % keys > i / keys;
  return make_tensor(HTONE_BOOL, values, 2, (int)queries, (int)keys);
}

void assert_same_net(htone_module* module, htone_tensor* actual, htone_tensor* expected, size_t input_count,
                     htone_tensor** inputs) {
  size_t count = 0;
  htone_tensor* gradients[40];
  htone_tensor* weight = make_noise(HTONE_F64, 77, 1, (int)numel_of(actual));
  assert_ok(htone_module_parameter_count(module, &count));
  assert_true(count + input_count <= COUNT_OF(gradients));
  assert_tensors_near(actual, expected, 1e-10);
  for (int pass = 0; pass < 2; ++pass) {
    htone_tensor* flat = reshaped(pass == 0 ? actual : expected, 1, -1, 0, 0, 0);
    backward(sum_of(apply2(htone_mul, flat, weight)));
    for (size_t i = 0; i < count + input_count; ++i) {
      htone_tensor* tensor = i < count ? weights_of(module, i) : inputs[i - count];
      htone_tensor* gradient = NULL;
      if (pass == 0) {
        assert_ok(htone_tensor_clone(grad_of(tensor), &gradient));
        gradients[i] = keep_tensor(gradient);
      } else {
        assert_tensors_near(grad_of(tensor), gradients[i], 1e-10);
      }
      assert_ok(htone_tensor_zero_grad(tensor));
    }
  }
}
