#include "misuse_judge.h"

#include <stdlib.h>
#include <string.h>

static const char* function_name;
static int failures;
static int64_t handles_expected;
static unsigned char* results;
static unsigned char* expected_results;
static void* released[kHandleKinds];
static void* reused[kHandleKinds];

static void* release_new_object(HandleKind kind) {
  void* made = make_object(kind);
  assert_ok(release_object(kind, made));
  return made;
}

/* The table gives a free entry to the next handle, so the entries of `reused` had a later object of the same kind. Some
 * of them belong to tensors that live until the test ends. */
static void make_stale_handles(void) {
  for (int kind = 0; kind < kHandleKinds; ++kind) released[kind] = release_new_object(kind);
  for (int kind = 0; kind < kHandleKinds; ++kind) {
    reused[kind] = release_new_object(kind);
    release_new_object(kind);
  }
  for (int i = 0; i < 20; ++i) keep_tensor(make_object(kTensorHandle));
}

void begin_misuse(const char* function) {
  function_name = function;
  failures = 0;
  make_fixture();
  make_stale_handles();
  begin_scope();
  results = malloc(kResults * kResultBytes);
  expected_results = malloc(kResults * kResultBytes);
  assert_true(results != NULL && expected_results != NULL);
  memset(results, 0xa5, kResults * kResultBytes);
  note_results();
  handles_expected = live_handles();
}

void end_misuse(void) {
  release_fixture();
  free(results);
  free(expected_results);
  assert_int_equal(failures, 0);
}

void* result_memory(int k) { return results + k * kResultBytes; }

void note_results(void) { memcpy(expected_results, results, kResults * kResultBytes); }

static void report(const char* argument, const char* what, const char* complaint) {
  print_error("%s(%s = %s): %s\n", function_name, argument, what, complaint);
  ++failures;
}

static void judge_side_effects(const char* argument, const char* what) {
  if (memcmp(results, expected_results, kResults * kResultBytes) != 0) {
    report(argument, what, "a result was written");
    memcpy(results, expected_results, kResults * kResultBytes);
  }
  const int64_t handles = live_handles();
  if (handles != handles_expected) report(argument, what, "the number of live handles changed");
  handles_expected = handles;
}

void reset_results(void) {
  memcpy(results, expected_results, kResults * kResultBytes);
  judge_side_effects("every argument", "valid");
}

void refused_silently(Wrong wrong, htone_status actual) {
  if (actual != wrong.expected) {
    print_error("%s instead of %s: ", htone_status_name(actual), htone_status_name(wrong.expected));
    report(wrong.argument, wrong.what, "wrong status");
  }
  judge_side_effects(wrong.argument, wrong.what);
}

static void judge_message(Wrong wrong, const htone_error_info* info) {
  const size_t length = strlen(function_name);
  const int named = strncmp(info->message, function_name, length) == 0 && strncmp(info->message + length, ": ", 2) == 0;
  if (!named) {
    report(wrong.argument, wrong.what, "the message does not begin with the function");
  } else if (strstr(info->message + length, wrong.argument) == NULL) {
    report(wrong.argument, wrong.what, "the message does not name the argument");
  } else if (strstr(info->message + length, wrong.text) == NULL) {
    report(wrong.argument, wrong.what, "the message does not name the field");
  } else if (strchr(info->message, '\n') != NULL) {
    report(wrong.argument, wrong.what, "the message has more than one line");
  } else if (info->argument_index != wrong.index) {
    report(wrong.argument, wrong.what, "wrong argument_index");
  } else {
    return;
  }
  print_error("    message \"%s\", argument_index %d\n", info->message, (int)info->argument_index);
}

void refused(Wrong wrong, htone_status actual) {
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  refused_silently(wrong, actual);
  if (actual != wrong.expected) return;
  if (info.status != actual) report(wrong.argument, wrong.what, "htone_error_last tells another status");
  judge_message(wrong, &info);
}

void accepted(const char* what, htone_status actual) {
  if (actual == HTONE_OK) return;
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  print_error("%s with %s: %s\n", function_name, what, info.message);
  ++failures;
}

/* Values that real programs pass by mistake in place of a handle. */
static const uint64_t kPatterns[] = {
    ~UINT64_C(0),
    1,
    8,
    UINT64_C(0xdeadbeef),
    UINT64_C(0x8000000000000000),
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(0xcccccccccccccccc),
    UINT64_C(0xffffffff00000000),
    UINT64_C(0x0123456789abcdef),
    UINT64_C(0xaaaaaaaa55555555),
};

BadHandle bad_handle(HandleKind kind, size_t i) {
  static int on_no_stack;
  void* const own[kHandleKinds] = {
      fixture.context, fixture.device,    fixture.tensor,     fixture.scope,      fixture.stack,      fixture.policy,
      fixture.module,  fixture.parameter, fixture.parameters, fixture.state_dict, fixture.optimizer,  fixture.schedule,
      fixture.scaler,  fixture.ema,       fixture.sampler,    fixture.batches,    fixture.checkpoint, fixture.function,
      fixture.hook,    fixture.store,     fixture.group,      fixture.work,       fixture.ddp,        fixture.fsdp,
      fixture.recipe,  fixture.graph,     fixture.scaled,     fixture.statistics, fixture.trainer};
  const BadHandle singles[] = {
      {"NULL", NULL},
      {"released", released[kind]},
      {"released, its slot in use", reused[kind]},
      {"released, of another type", released[(kind + 1) % kHandleKinds]},
      {"an address on the stack", &i},
      {"an address of data", &on_no_stack},
      {"an address of the heap", results},
      {"itself and 1", (void*)((uintptr_t)own[kind] + 1)},
      {"itself in the upper half", (void*)((uintptr_t)own[kind] << 32)},
      {"itself with another upper bit", (void*)((uintptr_t)own[kind] ^ ((uintptr_t)1 << 62))},
  };
  if (i < COUNT_OF(singles)) return singles[i];
  i -= COUNT_OF(singles);
  if (i < COUNT_OF(kPatterns)) return (BadHandle){"a random value", (void*)(uintptr_t)kPatterns[i]};
  i -= COUNT_OF(kPatterns);
  if (i >= kHandleKinds - 1) return (BadHandle){NULL, NULL};
  return (BadHandle){"of another type", own[((size_t)kind + 1 + i) % kHandleKinds]};
}

/* A2 */
void a_million_random_handles_are_refused(void** state) {
  (void)state;
  uint64_t bits = UINT64_C(0x9e3779b97f4a7c15);
  int wrong = 0;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 2);
  for (int i = 0; i < 1000000; ++i) {
    htone_dtype dtype = 77;
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    if ((void*)(uintptr_t)bits == (void*)tensor) continue;
    wrong += htone_tensor_dtype((htone_tensor*)(uintptr_t)bits, &dtype) != HTONE_ERROR_INVALID_HANDLE || dtype != 77;
  }
  assert_int_equal(wrong, 0);
}
