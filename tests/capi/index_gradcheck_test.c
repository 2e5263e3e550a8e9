/* Operations that read and write by index, against central differences. */
#include "gradcheck.h"

static htone_status gather(htone_tensor* const* in, htone_tensor** out) {
  return htone_gather(in[0], 1, make_tensor(HTONE_I64, (const double[]){2, 2, 0, 1}, 2, 2, 2), out);
}
static htone_status gather_rows(htone_tensor* const* in, htone_tensor** out) {
  return htone_gather(in[0], 0, make_tensor(HTONE_I64, (const double[]){2, 2, 0, 2, 1, 2}, 2, 2, 3), out);
}
static htone_status scatter_add(htone_tensor* const* in, htone_tensor** out) {
  return htone_scatter_add(in[0], 0, make_tensor(HTONE_I64, (const double[]){2, 2, 0, 2}, 2, 2, 2), in[1], out);
}
static htone_status index_select(htone_tensor* const* in, htone_tensor** out) {
  return htone_index_select(in[0], 1, make_tensor(HTONE_I64, (const double[]){2, 0, 2}, 1, 3), out);
}
static htone_status embedding(htone_tensor* const* in, htone_tensor** out) {
  return htone_embedding(in[0], make_tensor(HTONE_I64, (const double[]){2, 0, 2, 3}, 2, 2, 2), -1, out);
}

static htone_status masked_fill(htone_tensor* const* in, htone_tensor** out) {
  return htone_masked_fill(in[0], make_tensor(HTONE_BOOL, (const double[]){0, 1, 0}, 1, 3), -4, out);
}

static const GradCase kCases[] = {
    {"gradient_of_gather_of_a_part", gather, 1, {{2, {3, 4}}}},
    {"gradient_of_gather_of_rows", gather_rows, 1, {{2, {3, 3}}}},
    {"gradient_of_scatter_add_to_a_part", scatter_add, 2, {{2, {3, 3}}, {2, {3, 4}}}},
    {"gradient_of_scatter_add", scatter_add, 2, {{2, {3, 2}}, {2, {2, 2}}}},
    {"gradient_of_index_select", index_select, 1, {{3, {2, 3, 2}}}},
    {"gradient_of_masked_fill", masked_fill, 1, {{2, {4, 3}}}},
    {"gradient_of_masked_fill_that_repeats", masked_fill, 1, {{2, {4, 1}}}},
    {"gradient_of_embedding", embedding, 1, {{2, {4, 3}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
