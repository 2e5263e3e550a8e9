/* Einsum against sums computed by loops, and invalid equations. */
#include <stdlib.h>
#include <string.h>

#include "test_tensors.h"

static htone_tensor* einsum_of(const char* equation, htone_tensor* a, htone_tensor* b) {
  htone_tensor* out = NULL;
  assert_ok(htone_einsum(equation, a, b, &out));
  return keep_tensor(out);
}

/* One operand of a case: its labels and its elements. */
typedef struct Term {
  const char* labels;
  double* values;
  htone_tensor* tensor;
} Term;

/* Label 'a' has size 2, 'b' 3, and so on. */
static int64_t size_of(char label) { return label - 'a' + 2; }

static Term make_term(const char* labels, size_t length, uint32_t seed) {
  int64_t shape[HTONE_MAX_NDIM];
  for (size_t i = 0; i < length; ++i) shape[i] = size_of(labels[i]);
  Term term = {labels, NULL, make_noise_of_shape(HTONE_F64, seed, (int)length, shape)};
  term.values = values_of(term.tensor);
  return term;
}

/* The offset of the element at places[label]. */
static int64_t offset_of(const char* labels, size_t length, const int64_t* places) {
  int64_t offset = 0;
  for (size_t i = 0; i < length; ++i) offset = offset * size_of(labels[i]) + places[labels[i] - 'a'];
  return offset;
}

/* Loops over all values of the labels a to e. A label that the equation does not use repeats each product once per
 * value. */
static void check_equation(const char* equation) {
  const size_t a_length = strcspn(equation, ","), b_length = strcspn(equation + a_length + 1, "-");
  const char* out_labels = equation + a_length + b_length + 3;
  const size_t out_length = strlen(out_labels);
  Term a = make_term(equation, a_length, 1), b = make_term(equation + a_length + 1, b_length, 2);
  htone_tensor* result = einsum_of(equation, a.tensor, b.tensor);
  const int64_t count = numel_of(result);
  double* expected = calloc((size_t)count, sizeof *expected);
  int64_t repeats = 1;
  for (char label = 'a'; label <= 'e'; ++label) {
    if (memchr(equation, label, a_length + 1 + b_length) == NULL) repeats *= size_of(label);
  }
  int64_t p[5];
  for (int64_t i = 0; i < 2 * 3 * 4 * 5 * 6; ++i) {
    int64_t rest = i;
    for (int k = 0; k < 5; ++k) {
      p[k] = rest % (k + 2);
      rest /= k + 2;
    }
    expected[offset_of(out_labels, out_length, p)] +=
        a.values[offset_of(a.labels, a_length, p)] * b.values[offset_of(b.labels, b_length, p)] / (double)repeats;
  }
  check_values(result, 1e-12, expected, (size_t)count, __FILE__, __LINE__);
  free(expected);
  free(a.values);
  free(b.values);
}

static void equations_are_what_their_loops_are(void** state) {
  (void)state;
  const char* const equations[] = {
      "ab,bc->ac",       /* matrix product */
      "ab,bc->ca",       /* transposed */
      "ab,cb->ac",       /* with a transposed factor */
      "abc,acd->abd",    /* a batch */
      "acbd,aecd->aceb", /* attention scores, heads after positions */
      "a,b->ab",         /* outer product */
      "a,a->",           /* inner product */
      "ab,ab->",         /* all contracted */
      "ab,ab->ab",       /* element by element */
      "ab,b->a",         /* matrix by vector */
      "abc,bc->a",       /* two labels contracted */
      "abc,cd->abd",     /* free labels on one side */
      "abc,dbe->ade",    /* sums over labels of a single operand */
      "abc,d->d",        /* nothing shared */
      "ab,bc->",         /* sums over free labels */
      "bac,ca->b",       /* different orders */
      "abcd,dcea->beca", /* batch labels at the ends */
  };
  for (size_t i = 0; i < COUNT_OF(equations); ++i) check_equation(equations[i]);
}

