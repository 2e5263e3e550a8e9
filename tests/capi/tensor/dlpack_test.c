/* DLPack: memory that others lend to the library, and memory that the library lends; the end of a loan, refusals. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/dlpack_standard.h"
#include "test_tensors.h"

/* A matrix of [2, 3] floats that a caller lends. Counts how often the deleter ran. */
typedef struct Lender {
  float values[6];
  int64_t shape[2];
  int64_t strides[2];
  int ends;
  DLManagedTensorVersioned managed;
  DLManagedTensor old;
} Lender;

static void end_loan(DLManagedTensorVersioned* managed) { ++((Lender*)managed->manager_ctx)->ends; }
static void end_old_loan(DLManagedTensor* managed) { ++((Lender*)managed->manager_ctx)->ends; }

static void fill_lender(Lender* lender) {
  *lender = (Lender){.values = {0, 1, 2, 3, 4, 5}, .shape = {2, 3}, .strides = {3, 1}};
  const DLTensor array = {.data = lender->values,
                          .device = {kDLCPU, 0},
                          .ndim = 2,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = lender->shape,
                          .strides = lender->strides};
  lender->managed = (DLManagedTensorVersioned){{1, 0}, lender, end_loan, 0, array};
  lender->old = (DLManagedTensor){array, lender, end_old_loan};
}

static htone_tensor* import(Lender* lender) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_dlpack_versioned(test_device(), &lender->managed, &tensor));
  return tensor;
}

static htone_tensor* import_kept(Lender* lender) { return keep_tensor(import(lender)); }

static DLManagedTensorVersioned* export_of(htone_tensor* tensor) {
  DLManagedTensorVersioned* managed = NULL;
  assert_ok(htone_tensor_to_dlpack_versioned(tensor, &managed));
  return managed;
}

static void a_loan_ends_once_after_its_last_reference(void** state) {
  (void)state;
  static Lender lender;
  htone_tensor* view = NULL;
  fill_lender(&lender);
  htone_tensor* tensor = import(&lender);
  assert_shape(tensor, 2, 3);
  assert_int_equal(dtype_of(tensor), HTONE_F32);
  assert_ok(htone_slice(tensor, 1, 1, 3, 1, &view));
  assert_ok(htone_tensor_release(tensor));
  assert_ok(htone_tensor_fill(view, 9));
  assert_true(lender.values[0] == 0 && lender.values[1] == 9 && lender.values[5] == 9);
  assert_int_equal(lender.ends, 0);
  assert_ok(htone_tensor_release(view));
  assert_int_equal(lender.ends, 1);
}

static void a_loan_in_the_old_structure_is_taken_and_ends_likewise(void** state) {
  (void)state;
  static Lender lender;
  htone_tensor* tensor = NULL;
  fill_lender(&lender);
  lender.old.dl_tensor.strides = NULL;
  assert_ok(htone_tensor_from_dlpack(test_device(), &lender.old, &tensor));
  assert_values(tensor, 0, 0, 1, 2, 3, 4, 5);
  assert_ok(htone_tensor_release(tensor));
  assert_int_equal(lender.ends, 1);
}

