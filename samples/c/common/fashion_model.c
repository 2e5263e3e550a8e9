#include "fashion_model.h"

#include "failure.h"
#include "fashion_mnist.h"

enum { kHidden = 512, kMaxLayers = 11 };

/* Layers of 784 pixels, 512, 512 and 10. */
static bool make_mlp_layers(htone_device* device, htone_module** layers, size_t* out_count) {
  *out_count = 7;
  return ok(htone_module_create_rescaling(1.0 / 255, 0, &layers[0])) && ok(htone_module_create_flatten(&layers[1])) &&
         ok(htone_module_create_linear(device, kImagePixels, kHidden, NULL, &layers[2])) &&
         ok(htone_module_create_relu(&layers[3])) &&
         ok(htone_module_create_linear(device, kHidden, kHidden, NULL, &layers[4])) &&
         ok(htone_module_create_relu(&layers[5])) &&
         ok(htone_module_create_linear(device, kHidden, kClassCount, NULL, &layers[6]));
}

/* Convolutions of 3 x 3 with 1, 32 and 64 channels, each followed by max pooling that halves the size; then layers of
 * 128 and 10. */
static bool make_cnn_layers(htone_device* device, htone_module** layers, size_t* out_count) {
  enum { kPooledPixels = kImagePixels / 16 };
  htone_conv_options conv = HTONE_CONV_OPTIONS_INIT;
  conv.padding_h = conv.padding_w = 1;
  *out_count = 11;
  /* Scales to mean 0 and deviation 1, because the convolutions pad with zeros. */
  return ok(htone_module_create_rescaling(1 / (255 * 0.353), -0.286 / 0.353, &layers[0])) &&
         ok(htone_module_create_conv2d(device, 1, 32, 3, 3, &conv, &layers[1])) &&
         ok(htone_module_create_relu(&layers[2])) && ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[3])) &&
         ok(htone_module_create_conv2d(device, 32, 64, 3, 3, &conv, &layers[4])) &&
         ok(htone_module_create_relu(&layers[5])) && ok(htone_module_create_max_pool2d(2, 2, NULL, &layers[6])) &&
         ok(htone_module_create_flatten(&layers[7])) &&
         ok(htone_module_create_linear(device, 64 * kPooledPixels, 128, NULL, &layers[8])) &&
         ok(htone_module_create_relu(&layers[9])) &&
         ok(htone_module_create_linear(device, 128, kClassCount, NULL, &layers[10]));
}

bool fashion_model_create(htone_device* device, bool cnn, htone_module** out) {
  htone_module* layers[kMaxLayers] = {NULL};
  size_t count;
  return (cnn ? make_cnn_layers : make_mlp_layers)(device, layers, &count) &&
         ok(htone_module_create_sequential(count, layers, out));
}