static void a_result_may_be_implied(void** state) {
  (void)state;
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 3), *b = make_ramp(HTONE_F32, 2, 3, 1);
  assert_values(einsum_of("ik , kj", a, b), 0, 5, 14);
  htone_tensor* turned = einsum_of("zk,kY", a, b);
  assert_shape(turned, 1, 2);
  assert_values(turned, 0, 5, 14);
  assert_scalar(einsum_of("i,i", make_ramp(HTONE_F32, 1, 3), make_ramp(HTONE_F32, 1, 3)));
  assert_values(einsum_of(",->", make_scalar(HTONE_F32, 3), make_scalar(HTONE_F32, 4)), 0, 12);
}

static void sums_of_nothing_are_zero(void** state) {
  (void)state;
  assert_values(einsum_of("ik,kj->ij", make_ramp(HTONE_F32, 2, 1, 0), make_ramp(HTONE_F32, 2, 0, 2)), 0, 0, 0);
  assert_shape(einsum_of("bik,bkj->bij", make_ramp(HTONE_F32, 3, 0, 2, 3), make_ramp(HTONE_F32, 3, 0, 3, 4)), 0, 2, 4);
}

static void assert_same(htone_tensor* actual, htone_tensor* expected) {
  double* values = values_of(expected);
  check_values(actual, 1e-14, values, (size_t)numel_of(expected), __FILE__, __LINE__);
  free(values);
}

static void dots_stand_for_the_dimensions_without_letters(void** state) {
  (void)state;
  htone_tensor *a = make_noise(HTONE_F64, 1, 4, 2, 3, 4, 5), *b = make_noise(HTONE_F64, 2, 4, 2, 3, 5, 6);
  htone_tensor* product = einsum_of("...ij,...jk->...ik", a, b);
  assert_shape(product, 2, 3, 4, 6);
  assert_same(product, einsum_of("xyij,xyjk->xyik", a, b));
  assert_same(einsum_of("...ij,...jk", a, b), product);
  assert_same(einsum_of("xyij,...jk->x...ik", a, make_noise(HTONE_F64, 2, 3, 3, 5, 6)),
              einsum_of("xyij,zjk->xzik", a, make_noise(HTONE_F64, 2, 3, 3, 5, 6)));
  assert_same(einsum_of("i...j,j->...i", a, make_noise(HTONE_F64, 3, 1, 5)),
              einsum_of("ixyj,j->xyi", a, make_noise(HTONE_F64, 3, 1, 5)));
  /* the labels that the result leaves out are summed */
  assert_same(einsum_of("...ij,...jk->ki", a, b), einsum_of("xyij,xyjk->ki", a, b));
  assert_values(einsum_of("...,...", make_ramp(HTONE_F32, 1, 3), make_ramp(HTONE_F32, 1, 3)), 0, 0, 1, 4);
}

static void sizes_of_one_repeat(void** state) {
  (void)state;
  htone_tensor *a = make_noise(HTONE_F64, 1, 3, 1, 4, 5), *b = make_noise(HTONE_F64, 2, 4, 2, 3, 5, 6);
  htone_tensor* repeated = NULL;
  assert_ok(htone_broadcast_to(a, 4, (const int64_t[]){2, 3, 4, 5}, &repeated));
  assert_same(einsum_of("...ij,...jk->...ik", a, b), einsum_of("xyij,xyjk->xyik", keep_tensor(repeated), b));
  htone_tensor* column = make_tensor(HTONE_F32, (const double[]){1, 10}, 2, 2, 1);
  htone_tensor* matrix = make_ramp(HTONE_F32, 2, 3, 2);
  assert_values(einsum_of("ij,jk->ik", column, matrix), 0, 6, 9, 60, 90);
  assert_values(einsum_of("ji,jk->jk", make_ramp(HTONE_F32, 2, 1, 3), matrix), 0, 0, 3, 6, 9, 12, 15);
  assert_shape(einsum_of("ij,ij->ij", make_ramp(HTONE_F32, 2, 1, 1), make_ramp(HTONE_F32, 2, 0, 3)), 0, 3);
}

