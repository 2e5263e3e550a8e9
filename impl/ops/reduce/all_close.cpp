#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"

namespace halftone::ops {

bool all_close(const Tensor& a, const Tensor& b, const Closeness& closeness) {
  return item(all(is_close(a, b, closeness), {}, false)) != 0;
}

}  // namespace halftone::ops
