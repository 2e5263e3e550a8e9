// Convolutions over three dimensions, and their transposes.
#include "calls.h"
#include "ops/conv/conv.h"
#include "ops/op_case.h"

namespace halftone {

namespace {

const OpInput kVolumeFactor = {uniform(-1, 1)};

// The sum of the products at one element of the result, [n, o, z, y, x].
Sum product_at(const Array& input, const Array& weight, const ops::Conv3dOptions& options, const Shape& at) {
  const int64_t filters = weight.shape[0] / options.groups, channels = weight.shape[1];
  Sum sum;
  for_each_index({channels, weight.shape[2], weight.shape[3], weight.shape[4]}, [&](const Shape& element) {
    Shape from = {at[0], at[1] / filters * channels + element[0]}, factor = {at[1], element[0]};
    bool is_inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t place = at[2 + d] * options.stride[d] + element[1 + d] * options.dilation[d] - options.padding[d];
      is_inside = is_inside && place >= 0 && place < input.shape[2 + d];
      from.push_back(place);
      factor.push_back(element[1 + d]);
    }
    if (is_inside) sum.add(input[place_of(input.shape, from)] * weight[place_of(weight.shape, factor)]);
  });
  return sum;
}

Arrays convolved_volumes(const Arrays& in, const ops::Conv3dOptions& options) {
  Shape shape = {in[0].shape[0], in[1].shape[0]};
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = options.dilation[d] * (in[1].shape[2 + d] - 1);
    shape.push_back((in[0].shape[2 + d] + 2 * options.padding[d] - reach - 1) / options.stride[d] + 1);
  }
  Array out(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Shape& at) {
    Sum sum = product_at(in[0], in[1], options, at);
    if (in.size() > 2) sum.add(in[2][at[1]]);
    out[i++] = sum.value();
    out.slack.push_back(sum.slack_in_order());
  });
  return {out};
}

// An element of the input adds itself times weight[c, o, k...] at the places z stride + k dilation - padding. This sums
// over the elements that reach one place of the result.
Sum transposed_at(const Array& input, const Array& weight, const ops::Conv3dOptions& options, const Shape& at) {
  const int64_t channels = weight.shape[0] / options.groups, filters = weight.shape[1];
  Sum sum;
  for_each_index({channels, weight.shape[2], weight.shape[3], weight.shape[4]}, [&](const Shape& element) {
    const int64_t channel = at[1] / filters * channels + element[0];
    Shape from = {at[0], channel}, factor = {channel, at[1] % filters};
    bool reaches = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t place = at[2 + d] + options.padding[d] - element[1 + d] * options.dilation[d];
      from.push_back(place / options.stride[d]);
      factor.push_back(element[1 + d]);
      reaches = reaches && place >= 0 && place % options.stride[d] == 0 && from[2 + d] < input.shape[2 + d];
    }
    if (reaches) sum.add(input[place_of(input.shape, from)] * weight[place_of(weight.shape, factor)]);
  });
  return sum;
}

Arrays transposed_volumes(const Arrays& in, const ops::Conv3dOptions& options) {
  Shape shape = {in[0].shape[0], in[1].shape[1] * options.groups};
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = options.dilation[d] * (in[1].shape[2 + d] - 1);
    shape.push_back((in[0].shape[2 + d] - 1) * options.stride[d] - 2 * options.padding[d] + reach +
                    options.output_padding[d] + 1);
  }
  Array out(shape);
  int64_t i = 0;
  for_each_index(shape, [&](const Shape& at) {
    Sum sum = transposed_at(in[0], in[1], options, at);
    if (in.size() > 2) sum.add(in[2][at[1]]);
    out[i++] = sum.value();
    out.slack.push_back(sum.slack_in_order());
  });
  return {out};
}

