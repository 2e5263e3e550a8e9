/* Einsum: autocast of one operand, invalid equations, operands that do not fit. */

#include "test_tensors.h"

static htone_tensor* einsum_of(const char* equation, htone_tensor* a, htone_tensor* b) {
  htone_tensor* out = NULL;
  assert_ok(htone_einsum(equation, a, b, &out));
  return keep_tensor(out);
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
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 3), *b = make_ramp(HTONE_F32, 2, 4, 2);
  assert_refuses(htone_einsum("ij,jk->ik", a, b, &out), SHAPE_MISMATCH, "label 'j' is 3 in a [2, 3] and 4 in b");
  assert_refuses(htone_einsum("ijl,jk->ik", a, b, &out), SHAPE_MISMATCH, "a [2, 3] has 2 dimensions");
  assert_refuses(htone_einsum("ij,k->ik", a, b, &out), SHAPE_MISMATCH, "b [4, 2] has 2 dimensions");
  assert_refuses(htone_einsum("...ijl,jk->ik", a, b, &out), SHAPE_MISMATCH, "equation names at least 3");
  assert_refuses(htone_einsum("ij->i", cast_of(a, HTONE_I32), NULL, &out), DTYPE_MISMATCH, "a is i32");
  assert_refuses(htone_einsum("...,...", a, b, &out), SHAPE_MISMATCH,
                 "dimension 1 from the end of \"...\" is 2 in a [2, 3] and 4 in b");
  assert_refuses(htone_einsum("ij,kl->ik", a, cast_of(b, HTONE_F16), &out), DTYPE_MISMATCH, "b is f16");
  assert_refuses(htone_einsum("ij,kl->ik", cast_of(a, HTONE_I32), b, &out), DTYPE_MISMATCH, "a is i32");
  assert_refuses(htone_einsum("ii->i", a, NULL, &out), SHAPE_MISMATCH, "label 'i' is 2 and 3 in a [2, 3]");
  assert_refuses(htone_einsum("ij,kk->i", a, b, &out), SHAPE_MISMATCH, "label 'k' is 4 and 2 in b [4, 2]");
  htone_tensor* many = make_ramp(HTONE_F32, 5, 1, 1, 1, 1, 1);
  assert_refuses(htone_einsum("abcde,fghij", many, many, &out), INVALID_ARGUMENT, "10 dimensions of the result");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(autocast_sums_one_operand_in_fp32),
      cmocka_unit_test(equations_that_make_no_sense_are_refused_with_the_place),
      cmocka_unit_test(operands_that_do_not_fit_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
