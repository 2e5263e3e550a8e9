/* Fashion-MNIST (Xiao, Rasul and Vollgraf, arXiv:1708.07747) as tensors: 28 x 28 grey images of ten kinds of clothes.
 * Debian's package dataset-fashion-mnist contains the files. Any thread. */
#ifndef SAMPLES_FASHION_MNIST_H
#define SAMPLES_FASHION_MNIST_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Debian's package installs the files here. */
#define FASHION_MNIST_DIRECTORY "/usr/share/datasets/fashion-mnist"

/* Reads DIRECTORY/PART-images-idx3-ubyte.gz and DIRECTORY/PART-labels-idx1-ubyte.gz, where PART is "train" or "t10k".
 * Makes images [n, 1, 28, 28] of u8 and labels [n] of i64 in the open scope of handles. If a file is invalid, prints
 * one line and returns false. */
bool fashion_mnist_load(htone_device* device, const char* directory, const char* part, htone_tensor** out_images,
                        htone_tensor** out_labels);

#endif
