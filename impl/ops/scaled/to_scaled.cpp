// to_scaled: from a matrix to codes and scales.
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/scaled/check.h"
#include "ops/scaled/scaled.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

void require_values(const Tensor& x) {
  if (!is_arithmetic_float(x.dtype()) || x.dtype() == DType::kF64) {
    fail(Code::kDtypeMismatch, "x", "x is %s, expected f32, f16 or bf16", name_of(x.dtype()));
  }
  if (x.rank() == 2) return;
  fail(Code::kShapeMismatch, "x", "x %s has %d dimensions, expected 2", ShapeText(x.shape()).text, x.rank());
}

void require_delayed(const Tensor& x, const ScaleOptions& options) {
  if (options.layout == ScaleLayout::kTensor) {
    if (options.scale.defined()) require_scale(x, "x", options.scale, "scale");
    require_written_scale(x, "x", options.amax, "amax");
    return require_apart(options.amax, options.scale, "scale");
  }
  const bool has_scale = options.scale.defined();
  if (!has_scale && !options.amax.defined()) return;
  const char* const name = has_scale ? "scale" : "amax";
  fail(Code::kInvalidArgument, name, "%s is given, but only the layout TENSOR has one", name);
}

ScaleRule rule_of(const ScaleOptions& options) {
  switch (options.layout) {
    case ScaleLayout::kTensor:
      return ScaleRule::kGiven;
    case ScaleLayout::kRow:
      return ScaleRule::kDivided;
    case ScaleLayout::kBlock1x128:
    case ScaleLayout::kBlock128x128:
      return ScaleRule::kPower;
    case ScaleLayout::kMx1x32:
      return options.scale_rounds_up ? ScaleRule::kMxUp : ScaleRule::kMxDown;
    case ScaleLayout::kNv1x16:
    case ScaleLayout::kNv16x16:
      break;
  }
  return ScaleRule::kNvfp4;
}

// The scale of the whole tensor from its largest magnitude.
Tensor tensor_scale(const Tensor& x, ScaleRule rule, NumberFormat format, const Tensor& amax) {
  launch("to_scaled", x.device(), &Kernels::convert, &ConvertKernels::abs_max, x.view(), amax.view());
  Tensor scale = empty(x.device(), DType::kF32, {});
  launch("to_scaled", x.device(), &Kernels::scaled, &ScaledKernels::tensor_scale, amax.view(), rule, format,
         scale.view());
  return scale;
}

// Sets the scales that blocks are quantized under. Writes options.amax if the scale comes from it.
void prepare_scales(const Tensor& x, const ScaleOptions& options, Scaled& result) {
  const bool is_tensor = options.layout == ScaleLayout::kTensor;
  if (!is_tensor) {
    result.scales = empty(x.device(), scale_dtype(options.layout), scale_shape(options.layout, x.shape()));
  }
  if (is_tensor && options.scale.defined()) {
    // A copy, because the caller's number may change.
    result.scales = empty(x.device(), DType::kF32, {});
    launch("to_scaled", x.device(), &Kernels::convert, &ConvertKernels::cast,
           options.scale.as_strided({}, {}, options.scale.offset()).view(), result.scales.view());
    return;
  }
  if (!is_tensor && !is_nv(options.layout)) return;
  const Tensor amax = options.amax.defined() ? options.amax : empty(x.device(), DType::kF32, {});
  const ScaleRule rule = is_tensor ? ScaleRule::kDivided : ScaleRule::kNvfp4;
  (is_tensor ? result.scales : result.tensor_scale) = tensor_scale(x, rule, options.format, amax);
}

}  // namespace

Scaled to_scaled(const Tensor& x, const ScaleOptions& options) {
  require_values(x);
  require_format(options.layout, options.format, "options");
  require_delayed(x, options);
  Scaled result = {.codes = empty(x.device(), code_dtype(options.format), code_shape(options.format, x.shape())),
                   .scales = {},
                   .tensor_scale = {},
                   .layout = options.layout,
                   .format = options.format,
                   .shape = x.shape()};
  prepare_scales(x, options, result);
  const CodeRounding rounding = {.rule = rule_of(options), .is_stochastic = options.stochastic, .key = options.key};
  // With the tensor's own scale, amax is known already.
  const bool writes_amax = options.amax.defined() && options.scale.defined();
  launch("to_scaled", x.device(), &Kernels::scaled, &ScaledKernels::quantize_blocks, x.view(), rounding,
         writes_amax ? options.amax.view() : View{}, view_of(result));
  if (options.amax.defined()) options.amax.bump_version();
  return result;
}

}  // namespace halftone::ops