static void one_operand_is_summed_and_permuted(void** state) {
  (void)state;
  htone_tensor* a = make_ramp(HTONE_F32, 3, 2, 2, 2);
  assert_values(einsum_of("abc->cab", a, NULL), 0, 0, 2, 4, 6, 1, 3, 5, 7);
  assert_values(einsum_of("abc->b", a, NULL), 0, 10, 18);
  assert_values(einsum_of("abc->ca", a, NULL), 0, 2, 10, 4, 12);
  assert_values(einsum_of("a...->...", a, NULL), 0, 4, 6, 8, 10);
  assert_values(einsum_of("...->", a, NULL), 0, 28);
  assert_values(einsum_of("cab", a, NULL), 0, 0, 4, 1, 5, 2, 6, 3, 7); /* to abc */
  assert_values(einsum_of("", make_scalar(HTONE_F32, 3), NULL), 0, 3);
  htone_tensor* input = leaf(make_ramp(HTONE_BF16, 2, 2, 2));
  backward(sum_of(apply2(htone_mul, einsum_of("ij->j", input, NULL), make_ramp(HTONE_BF16, 1, 2))));
  assert_values(grad_of(input), 0, 0, 1, 0, 1);
}

static void autocast_multiplies_in_low_precision(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor *a = leaf(make_ramp(HTONE_F32, 2, 2, 3)), *b = make_ramp(HTONE_F32, 2, 3, 2);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  htone_tensor* result = einsum_of("ij,jk->ik", a, b);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_BF16);
  backward(sum_of(cast_of(result, HTONE_F32)));
  assert_values(grad_of(a), 0, 1, 5, 9, 1, 5, 9);
}

static void autocast_sums_one_operand_in_fp32(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  htone_tensor* result = einsum_of("ij->i", make_ramp(HTONE_BF16, 2, 2, 3), NULL);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_F32);
  assert_values(result, 0, 3, 12);
}

static htone_tensor* einsum_of_one(const char* equation, htone_tensor* a) {
  htone_tensor* out = NULL;
  assert_ok(htone_einsum(equation, a, NULL, &out));
  return keep_tensor(out);
}

static void a_letter_twice_in_an_operand_takes_the_diagonal(void** state) {
  (void)state;
  htone_tensor* square = make_ramp(HTONE_F32, 2, 3, 3);
  assert_values(einsum_of_one("ii->i", square), 0, 0, 4, 8);
  assert_values(einsum_of_one("ii->", square), 0, 12);
  assert_scalar(einsum_of_one("ii", square));
  htone_tensor* cube = make_ramp(HTONE_F64, 3, 2, 2, 2);
  assert_values(einsum_of_one("iii->i", cube), 0, 0, 7);
  assert_values(einsum_of_one("iji->ji", cube), 0, 0, 5, 2, 7);
  assert_values(einsum_of_one("...ii->...", cube), 0, 3, 11);
  assert_values(einsum_of_one("ii->i", transpose_of(slice_of(slice_of(square, 0, 0, 2, 1), 1, 0, 3, 2), 0, 1)), 0, 0,
                5);
  assert_shape(einsum_of_one("iij->ji", make_ramp(HTONE_F32, 3, 0, 0, 2)), 2, 0);
  htone_tensor* out = NULL;
  assert_ok(htone_einsum("ii,i", square, make_ramp(HTONE_F32, 1, 3), &out));
  assert_values(keep_tensor(out), 0, 20);
}

static void gradients_go_to_the_diagonal(void** state) {
  (void)state;
  htone_tensor* square = leaf(make_ramp(HTONE_F32, 2, 3, 3));
  htone_tensor* weights = make_tensor(HTONE_F32, (const double[]){2, 3, 4}, 1, 3);
  backward(sum_of(apply2(htone_mul, einsum_of_one("ii->i", square), weights)));
  assert_values(grad_of(square), 0, 2, 0, 0, 0, 3, 0, 0, 0, 4);
  assert_ok(htone_tensor_zero_grad(square));
  backward(einsum_of_one("ii->", square));
  assert_values(grad_of(square), 0, 1, 0, 0, 0, 1, 0, 0, 0, 1);
  htone_tensor* cube = leaf(make_ramp(HTONE_F32, 3, 2, 1, 2));
  backward(sum_of(einsum_of_one("iji->ji", cube)));
  assert_values(grad_of(cube), 0, 1, 0, 0, 1);
}

