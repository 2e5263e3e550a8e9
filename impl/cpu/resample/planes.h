// The planes of images that change their size, shared among threads, and the rounding of their elements.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backend/kernels/resample.h"
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/pool/spans.h"

namespace halftone::cpu {

template <class T, class C>
T narrowed(C value) {
  if constexpr (requires { T::from(0.0f); }) {
    return T::from(value);
  } else {
    return value;
  }
}

// Calls f.operator()<T, C>(plane) for every plane of n and c.
template <class F>
Status for_each_image_plane(Stream& stream, const ResampleArgs& args, F&& f) {
  const int64_t planes = args.output.shape[0] * args.output.shape[1];
  const int64_t size = args.output.shape[2] * args.output.shape[3];
  const int64_t step = std::max<int64_t>(1, kPoolWork / size);
  const bool known = try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    pool_of(stream).parallel_for(ceil_quotient(planes, step), [&](int64_t chunk, int) {
      for (int64_t i = chunk * step; i < std::min((chunk + 1) * step, planes); ++i) f.template operator()<T, C>(i);
    });
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "resample has no kernel for %s", name_of(args.output.dtype));
}

}  // namespace halftone::cpu
