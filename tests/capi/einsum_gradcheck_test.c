/* Einsum of every kind of label, against central differences. */
#include "gradcheck.h"

static htone_status product(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("ij,jk->ki", in[0], in[1], out);
}
static htone_status batches(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("qbd,kbd->bqk", in[0], in[1], out);
}
static htone_status outer(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("i,j->ij", in[0], in[1], out);
}
static htone_status lonely(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("ijx,jky->i", in[0], in[1], out);
}

static htone_status repeated(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("...ij,...jk->k...", in[0], in[1], out);
}
static htone_status one_operand(htone_tensor* const* in, htone_tensor** out) {
  return htone_einsum("a...c->c...", in[0], NULL, out);
}

static const GradCase kCases[] = {
    {"gradient_of_einsum_of_matrices", product, 2, {{2, {2, 3}}, {2, {3, 4}}}},
    {"gradient_of_einsum_of_batches", batches, 2, {{3, {2, 3, 2}}, {3, {4, 3, 2}}}},
    {"gradient_of_einsum_as_outer_product", outer, 2, {{1, {3}}, {1, {4}}}},
    {"gradient_of_einsum_with_labels_of_one_operand", lonely, 2, {{3, {2, 3, 2}}, {3, {3, 2, 2}}}},
    {"gradient_of_einsum_with_dots_and_repeated_sizes", repeated, 2, {{3, {1, 2, 3}}, {4, {2, 2, 3, 4}}}},
    {"gradient_of_einsum_of_one_operand", one_operand, 1, {{4, {2, 3, 2, 4}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
