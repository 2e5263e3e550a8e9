#include "product_rate.h"

#include "failure.h"
#include "stopwatch.h"

enum { kSide = 1024 };

/* Multiplies, waits for the device by reading an element, and releases the result. */
static bool multiply(htone_tensor* matrix) {
  htone_scope* temporaries;
  htone_tensor *product, *corner;
  double value;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done = ok(htone_matmul(matrix, matrix, &product)) && ok(htone_slice(product, 0, 0, 1, 1, &corner)) &&
                    ok(htone_slice(corner, 1, 0, 1, 1, &corner)) && ok(htone_tensor_item(corner, &value));
  return ok(htone_scope_end(temporaries)) && done;
}

/* The first product does not count: it starts threads and allocates. The fastest of the others is disturbed least. */
static bool measure(htone_tensor* matrix, double seconds, double* out) {
  double end = seconds_now();
  const double last = end + seconds;
  *out = 0;
  for (int i = 0; i < 2 || end < last; ++i) {
    const double begin = end;
    if (!multiply(matrix)) return false;
    end = seconds_now();
    const double rate = 2.0 * kSide * kSide * kSide / (end - begin);
    if (i > 0 && rate > *out) *out = rate;
  }
  return true;
}

bool product_rate_measure(htone_device* device, htone_dtype dtype, double seconds, double* out) {
  const int64_t shape[] = {kSide, kSide};
  htone_scope* temporaries;
  htone_tensor* matrix;
  if (!ok(htone_handles_begin(&temporaries))) return false;
  const bool done =
      ok(htone_tensor_create_full(device, dtype, 2, shape, 1.0 / kSide, &matrix)) && measure(matrix, seconds, out);
  return ok(htone_scope_end(temporaries)) && done;
}
