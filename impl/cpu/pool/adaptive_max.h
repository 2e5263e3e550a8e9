// Maxima of adaptive windows. Window sizes vary, so each window is computed on its own. Pure functions, any thread.
#pragma once

#include "cpu/pool/maximum.h"
#include "cpu/pool/spans.h"

namespace halftone::cpu {

template <class T, class C>
void adaptive_max_of_plane(const PoolArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  int32_t* indices = plane_at<int32_t>(args.indices, plane);
  for (int64_t y = 0; y < args.output.shape[2]; ++y) {
    const Span rows = span_at(args, 0, y);
    for (int64_t x = 0; x < args.output.shape[3]; ++x) {
      const Span columns = span_at(args, 1, x);
      const Maximum<T, C> maximum = maximum_of<T, C>(args.input, in, {rows.begin, rows.end - rows.begin, 1},
                                                     {columns.begin, columns.end - columns.begin, 1});
      *out++ = maximum.narrowed();
      *indices++ = maximum.index;
    }
  }
}

}  // namespace halftone::cpu
