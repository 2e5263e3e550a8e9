// Shared by the layers of convolutions: checks of their sizes, and the shapes of their parameters.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "base/arguments.h"
#include "nn/conv.h"
#include "ops/dispatch/check.h"

namespace halftone::capi {

inline void require_conv_dtype(htone_dtype dtype) {
  if (is_arithmetic_float(static_cast<DType>(dtype))) return;
  fail(Code::kInvalidArgument, "options", "options.dtype=%s, expected f64, f32, f16 or bf16", htone_dtype_name(dtype));
}

struct NamedSize {
  const char* name;
  int64_t value;
};

// Weights of these sizes must be countable in bytes.
inline void require_countable(std::initializer_list<NamedSize> sizes) {
  int64_t bytes = sizeof(double);
  const auto by_value = [](const NamedSize& a, const NamedSize& b) { return a.value < b.value; };
  const NamedSize largest = std::max(sizes, by_value);
  for (const NamedSize& size : sizes) {
    if (size.value < 1) {
      fail(Code::kInvalidArgument, size.name, "%s=%lld, expected at least 1", size.name,
           static_cast<long long>(size.value));
    }
    if (__builtin_mul_overflow(bytes, size.value, &bytes)) {
      fail(Code::kInvalidArgument, largest.name, "%s=%lld: weights have more elements than 64 bits can count in bytes",
           largest.name, static_cast<long long>(largest.value));
    }
  }
}

inline void require_conv_groups(int64_t groups, int64_t in_channels, int64_t out_channels) {
  if (groups >= 1 && in_channels % groups == 0 && out_channels % groups == 0) return;
  fail(Code::kInvalidArgument, "options", "options.groups=%lld does not divide in_channels=%lld and out_channels=%lld",
       static_cast<long long>(groups), static_cast<long long>(in_channels), static_cast<long long>(out_channels));
}

// The sizes of a layer: its channels, and its kernel in each dimension.
struct ConvLayerSizes {
  int64_t in_channels;
  int64_t out_channels;
  Shape kernel;
};

// Settings are htone_conv_options or htone_conv3d_options, checked except for the groups.
template <class Settings>
nn::ConvParameters conv_parameters(const ops::ConvKind& kind, const ConvLayerSizes& sizes, const Settings& settings) {
  require_conv_groups(settings.groups, sizes.in_channels, sizes.out_channels);
  nn::ConvParameters parameters = {.weight = {sizes.out_channels, sizes.in_channels / settings.groups},
                                   .out_channels = sizes.out_channels,
                                   .bias = settings.bias != 0,
                                   .dtype = static_cast<DType>(settings.dtype)};
  if (kind.transposes) parameters.weight = {sizes.in_channels, sizes.out_channels / settings.groups};
  for (const int64_t size : sizes.kernel) parameters.weight.push_back(size);
  return parameters;
}

}  // namespace halftone::capi