OpCase transpose_case(const char* what, const ops::Conv3dOptions& options, std::vector<Shapes> shapes) {
  return {.op = Op::kConvTranspose3d,
          .what = what,
          .inputs = std::vector<OpInput>(shapes[0].size(), kVolumeFactor),
          .shapes = std::move(shapes),
          .run =
              [=](const Tensors& in) {
                return Tensors{ops::conv_transpose3d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options)};
              },
          .reference = [=](const Arrays& in) { return transposed_volumes(in, options); }};
}

OpCase conv3d_case(const char* what, const ops::Conv3dOptions& options, std::vector<Shapes> shapes) {
  return {.op = Op::kConv3d,
          .what = what,
          .inputs = std::vector<OpInput>(shapes[0].size(), kVolumeFactor),
          .shapes = std::move(shapes),
          .run =
              [=](const Tensors& in) {
                return Tensors{ops::conv3d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options)};
              },
          .reference = [=](const Arrays& in) { return convolved_volumes(in, options); }};
}

// Depth, height and width have different parameters.
constexpr ops::Conv3dOptions kUneven3d = {.stride = {2, 1, 3}, .padding = {1, 2, 0}, .dilation = {2, 1, 2}};

constexpr ops::Conv3dOptions in_groups(ops::Conv3dOptions options, int64_t groups) {
  options.groups = groups;
  return options;
}

constexpr ops::Conv3dOptions with_output_padding(ops::Conv3dOptions options) {
  options.output_padding[0] = 1;
  options.output_padding[2] = 2;
  return options;
}

}  // namespace

std::vector<OpCase> conv3d_cases() {
  return {
      conv3d_case("", {},
                  {{{0, 1, 3, 3, 2}, {1, 1, 2, 2, 2}},
                   {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
                   {{1, 3, 5, 3, 3}, {2, 3, 3, 2, 1}},
                   {{2, 3, 3, 2, 2}, {2, 3, 1, 1, 1}},
                   {{2, 3, 13, 19, 23}, {2, 3, 2, 3, 3}}}),
      conv3d_case("uneven, with bias", kUneven3d,
                  {{{2, 2, 5, 3, 5}, {3, 2, 3, 2, 2}, {3}}, {{1, 1, 4, 2, 7}, {1, 1, 2, 3, 3}, {1}}}),
      conv3d_case("uneven in groups, with bias", in_groups(kUneven3d, 2),
                  {{{0, 4, 5, 3, 3}, {2, 2, 3, 2, 2}, {2}}, {{3, 6, 5, 3, 5}, {4, 3, 2, 1, 2}, {4}}}),
      conv3d_case("with padding beyond the kernel", {.stride = {3, 1, 1}, .padding = {4, 0, 0}},
                  {{{1, 2, 2, 3, 2}, {2, 2, 2, 1, 2}}}),
      of_one_image(conv3d_case("", kUneven3d, {Shapes(3)}), {{{2, 5, 3, 5}, {3, 2, 3, 2, 2}, {3}}}),
      transpose_case("", {},
                     {{{0, 1, 3, 3, 2}, {1, 1, 2, 2, 2}},
                      {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
                      {{1, 3, 5, 3, 3}, {3, 2, 3, 2, 1}},
                      {{1, 3, 11, 31, 33}, {3, 1, 2, 2, 1}}}),
      transpose_case("uneven, with bias", with_output_padding(kUneven3d),
                     {{{2, 2, 3, 3, 3}, {2, 3, 3, 4, 2}, {3}}, {{1, 1, 2, 5, 3}, {1, 1, 2, 3, 3}, {1}}}),
      transpose_case("uneven in groups, with bias", in_groups(kUneven3d, 2),
                     {{{0, 4, 3, 5, 2}, {4, 1, 3, 2, 2}, {2}}, {{3, 4, 2, 5, 3}, {4, 3, 2, 1, 2}, {6}}}),
      of_one_image(transpose_case("", kUneven3d, {Shapes(3)}), {{{2, 3, 3, 3}, {2, 3, 3, 4, 2}, {3}}}),
  };
}

}  // namespace halftone