typedef struct Nonsense {
  const char* equation;
  const char* message;
} Nonsense;

static void equations_that_make_no_sense_are_refused_with_the_place(void** state) {
  (void)state;
  static const Nonsense cases[] = {
      {"", "one operand, but b is given"},
      {"ij->i", "one operand, but b is given"},
      {"ij,jk,kl->il", "position 5: unexpected comma"},
      {"ij,jk->i,k", "position 8: unexpected comma"},
      {"ij,jk->i->k", "position 8: second arrow"},
      {"ij,jk->il", "position 8: no operand has this label"},
      {"ij,jk->ii", "position 8: the result already has this label"},
      {"i1,jk->ik", "position 1: not a label"},
      {"i..,jk->ik", "position 1: not a label"},
      {"i....,jk->ik", "position 4: not a label"},
      {"...i...,jk->ik", "position 4: second \"...\""},
      {"ij,jk-ik", "position 5: not a label"},
      {"ij,jk>ik", "position 5: not a label"},
      {"ij,\xc3\xa9k->ik", "position 3: not a label"},
  };
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 2);
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    assert_fails(htone_einsum(cases[i].equation, a, a, &out), HTONE_ERROR_INVALID_ARGUMENT, cases[i].message);
  }
  assert_fails(htone_einsum("ij,jk->ik", a, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "two operands, but b is NULL");
  assert_null(out);
}

static void operands_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 3), *b = make_ramp(HTONE_F32, 2, 4, 2);
  assert_fails(htone_einsum("ij,jk->ik", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "label 'j' is 3 in a [2, 3] and 4 in b");
  assert_fails(htone_einsum("ijl,jk->ik", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "a [2, 3] has 2 dimensions");
  assert_fails(htone_einsum("ij,k->ik", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "b [4, 2] has 2 dimensions");
  assert_fails(htone_einsum("...ijl,jk->ik", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "equation names at least 3");
  assert_fails(htone_einsum("ij->i", cast_of(a, HTONE_I32), NULL, &out), HTONE_ERROR_DTYPE_MISMATCH, "a is i32");
  assert_fails(htone_einsum("...,...", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "dimension 1 from the end of \"...\" is 2 in a [2, 3] and 4 in b");
  assert_fails(htone_einsum("ij,kl->ik", a, cast_of(b, HTONE_F16), &out), HTONE_ERROR_DTYPE_MISMATCH, "b is f16");
  assert_fails(htone_einsum("ij,kl->ik", cast_of(a, HTONE_I32), b, &out), HTONE_ERROR_DTYPE_MISMATCH, "a is i32");
  assert_fails(htone_einsum("ii->i", a, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH, "label 'i' is 2 and 3 in a [2, 3]");
  assert_fails(htone_einsum("ij,kk->i", a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "label 'k' is 4 and 2 in b [4, 2]");
  htone_tensor* many = make_ramp(HTONE_F32, 5, 1, 1, 1, 1, 1);
  assert_fails(htone_einsum("abcde,fghij", many, many, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "10 dimensions of the result");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equations_are_what_their_loops_are),
      cmocka_unit_test(a_result_may_be_implied),
      cmocka_unit_test(sums_of_nothing_are_zero),
      cmocka_unit_test(dots_stand_for_the_dimensions_without_letters),
      cmocka_unit_test(sizes_of_one_repeat),
      cmocka_unit_test(one_operand_is_summed_and_permuted),
      cmocka_unit_test(a_letter_twice_in_an_operand_takes_the_diagonal),
      cmocka_unit_test(gradients_go_to_the_diagonal),
      cmocka_unit_test(autocast_multiplies_in_low_precision),
      cmocka_unit_test(autocast_sums_one_operand_in_fp32),
      cmocka_unit_test(equations_that_make_no_sense_are_refused_with_the_place),
      cmocka_unit_test(operands_that_do_not_fit_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
