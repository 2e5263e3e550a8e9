/* Attention of single operations, with which tests compare the modules, and the comparison of two nets. Main thread
 * only. */
#ifndef HALFTONE_TESTS_CAPI_PLAIN_ATTENTION_H
#define HALFTONE_TESTS_CAPI_PLAIN_ATTENTION_H

#include "test_modules.h"

htone_tensor* parameter_named(htone_module* module, const char* name);
htone_tensor* linear_of(htone_tensor* x, htone_tensor* weight, htone_tensor* bias);

/* Heads by slices, scores by matmul, softmax. `hidden` [.., queries, keys] is true where a key is hidden; `rotary`
 * rotates queries and keys. Both are optional. The parameters' names begin with `prefix`. */
htone_tensor* rotary_attention(htone_module* module, const char* prefix, htone_tensor* query, htone_tensor* source,
                               int64_t heads, int64_t kv_heads, htone_tensor* hidden,
                               const htone_rotary_options* rotary);
htone_tensor* plain_attention(htone_module* module, const char* prefix, htone_tensor* query, htone_tensor* source,
                              int64_t heads, int64_t kv_heads, htone_tensor* hidden);

/* [queries, keys], bool: true above the diagonal. */
htone_tensor* later_keys(int64_t queries, int64_t keys);

/* Compares outputs, and the gradients of inputs and parameters, of two nets with one module's parameters. */
void assert_same_net(htone_module* module, htone_tensor* actual, htone_tensor* expected, size_t input_count,
                     htone_tensor** inputs);

#endif
