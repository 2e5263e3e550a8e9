/* Operations that give elements other places, against central differences. */
#include "gradcheck.h"

static htone_status permute(htone_tensor* const* in, htone_tensor** out) {
  return htone_permute(in[0], 3, (const int64_t[]){2, 0, 1}, out);
}
static htone_status unsqueeze(htone_tensor* const* in, htone_tensor** out) { return htone_unsqueeze(in[0], 1, out); }
static htone_status squeeze(htone_tensor* const* in, htone_tensor** out) { return htone_squeeze(in[0], 0, NULL, out); }
static htone_status broadcast_to(htone_tensor* const* in, htone_tensor** out) {
  return htone_broadcast_to(in[0], 3, (const int64_t[]){2, 3, -1}, out);
}
static htone_status cat(htone_tensor* const* in, htone_tensor** out) {
  return htone_cat(3, (htone_tensor*[]){in[0], in[1], in[0]}, 1, out);
}
static htone_status stack(htone_tensor* const* in, htone_tensor** out) { return htone_stack(2, in, 1, out); }
static htone_status pad(htone_tensor* const* in, htone_tensor** out) {
  return htone_pad(in[0], 2, (const int64_t[]){1, 2, 0, 1}, 0.5, out);
}
static htone_status crop(htone_tensor* const* in, htone_tensor** out) {
  return htone_pad(in[0], 2, (const int64_t[]){-1, 2, 1, -2}, 0.5, out);
}
static htone_status tril(htone_tensor* const* in, htone_tensor** out) { return htone_tril(in[0], 1, out); }
static htone_status triu(htone_tensor* const* in, htone_tensor** out) { return htone_triu(in[0], -1, out); }
static htone_status flip(htone_tensor* const* in, htone_tensor** out) {
  return htone_flip(in[0], 2, (const int64_t[]){-1, 0}, out);
}

/* The first part times the last. */
static htone_status split(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor* parts[3] = {NULL};
  htone_status status = htone_split(in[0], 1, 3, (const int64_t[]){2, 1, 2}, parts);
  if (status == HTONE_OK) status = htone_mul(parts[0], parts[2], out);
  for (int i = 0; i < 3; ++i) htone_tensor_release(parts[i]);
  return status;
}

static const GradCase kCases[] = {
    {"gradient_of_permute", permute, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_unsqueeze", unsqueeze, 1, {{2, {3, 4}}}},
    {"gradient_of_squeeze", squeeze, 1, {{4, {1, 3, 1, 2}}}},
    {"gradient_of_broadcast_to", broadcast_to, 1, {{2, {1, 5}}}},
    {"gradient_of_broadcast_to_of_a_scalar", broadcast_to, 1, {{1, {1}}}},
    {"gradient_of_cat", cat, 2, {{2, {3, 2}}, {2, {3, 5}}}},
    {"gradient_of_stack", stack, 2, {{2, {3, 2}}, {2, {3, 2}}}},
    {"gradient_of_split", split, 1, {{2, {3, 5}}}},
    {"gradient_of_pad", pad, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_pad_that_takes_away", crop, 1, {{2, {3, 4}}}},
    {"gradient_of_flip", flip, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_tril", tril, 1, {{3, {2, 4, 5}}}},
    {"gradient_of_triu", triu, 1, {{2, {5, 3}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
