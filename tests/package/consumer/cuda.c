/* A user's program: asks for a GPU, and prints its name or the reason why there is none. */
#include <halftone/halftone.h>
#include <stdio.h>

int main(void) {
  char name[32];
  size_t length = 0;
  htone_context* context = NULL;
  htone_device* device = NULL;
  if (htone_context_create(NULL, &context)) return 1;
  const htone_status status = htone_device_create(context, "cuda", &device);
  if (status == HTONE_OK && htone_device_name(device, name, sizeof name, &length) == HTONE_OK) {
    printf("%s\n", name);
  } else {
    htone_error_info info;
    info.struct_size = sizeof(info);
    htone_error_last(&info);
    printf("%s %s\n", htone_status_name(status), info.message);
  }
  htone_device_release(device);
  htone_context_release(context);
  return 0;
}
