#include "points.h"

#include "failure.h"

enum { kPoints = 2000 };

/* The class tells the diagonal of the point's quadrant, and whether it is near the centre. */
bool points_make(htone_device* device, uint32_t seed, htone_batches** out) {
  static float points[kPoints][2];
  static int64_t classes[kPoints];
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  htone_sampler* sampler;
  htone_tensor* tensors[2];
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < 2; ++j) {
      seed = seed * 1664525U + 1013904223U;
      points[i][j] = (float)(seed >> 16) / 32768 - 1;
    }
    const double x = points[i][0], y = points[i][1];
    classes[i] = (x * y > 0 ? 1 : 0) + (x * x + y * y < 0.5 ? 2 : 0);
  }
  sampling.count = kPoints;
  sampling.batch_size = 50;
  return ok(htone_sampler_create(&sampling, &sampler)) &&
         ok(htone_tensor_create_copy(device, HTONE_F32, 2, (const int64_t[]){kPoints, 2}, points, &tensors[0])) &&
         ok(htone_tensor_create_copy(device, HTONE_I64, 1, (const int64_t[]){kPoints}, classes, &tensors[1])) &&
         ok(htone_batches_create(sampler, 2, tensors, out));
}
