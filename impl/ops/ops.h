// All operations on tensors, for rooms above; capi/include/halftone/ops.h documents them. Each records itself if an
// input requires a gradient and this thread records. An operation includes the headers of the operations that it uses
// instead.
#pragma once

#include "ops/attention/attention.h"
#include "ops/attention/rotary.h"
#include "ops/conv/conv.h"
#include "ops/dispatch/cast.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/scalar.h"
#include "ops/fp8/fp8.h"
#include "ops/index/index.h"
#include "ops/loss/loss.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norms.h"
#include "ops/pool/pool.h"
#include "ops/random/dropout.h"
#include "ops/reduce/moments.h"
#include "ops/reduce/product.h"
#include "ops/reduce/reduce.h"
#include "ops/resample/upsample.h"
#include "ops/select/select.h"
#include "ops/shape/clone.h"
#include "ops/shape/shape.h"
#include "ops/shape/tile.h"
#include "ops/softmax/softmax.h"