static void a_loan_needs_no_deleter(void** state) {
  (void)state;
  static Lender lender;
  fill_lender(&lender);
  lender.managed.deleter = NULL;
  assert_values(import_kept(&lender), 0, 0, 1, 2, 3, 4, 5);
  htone_tensor* tensor = NULL;
  lender.old.deleter = NULL;
  assert_ok(htone_tensor_from_dlpack(test_device(), &lender.old, &tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_int_equal(lender.ends, 0);
}

static void strides_and_byte_offset_are_heeded(void** state) {
  (void)state;
  static Lender lender;
  fill_lender(&lender);
  lender.shape[0] = 2;
  lender.shape[1] = 2;
  lender.strides[0] = 1;
  lender.strides[1] = 3;
  lender.managed.dl_tensor.byte_offset = sizeof(float);
  assert_values(import_kept(&lender), 0, 1, 4, 2, 5);
}

static void a_lent_scalar_and_a_lent_nothing_are_tensors(void** state) {
  (void)state;
  static Lender scalar, nothing;
  fill_lender(&scalar);
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = NULL;
  scalar.managed.dl_tensor.strides = NULL;
  scalar.managed.dl_tensor.byte_offset = 2 * sizeof(float);
  assert_near(item_of(import_kept(&scalar)), 2, 0);
  fill_lender(&nothing);
  nothing.shape[0] = 0;
  nothing.strides[0] = -7; /* never used, because the tensor is empty */
  nothing.managed.dl_tensor.data = NULL;
  htone_tensor* empty = import_kept(&nothing);
  assert_shape(empty, 0, 3);
  assert_near(item_of(sum_of(empty)), 0, 0);
}

static void lent_elements_that_overlap_are_read_only(void** state) {
  (void)state;
  static Lender lender;
  fill_lender(&lender);
  lender.strides[0] = 0;
  htone_tensor* rows = import_kept(&lender);
  assert_values(rows, 0, 0, 1, 2, 0, 1, 2);
  assert_fails(htone_tensor_fill(rows, 1), HTONE_ERROR_STATE, "read-only");
  assert_near(item_of(sum_of(rows)), 6, 0);
}

static void read_only_memory_is_never_written(void** state) {
  (void)state;
  static const float replacement[6] = {1};
  static Lender lender;
  fill_lender(&lender);
  lender.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  htone_tensor *tensor = import_kept(&lender), *view = slice_of(tensor, 0, 0, 1, 1);
  assert_values(tensor, 0, 0, 1, 2, 3, 4, 5);
  assert_fails(htone_tensor_fill(view, 1), HTONE_ERROR_STATE, "read-only");
  assert_fails(htone_tensor_write(tensor, HTONE_F32, replacement, sizeof replacement), HTONE_ERROR_STATE, "read-only");
  assert_fails(htone_init_uniform(tensor, 0, 1), HTONE_ERROR_STATE, "read-only");
  DLManagedTensor* old = NULL;
  assert_fails(htone_tensor_to_dlpack(view, &old), HTONE_ERROR_STATE, "read-only");
  assert_null(old);
  DLManagedTensorVersioned* managed = export_of(view);
  assert_true(managed->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  managed->deleter(managed);
  assert_true(lender.values[0] == 0 && lender.values[5] == 5);
}

typedef struct TypeCase {
  htone_dtype dtype;
  uint8_t code, bits;
} TypeCase;

static const TypeCase kTypes[] = {
    {HTONE_F64, kDLFloat, 64}, {HTONE_F32, kDLFloat, 32},
    {HTONE_F16, kDLFloat, 16}, {HTONE_BF16, kDLBfloat, 16},
    {HTONE_I64, kDLInt, 64},   {HTONE_I32, kDLInt, 32},
    {HTONE_I16, kDLInt, 16},   {HTONE_I8, kDLInt, 8},
    {HTONE_U8, kDLUInt, 8},    {HTONE_F8E4M3, kDLFloat8_e4m3fn, 8},
    {HTONE_BOOL, kDLBool, 8},  {HTONE_F8E5M2, kDLFloat8_e5m2, 8},
};

static void every_dtype_goes_out_and_comes_back(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kTypes); ++i) {
    htone_tensor *original = make_ramp(kTypes[i].dtype, 1, 2), *back = NULL;
    DLManagedTensorVersioned* managed = export_of(original);
    const DLTensor* array = &managed->dl_tensor;
    assert_true(array->dtype.code == kTypes[i].code && array->dtype.bits == kTypes[i].bits && array->dtype.lanes == 1);
    assert_ok(htone_tensor_from_dlpack_versioned(test_device(), managed, &back));
    keep_tensor(back);
    assert_int_equal(dtype_of(back), kTypes[i].dtype);
    assert_values(back, 0, 0, 1);
  }
}

/* One invalid loan and the expected error. */
typedef struct Wrong {
  void (*spoil)(Lender* lender);
  htone_status status;
  const char* text;
} Wrong;

static void name_cuda(Lender* l) { l->managed.dl_tensor.device.device_type = kDLCUDA; }
static void have_no_device(Lender* l) { l->managed.dl_tensor.device.device_type = 0; }
static void have_lanes(Lender* l) { l->managed.dl_tensor.dtype.lanes = 4; }
static void have_no_lanes(Lender* l) { l->managed.dl_tensor.dtype.lanes = 0; }
static void be_complex(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLComplex, 64, 1}; }
static void be_wide_unsigned(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLUInt, 16, 1}; }
static void be_wide_bool(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLBool, 32, 1}; }
static void be_handles(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLOpaqueHandle, 64, 1}; }
static void be_ieee_fp8(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLFloat8_e4m3, 8, 1}; }
static void be_fp4(Lender* l) { l->managed.dl_tensor.dtype = (DLDataType){kDLFloat4_e2m1fn, 4, 1}; }
static void have_negative_rank(Lender* l) { l->managed.dl_tensor.ndim = -1; }
static void have_nine_dimensions(Lender* l) { l->managed.dl_tensor.ndim = 9; }
static void have_no_shape(Lender* l) { l->managed.dl_tensor.shape = NULL; }
static void have_negative_size(Lender* l) { l->shape[1] = -3; }
static void be_uncountable(Lender* l) { l->shape[0] = l->shape[1] = INT64_C(1) << 40; }
static void run_backwards(Lender* l) { l->strides[1] = -1; }
static void step_too_far(Lender* l) { l->strides[0] = INT64_MAX / 4; }
static void step_beyond_counting(Lender* l) { l->strides[1] = INT64_MAX; }
static void have_no_data(Lender* l) { l->managed.dl_tensor.data = NULL; }
static void be_misaligned(Lender* l) { l->managed.dl_tensor.byte_offset = 2; }
static void begin_beyond_memory(Lender* l) { l->managed.dl_tensor.byte_offset = UINT64_MAX - 3; }
static void begin_before_the_data(Lender* l) { l->managed.dl_tensor.byte_offset = UINT64_C(1) << 63; }
static void have_unknown_flags(Lender* l) { l->managed.flags = 1 << 3; }
static void be_of_version_2(Lender* l) { l->managed.version.major = 2; }
static void be_of_version_0(Lender* l) { l->managed.version = (DLPackVersion){0, 8}; }

