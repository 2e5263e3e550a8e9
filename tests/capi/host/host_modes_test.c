/* Training under modes that the embedding program has set: rounding, flushing of subnormals, x87 precision, a ban on
 * memory that is writable and executable. Test names begin with their rows of tests/faults.md. */
#include <fenv.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "test_child.h"
#include "test_run.h"
#include "test_tensors.h"

static const RunKind kKinds[] = {
    {"f32", HTONE_F32, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"split bf16, short moments", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_F32, kRunAdamw},
};

/* The modes during calls of the library; 0 is the default. */
typedef struct Modes {
  int rounding;
  int flushes;
  int short_x87;
} Modes;

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { kFlush = 0x8040, kFlags = 0x3f, kX87Precision = 0x300 };

static uint16_t x87_control(void) {
  uint16_t control = 0;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  return control;
}

static void set_x87_control(uint16_t control) { __asm__ volatile("fldcw %0" : : "m"(control)); }

static void set_modes(Modes modes) {
  fesetround(modes.rounding);
  if (modes.flushes) _mm_setcsr(_mm_getcsr() | kFlush);
  if (modes.short_x87) set_x87_control((uint16_t)(x87_control() & ~kX87Precision));
}

/* The control registers without the sticky flags, which a calculation may raise. */
static uint32_t modes_now(void) { return (_mm_getcsr() & ~(uint32_t)kFlags) << 16 | x87_control(); }
#else
static void set_modes(Modes modes) { fesetround(modes.rounding); }

static uint32_t modes_now(void) { return (uint32_t)fegetround(); }
#endif

/* Do not assert between the two mode changes: CMocka itself uses floating point. */
static htone_status train_under(Modes modes, Run* run, int* out_stayed) {
  fenv_t saved;
  fegetenv(&saved);
  set_modes(modes);
  const uint32_t before = modes_now();
  htone_status status = HTONE_OK;
  for (int i = 0; i < 5 && status == HTONE_OK; ++i) status = train_step(run);
  *out_stayed = modes_now() == before;
  fesetenv(&saved);
  return status;
}

static uint64_t print_under(Modes modes, const RunKind* kind) {
  Run run;
  int stayed = 0;
  assert_ok(begin_run(&run, kind, NULL));
  assert_ok(train_under(modes, &run, &stayed));
  assert_true(stayed);
  const uint64_t print = fingerprint(&run);
  end_run(&run);
  return print;
}

static void h7_training_gives_the_same_bits_whatever_modes_the_host_has_set(void** state) {
  (void)state;
  skip_under_valgrind();
  static const Modes cases[] = {{FE_UPWARD, 0, 0},    {FE_DOWNWARD, 0, 0},  {FE_TOWARDZERO, 0, 0},
                                {FE_TONEAREST, 1, 0}, {FE_TONEAREST, 0, 1}, {FE_UPWARD, 1, 1}};
  for (size_t kind = 0; kind < COUNT_OF(kKinds); ++kind) {
    const uint64_t expected = print_under((Modes){FE_TONEAREST, 0, 0}, &kKinds[kind]);
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
      const uint64_t print = print_under(cases[i], &kKinds[kind]);
      if (print != expected) print_error("%s, modes %zu\n", kKinds[kind].name, i);
      assert_true(print == expected);
    }
  }
}

enum { kGradients = 5 };

typedef struct SmallStep {
  float weights[kGradients];
  double norm;
} SmallStep;

/* Runs one step of plain SGD with rate 1 from zero, so the weights are the negated gradients. */
static SmallStep step_with(const float* gradients, int flushes) {
  SmallStep step = {.weights = {0}};
  const int64_t shape = kGradients;
  htone_optimizer_options options;
  htone_tensor *weights = NULL, *gradient = NULL;
  htone_parameter* parameter = NULL;
  htone_parameters* set = NULL;
  htone_optimizer* optimizer = NULL;
  fenv_t saved;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, step.weights, NULL, NULL, &weights));
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F32, 1, &shape, gradients, &gradient));
  assert_ok(htone_parameter_create("lent", weights, &parameter));
  assert_ok(htone_parameters_create(&set));
  assert_ok(htone_parameters_add(set, parameter));
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  options.lr = 1;
  assert_ok(htone_optimizer_create_over(set, &options, &optimizer));
  fegetenv(&saved);
  set_modes((Modes){FE_TONEAREST, flushes, 0});
  htone_status status = htone_parameter_set_grad(parameter, gradient);
  if (status == HTONE_OK) status = htone_optimizer_grad_norm(optimizer, &step.norm);
  if (status == HTONE_OK) status = htone_optimizer_step(optimizer);
  fesetenv(&saved);
  assert_ok(status);
  assert_ok(htone_optimizer_release(optimizer));
  assert_ok(htone_parameters_release(set));
  assert_ok(htone_parameter_release(parameter));
  assert_ok(htone_tensor_release(gradient));
  assert_ok(htone_tensor_release(weights));
  return step;
}

static void n7_subnormal_gradients_count_whatever_the_host_does_with_its_own(void** state) {
  (void)state;
  skip_under_valgrind();
  static const float gradients[kGradients] = {1e-40F, -3e-42F, 1e-45F, 1e-38F, 0};
  double squares = 0;
  for (int i = 0; i < kGradients; ++i) squares += (double)gradients[i] * gradients[i];
  for (int flushes = 0; flushes < 2; ++flushes) {
    const SmallStep step = step_with(gradients, flushes);
    for (int i = 0; i < kGradients; ++i) assert_near(step.weights[i], -(double)gradients[i], 0);
    assert_near(step.norm, sqrt(squares), sqrt(squares) * 1e-6);
  }
}

#if !defined(PR_SET_MDWE)
enum { PR_SET_MDWE = 65 };
#endif
enum { kRefuseExecutableGain = 1 };

/* The library generates no code at run time, so the ban has no effect. The ban is permanent and children inherit it. */
static int train_without_writable_code(void* argument) {
  const uint64_t* expected = argument;
  int stayed = 0;
  Run run;
  if (prctl(PR_SET_MDWE, kRefuseExecutableGain, 0, 0, 0) != 0) return kCannotTry;
  void* forbidden = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (forbidden != MAP_FAILED) return 1;
  if (begin_run(&run, &kKinds[1], NULL) != HTONE_OK) return 2;
  if (train_under((Modes){FE_TONEAREST, 0, 0}, &run, &stayed) != HTONE_OK) return 3;
  return fingerprint(&run) == *expected ? 0 : 4;
}

static void h12_a_host_that_forbids_writable_code_trains(void** state) {
  (void)state;
  skip_under_valgrind();
  uint64_t expected = print_under((Modes){FE_TONEAREST, 0, 0}, &kKinds[1]);
  const int code = code_of_child(train_without_writable_code, &expected);
  if (code == kCannotTry) skip_test("this kernel cannot forbid memory that is written and executed");
  assert_int_equal(code, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(h7_training_gives_the_same_bits_whatever_modes_the_host_has_set),
      cmocka_unit_test(n7_subnormal_gradients_count_whatever_the_host_does_with_its_own),
      cmocka_unit_test(h12_a_host_that_forbids_writable_code_trains),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
