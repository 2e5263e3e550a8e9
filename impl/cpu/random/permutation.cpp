#include "cpu/random/entries.h"

#include <numeric>

#include "backend/formula/shuffle.h"

namespace halftone::cpu {

Status permutation(Stream&, PhiloxKey key, const View& out) noexcept {
  int64_t* order = static_cast<int64_t*>(out.data);
  std::iota(order, order + out.numel(), int64_t{0});
  shuffle(order, out.numel(), key);
  return {};
}

}  // namespace halftone::cpu