static const Wrong kWrong[] = {
    {name_cuda, HTONE_ERROR_DEVICE, "device type 2, expected 1"},
    {have_no_device, HTONE_ERROR_DEVICE, "device type 0"},
    {have_lanes, HTONE_ERROR_UNSUPPORTED, "4 lanes"},
    {have_no_lanes, HTONE_ERROR_UNSUPPORTED, "0 lanes"},
    {be_complex, HTONE_ERROR_UNSUPPORTED, "type code 5 with 64 bits"},
    {be_wide_unsigned, HTONE_ERROR_UNSUPPORTED, "type code 1 with 16 bits"},
    {be_wide_bool, HTONE_ERROR_UNSUPPORTED, "type code 6 with 32 bits"},
    {be_handles, HTONE_ERROR_UNSUPPORTED, "type code 3"},
    {be_ieee_fp8, HTONE_ERROR_UNSUPPORTED, "type code 8 with 8 bits"},
    {be_fp4, HTONE_ERROR_UNSUPPORTED, "type code 17 with 4 bits"},
    {have_negative_rank, HTONE_ERROR_INVALID_ARGUMENT, "-1 dimensions"},
    {have_nine_dimensions, HTONE_ERROR_UNSUPPORTED, "9 dimensions"},
    {have_no_shape, HTONE_ERROR_INVALID_ARGUMENT, "NULL shape"},
    {have_negative_size, HTONE_ERROR_INVALID_ARGUMENT, "managed[1]=-3"},
    {be_uncountable, HTONE_ERROR_INVALID_ARGUMENT, "managed"},
    {run_backwards, HTONE_ERROR_INVALID_ARGUMENT, "negative stride -1"},
    {step_too_far, HTONE_ERROR_INVALID_ARGUMENT, "beyond all memory"},
    {step_beyond_counting, HTONE_ERROR_INVALID_ARGUMENT, "beyond all memory"},
    {have_no_data, HTONE_ERROR_INVALID_ARGUMENT, "NULL data"},
    {be_misaligned, HTONE_ERROR_INVALID_ARGUMENT, "not aligned to the 4 bytes of f32"},
    {begin_beyond_memory, HTONE_ERROR_INVALID_ARGUMENT, "beyond all memory"},
    {begin_before_the_data, HTONE_ERROR_INVALID_ARGUMENT, "byte_offset of 9223372036854775808, beyond all memory"},
    {have_unknown_flags, HTONE_ERROR_UNSUPPORTED, "flags 0x8"},
    {be_of_version_2, HTONE_ERROR_UNSUPPORTED, "DLPack 2.0, expected 1"},
    {be_of_version_0, HTONE_ERROR_UNSUPPORTED, "DLPack 0.8"},
};

