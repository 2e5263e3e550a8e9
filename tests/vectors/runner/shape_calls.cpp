// Views, and tensors composed of others.
#include "runner/operation_calls.h"

namespace vectors {
namespace {

using Sized = htone_status (*)(htone_tensor*, int32_t, const int64_t*, htone_tensor**);
using Joined = htone_status (*)(size_t, htone_tensor* const*, int64_t, htone_tensor**);
using Cut = htone_status (*)(htone_tensor*, int64_t, htone_tensor**);

auto sized(Sized function, const char* setting) {
  return [=](const Call& call) {
    const std::vector<int64_t> sizes = call.list(setting);
    return results(compute(function, call.inputs[0], static_cast<int32_t>(sizes.size()), sizes.data()));
  };
}

auto joined(Joined function) {
  return [=](const Call& call) {
    return results(compute(function, call.inputs.size(), call.inputs.data(), call.whole("dim")));
  };
}

auto with_one(Cut function, const char* setting) {
  return [=](const Call& call) { return results(compute(function, call.inputs[0], call.whole(setting))); };
}

Tensors transpose(const Call& call) {
  return results(compute(htone_transpose, call.inputs[0], call.whole("dim0"), call.whole("dim1")));
}

Tensors slice(const Call& call) {
  return results(compute(htone_slice, call.inputs[0], call.whole("dim"), call.whole("start"), call.whole("end"),
                         call.whole("step")));
}

Tensors split(const Call& call) {
  const std::vector<int64_t> sizes = call.list("sizes");
  std::vector<htone_tensor*> parts(sizes.size());
  accepted(htone_split(call.inputs[0], call.whole("dim"), sizes.size(), sizes.data(), parts.data()));
  return {parts.begin(), parts.end()};
}

Tensors pad(const Call& call) {
  const std::vector<int64_t> padding = call.list("padding");
  return results(compute(htone_pad, call.inputs[0], static_cast<int32_t>(padding.size() / 2), padding.data(),
                         call.number("value")));
}

using EdgePad = htone_status (*)(htone_tensor*, int32_t, const int64_t*, htone_tensor**);

auto pad_by(EdgePad function) {
  return [=](const Call& call) {
    const std::vector<int64_t> padding = call.list("padding");
    return results(compute(function, call.inputs[0], static_cast<int32_t>(padding.size() / 2), padding.data()));
  };
}

Tensors einsum(const Call& call) {
  const std::string equation = call.settings.at("equation");
  return results(
      compute(htone_einsum, equation.c_str(), call.inputs[0], call.inputs.size() > 1 ? call.inputs[1] : nullptr));
}

Tensors arange(const Call& call) {
  return results(compute(htone_arange, call.device, dtype_of(call.settings.at("dtype")), call.number("start"),
                         call.number("end"), call.number("step")));
}

Tensors linspace(const Call& call) {
  return results(compute(htone_linspace, call.device, dtype_of(call.settings.at("dtype")), call.number("start"),
                         call.number("end"), call.whole("count")));
}

Tensors eye(const Call& call) {
  return results(
      compute(htone_eye, call.device, dtype_of(call.settings.at("dtype")), call.whole("rows"), call.whole("columns")));
}

Tensors roll(const Call& call) {
  const std::vector<int64_t> dims = call.list("dims"), shifts = call.list("shifts");
  return results(compute(htone_roll, call.inputs[0], static_cast<int32_t>(dims.size()), dims.data(), shifts.data()));
}

Tensors repeat_interleave(const Call& call) {
  return results(compute(htone_repeat_interleave, call.inputs[0], call.whole("count"), call.whole("dim")));
}

Tensors repeat_interleave_counts(const Call& call) {
  return results(compute(htone_repeat_interleave_counts, call.inputs[0], call.inputs[1], call.whole("dim")));
}

Tensors meshgrid(const Call& call) {
  std::vector<htone_tensor*> grids(call.inputs.size());
  accepted(htone_meshgrid(grids.size(), call.inputs.data(), int32_t{call.flag("xy")}, grids.data()));
  return {grids.begin(), grids.end()};
}

}  // namespace

Calls shape_calls() {
  return {{"reshape", sized(htone_reshape, "shape")},
          {"broadcast_to", sized(htone_broadcast_to, "shape")},
          {"permute", sized(htone_permute, "dims")},
          {"squeeze", sized(htone_squeeze, "dims")},
          {"flip", sized(htone_flip, "dims")},
          {"cat", joined(htone_cat)},
          {"stack", joined(htone_stack)},
          {"unsqueeze", with_one(htone_unsqueeze, "dim")},
          {"tril", with_one(htone_tril, "diagonal")},
          {"triu", with_one(htone_triu, "diagonal")},
          {"transpose", transpose},
          {"slice", slice},
          {"split", split},
          {"pad", pad},
          {"pad_reflect", pad_by(htone_pad_reflect)},
          {"pad_replicate", pad_by(htone_pad_replicate)},
          {"pad_circular", pad_by(htone_pad_circular)},
          {"pixel_shuffle", with_one(htone_pixel_shuffle, "factor")},
          {"pixel_unshuffle", with_one(htone_pixel_unshuffle, "factor")},
          {"einsum", einsum},
          {"tile", sized(htone_tile, "repeats")},
          {"one_hot", with_one(htone_one_hot, "classes")},
          {"roll", roll},
          {"repeat_interleave", repeat_interleave},
          {"repeat_interleave_counts", repeat_interleave_counts},
          {"diag", with_one(htone_diag, "diagonal")},
          {"meshgrid", meshgrid},
          {"linspace", linspace},
          {"eye", eye},
          {"arange", arange}};
}

}  // namespace vectors
