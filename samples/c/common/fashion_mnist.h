/* Fashion-MNIST (Xiao, Rasul and Vollgraf, arXiv:1708.07747) as tensors: 28 x 28 grey images of ten kinds of clothes.
 * Debian's package dataset-fashion-mnist holds the files. Any thread.
 */
#ifndef SAMPLES_FASHION_MNIST_H
#define SAMPLES_FASHION_MNIST_H

#include <stdbool.h>

#include "halftone/halftone.h"

enum { kImageSide = 28, kImagePixels = kImageSide * kImageSide, kClassCount = 10 };

/* Where Debian's package puts the files. */
#define FASHION_MNIST_DIRECTORY "/usr/share/datasets/fashion-mnist"

/* Reads DIRECTORY/PART-images-idx3-ubyte.gz and DIRECTORY/PART-labels-idx1-ubyte.gz, PART being "train" or "t10k", into
 * images [n, 1, 28, 28] of u8 and labels [n] of i64, both owned by the caller. Prints one line and answers false where a
 * file is not what it should be; then both are left as they were.
 */
bool fashion_mnist_load(htone_device* device, const char* directory, const char* part, htone_tensor** out_images,
                        htone_tensor** out_labels);

#endif