static void a_refused_loan_stays_the_lenders(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kWrong); ++i) {
    static Lender lender;
    htone_tensor* tensor = NULL;
    fill_lender(&lender);
    kWrong[i].spoil(&lender);
    assert_fails(htone_tensor_from_dlpack_versioned(test_device(), &lender.managed, &tensor), kWrong[i].status,
                 kWrong[i].text);
    assert_null(tensor);
    assert_int_equal(lender.ends, 0);
  }
}

static void a_view_is_lent_with_its_strides_from_its_first_element(void** state) {
  (void)state;
  htone_tensor* view = slice_of(transpose_of(make_ramp(HTONE_F32, 2, 3, 4), 0, 1), 0, 1, 4, 2);
  void* address = NULL;
  assert_ok(htone_tensor_data(view, &address));
  DLManagedTensorVersioned* managed = export_of(view);
  const DLTensor* array = &managed->dl_tensor;
  assert_true(managed->version.major == 1 && managed->flags == 0);
  assert_true(array->device.device_type == kDLCPU && array->device.device_id == 0 && array->ndim == 2);
  assert_true(array->shape[0] == 2 && array->shape[1] == 3 && array->strides[0] == 2 && array->strides[1] == 4);
  assert_true(array->data == address && array->byte_offset == 0);
  assert_true(((float*)array->data)[0] == 1 && ((float*)array->data)[2] == 3);
  managed->deleter(managed);
}

static void an_empty_tensor_is_lent_without_an_address(void** state) {
  (void)state;
  DLManagedTensorVersioned* managed = export_of(make_ramp(HTONE_F32, 2, 0, 3));
  assert_true(managed->dl_tensor.data == NULL && managed->dl_tensor.shape[0] == 0 && managed->dl_tensor.shape[1] == 3);
  managed->deleter(managed);
}

static void a_tensor_with_a_gradient_to_come_is_not_lent(void** state) {
  (void)state;
  htone_tensor *root = leaf(make_ramp(HTONE_F32, 1, 3)), *detached = NULL;
  htone_tensor* tensors[] = {root, apply2(htone_mul, root, root)};
  for (size_t i = 0; i < COUNT_OF(tensors); ++i) {
    DLManagedTensorVersioned* managed = NULL;
    DLManagedTensor* old = NULL;
    assert_fails(htone_tensor_to_dlpack_versioned(tensors[i], &managed), HTONE_ERROR_STATE, "detach");
    assert_fails(htone_tensor_to_dlpack(tensors[i], &old), HTONE_ERROR_STATE, "detach");
    assert_true(managed == NULL && old == NULL);
  }
  assert_ok(htone_tensor_detach(root, &detached));
  DLManagedTensorVersioned* managed = export_of(keep_tensor(detached));
  managed->deleter(managed);
}

static void memory_of_another_device_neither_comes_nor_goes(void** state) {
  (void)state;
  static Lender lender;
  const int64_t shape = 2;
  htone_context* context = make_context(1, 0);
  htone_device* device = NULL;
  htone_tensor* tensor = NULL;
  DLManagedTensor* old = NULL;
  DLManagedTensorVersioned* managed = NULL;
  fill_lender(&lender);
  assert_ok(htone_context_load_plugin(context, FAKE_PLUGIN));
  assert_ok(htone_device_create(context, "fake", &device));
  keep_device(device);
  assert_fails(htone_tensor_from_dlpack(device, &lender.old, &tensor), HTONE_ERROR_DEVICE, "device is fake");
  assert_fails(htone_tensor_from_dlpack_versioned(device, &lender.managed, &tensor), HTONE_ERROR_DEVICE,
               "device is fake");
  assert_int_equal(lender.ends, 0);
  assert_ok(htone_tensor_create(device, HTONE_F32, 1, &shape, &tensor));
  keep_tensor(tensor);
  assert_fails(htone_tensor_to_dlpack(tensor, &old), HTONE_ERROR_DEVICE, "tensor is on fake");
  assert_fails(htone_tensor_to_dlpack_versioned(tensor, &managed), HTONE_ERROR_DEVICE, "tensor is on fake");
  assert_true(old == NULL && managed == NULL);
}

