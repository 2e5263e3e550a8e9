/* Every operation of reduce.h that leads gradients, against central differences. */
#include "gradcheck.h"
#include "halftone/reduce.h"

static htone_status amax_all(htone_tensor* const* in, htone_tensor** out) { return htone_amax(in[0], 0, NULL, 0, out); }
static htone_status amax_some(htone_tensor* const* in, htone_tensor** out) {
  return htone_amax(in[0], 2, (const int64_t[]){-1, 0}, 0, out);
}
static htone_status amin_kept(htone_tensor* const* in, htone_tensor** out) {
  return htone_amin(in[0], 1, (const int64_t[]){1}, 1, out);
}
typedef htone_status (*PairFn)(htone_tensor*, int64_t, int32_t, htone_tensor**, htone_tensor**);

static htone_status chosen_values(PairFn function, htone_tensor* input, int64_t dim, int keepdim, htone_tensor** out) {
  htone_tensor* indices = NULL;
  const htone_status status = function(input, dim, keepdim, out, &indices);
  htone_tensor_release(indices);
  return status;
}
static htone_status max_rows(htone_tensor* const* in, htone_tensor** out) {
  return chosen_values(htone_max_dim, in[0], -1, 0, out);
}
static htone_status max_middle(htone_tensor* const* in, htone_tensor** out) {
  return chosen_values(htone_max_dim, in[0], 1, 1, out);
}
static htone_status min_columns(htone_tensor* const* in, htone_tensor** out) {
  return chosen_values(htone_min_dim, in[0], 0, 0, out);
}
static htone_status cumsum_rows(htone_tensor* const* in, htone_tensor** out) { return htone_cumsum(in[0], -1, out); }
static htone_status cumsum_columns(htone_tensor* const* in, htone_tensor** out) { return htone_cumsum(in[0], 0, out); }
static htone_status log_sum_exp_all(htone_tensor* const* in, htone_tensor** out) {
  return htone_log_sum_exp(in[0], 0, NULL, 0, out);
}
static htone_status log_sum_exp_some(htone_tensor* const* in, htone_tensor** out) {
  return htone_log_sum_exp(in[0], 2, (const int64_t[]){0, 2}, 1, out);
}

static htone_status var_all(htone_tensor* const* in, htone_tensor** out) {
  return htone_var(in[0], 0, NULL, 1, 0, out);
}
static htone_status var_some(htone_tensor* const* in, htone_tensor** out) {
  return htone_var(in[0], 2, (const int64_t[]){-1, 0}, 0.5, 1, out);
}
static htone_status std_rows(htone_tensor* const* in, htone_tensor** out) {
  return htone_std(in[0], 1, (const int64_t[]){-1}, 1, 0, out);
}
static htone_status std_columns(htone_tensor* const* in, htone_tensor** out) {
  return htone_std(in[0], 1, (const int64_t[]){0}, 0, 0, out);
}

static const GradCase kCases[] = {
    {"gradient_of_amax_of_all", amax_all, 1, {{2, {3, 7}}}},
    {"gradient_of_amax_of_some", amax_some, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_amin_with_kept_size", amin_kept, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_max_of_rows", max_rows, 1, {{2, {4, 7}}}},
    {"gradient_of_max_in_the_middle", max_middle, 1, {{3, {2, 5, 3}}}},
    {"gradient_of_min_of_columns", min_columns, 1, {{3, {4, 3, 2}}}},
    {"gradient_of_cumsum_of_rows", cumsum_rows, 1, {{2, {3, 5}}}},
    {"gradient_of_cumsum_of_columns", cumsum_columns, 1, {{3, {4, 3, 2}}}},
    {"gradient_of_log_sum_exp_of_all", log_sum_exp_all, 1, {{2, {3, 5}}}},
    {"gradient_of_log_sum_exp_of_some", log_sum_exp_some, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_var_of_all", var_all, 1, {{2, {3, 5}}}},
    {"gradient_of_var_of_some", var_some, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_std_of_rows", std_rows, 1, {{2, {3, 5}}}},
    {"gradient_of_std_of_columns", std_columns, 1, {{3, {4, 3, 2}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
