/* A user's program: adds two tensors and prints one element of the sum, then the version. */
#include <halftone/halftone.h>
#include <stdio.h>

static int fail(void) {
  htone_error_info info;
  info.struct_size = sizeof(info);
  htone_error_last(&info);
  fprintf(stderr, "%s\n", info.message);
  return 1;
}

int main(void) {
  const int64_t shape[2] = {2, 3};
  double value = 0;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_tensor *a = NULL, *b = NULL, *sum = NULL, *mean = NULL;
  if (htone_context_create(NULL, &context) || htone_device_create(context, "cpu", &device)) return fail();
  if (htone_tensor_create_full(device, HTONE_BF16, 2, shape, 1.5, &a)) return fail();
  if (htone_tensor_create_full(device, HTONE_F32, 2, shape, 0.25, &b)) return fail();
  if (htone_add(a, b, &sum) || htone_mean(sum, 0, NULL, 0, &mean) || htone_tensor_item(mean, &value)) return fail();
  htone_tensor_release(mean);
  htone_tensor_release(sum);
  htone_tensor_release(b);
  htone_tensor_release(a);
  htone_device_release(device);
  htone_context_release(context);
  printf("%.2f %d\n", value, htone_version() == HTONE_VERSION_NUMBER);
  return 0;
}
