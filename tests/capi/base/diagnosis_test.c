/* The reason of a callback that failed, and the list of live handles. */
#include <string.h>

#include "run_tests.h"

/* A tensor that the test does not keep. */
static htone_tensor* new_tensor(void) {
  static const int64_t shape[] = {2, 2};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1.5, &tensor));
  return tensor;
}

static htone_status fail_with_reason(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  (void)call;
  ;
  return htone_error_set(HTONE_ERROR_UNSUPPORTED, user);
}

static void a_callback_says_why_it_fails(void** state) {
  (void)state;
  htone_module *inner = NULL, *named = NULL;
  assert_ok(htone_module_create_custom(fail_with_reason, "the mask\nis missing", NULL, NULL, &inner));
  const char* names[] = {"attention"};
  assert_ok(htone_module_create_named_sequential(1, names, &inner, &named));
  keep_module(named);
  htone_tensor* out = NULL;
  assert_fails(
      htone_module_forward(named, keep_tensor(new_tensor()), NULL, &out), HTONE_ERROR_CALLBACK,
      "htone_module_forward: layer attention (custom): forward of a custom module returned 4 (UNSUPPORTED): the "
      "mask?is missing");
  assert_int_equal(last_native_code(), HTONE_ERROR_UNSUPPORTED);
  assert_ok(htone_module_release(inner));
}

static void setting_an_error_needs_an_error_and_a_text(void** state) {
  (void)state;
  assert_fails(htone_error_set(HTONE_OK, "fine"), HTONE_ERROR_INVALID_ARGUMENT, "status is HTONE_OK");
  assert_fails(htone_error_set(HTONE_ERROR_STATE, NULL), HTONE_ERROR_INVALID_ARGUMENT, "message is NULL");
  assert_int_equal(htone_error_set((htone_status)77, "a code of its own"), 77);
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_ok(htone_error_last(&info));
  assert_int_equal(info.status, 77);
  assert_string_equal(info.message, "a code of its own");
}

static const char* described_handles(void) {
  static char text[4096];
  size_t length = 0;
  assert_ok(htone_debug_describe_handles(text, sizeof text, &length));
  assert_int_equal(length, strlen(text));
  return text;
}

static void live_handles_are_listed_by_type(void** state) {
  (void)state;
  keep_tensor(new_tensor());
  keep_tensor(new_tensor());
  assert_non_null(strstr(described_handles(), "tensor: 2\n"));
  assert_non_null(strstr(described_handles(), "device: 1\n"));
}

static void tracked_handles_tell_where_they_were_made(void** state) {
  (void)state;
  htone_tensor* before = keep_tensor(new_tensor());
  assert_ok(htone_debug_track_handles(1));
  htone_tensor* sum = NULL;
  for (int i = 0; i < 3; ++i) {
    assert_ok(htone_add(before, before, &sum));
    keep_tensor(sum);
  }
  const char* text = described_handles();
  assert_non_null(strstr(text, "tensor: 1\n"));
  assert_non_null(strstr(text, "tensor: 3 from htone_add, called at "));
  assert_ok(htone_debug_track_handles(0));
  assert_non_null(strstr(described_handles(), "tensor: 4\n"));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callback_says_why_it_fails),
      cmocka_unit_test(setting_an_error_needs_an_error_and_a_text),
      cmocka_unit_test(live_handles_are_listed_by_type),
      cmocka_unit_test(tracked_handles_tell_where_they_were_made),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
