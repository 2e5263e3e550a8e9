#include "cuda/base/kernel_groups.h"
#include "cuda/base/map.h"
#include "cuda/convert/quantize.h"
#include "cuda/convert/round_to.h"

namespace halftone::cuda {
namespace {

template <class C>
struct Same {
  HALFTONE_DEVICE C operator()(C value) const { return value; }
};

// Computes in the compute type of the input's dtype. It holds every input exactly, so only the store rounds.
Status cast(Stream& stream, const View& in, const View& out) noexcept {
  return with_compute_type(in.dtype, [&]<class C>() { return map<C>(stream, Same<C>(), out, in); });
}

struct Constant {
  double value;
  HALFTONE_DEVICE double operator()(int64_t) const { return value; }
};

Status fill(Stream& stream, double value, const View& out) noexcept {
  return generate<double>(stream, Constant{value}, out);
}

// Two roundings, as on the CPU: kernels are compiled without fused products and sums.
struct Progression {
  double start;
  double step;
  HALFTONE_DEVICE double operator()(int64_t i) const { return start + static_cast<double>(i) * step; }
};

Status arange(Stream& stream, double start, double step, const View& out) noexcept {
  return generate<double>(stream, Progression{start, step}, out);
}

}  // namespace

const ConvertKernels kConvertKernels = {
    .cast = cast,
    .fill = fill,
    .arange = arange,
    .abs_max = abs_max,
    .quantize = quantize,
    .quantize_scale = quantize_scale,
    .round_to = round_to,
};

}  // namespace halftone::cuda