static void* end_on_this_thread(void* user) {
  DLManagedTensor* managed = user;
  float* values = managed->dl_tensor.data;
  float* sum = malloc(sizeof *sum);
  if (sum != NULL) *sum = values[0] + values[1];
  managed->deleter(managed);
  return sum;
}

static void our_loan_outlives_everything_and_ends_on_any_thread(void** state) {
  (void)state;
  static const float values[2] = {20, 22};
  const int64_t shape = 2;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_tensor* tensor = NULL;
  DLManagedTensor* managed = NULL;
  assert_ok(htone_context_create(NULL, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_tensor_create_copy(device, HTONE_F32, 1, &shape, values, &tensor));
  assert_ok(htone_tensor_to_dlpack(tensor, &managed));
  assert_ok(htone_tensor_release(tensor));
  assert_ok(htone_device_release(device));
  assert_ok(htone_context_release(context));
  pthread_t thread;
  void* sum = NULL;
  assert_int_equal(pthread_create(&thread, NULL, end_on_this_thread, managed), 0);
  assert_int_equal(pthread_join(thread, &sum), 0);
  assert_non_null(sum);
  assert_true(*(float*)sum == 42);
  free(sum);
}

static void memory_lent_out_is_free_only_after_the_loan(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_memory_stats stats = {.struct_size = sizeof stats};
  const int64_t shape = 1000;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 1, &shape, 1, &tensor));
  DLManagedTensorVersioned* managed = export_of(tensor);
  assert_ok(htone_tensor_release(tensor));
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_int_equal(stats.current, 4000);
  managed->deleter(managed);
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_int_equal(stats.current, 0);
}

static void a_write_by_the_borrower_shows_and_can_be_told_to_backward(void** state) {
  (void)state;
  htone_tensor *values = make_ramp(HTONE_F32, 1, 2), *weights = leaf(make_ramp(HTONE_F32, 1, 2));
  DLManagedTensorVersioned* managed = export_of(values);
  htone_tensor* loss = sum_of(apply2(htone_mul, weights, values));
  ((float*)managed->dl_tensor.data)[1] = 7;
  assert_values(values, 0, 0, 7);
  assert_ok(htone_tensor_mark_written(values));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written after the forward");
  managed->deleter(managed);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loan_ends_once_after_its_last_reference),
      cmocka_unit_test(a_loan_in_the_old_structure_is_taken_and_ends_likewise),
      cmocka_unit_test(a_loan_needs_no_deleter),
      cmocka_unit_test(strides_and_byte_offset_are_heeded),
      cmocka_unit_test(a_lent_scalar_and_a_lent_nothing_are_tensors),
      cmocka_unit_test(lent_elements_that_overlap_are_read_only),
      cmocka_unit_test(read_only_memory_is_never_written),
      cmocka_unit_test(every_dtype_goes_out_and_comes_back),
      cmocka_unit_test(a_refused_loan_stays_the_lenders),
      cmocka_unit_test(a_view_is_lent_with_its_strides_from_its_first_element),
      cmocka_unit_test(an_empty_tensor_is_lent_without_an_address),
      cmocka_unit_test(a_tensor_with_a_gradient_to_come_is_not_lent),
      cmocka_unit_test(memory_of_another_device_neither_comes_nor_goes),
      cmocka_unit_test(our_loan_outlives_everything_and_ends_on_any_thread),
      cmocka_unit_test(memory_lent_out_is_free_only_after_the_loan),
      cmocka_unit_test(a_write_by_the_borrower_shows_and_can_be_told_to_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
