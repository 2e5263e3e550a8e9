// Convolutions and transposed convolutions.
#include "calls.h"
#include "ops/conv/conv.h"
#include "ops/op_case.h"

namespace halftone {

namespace {

const OpInput kFactor = {uniform(-1, 1)};

using ConvCall = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ops::ConvOptions&);

// Views an array of lines as images of one row.
Array as_images(const Array& array) {
  if (array.shape.rank() != 3) return array;
  Array images({array.shape[0], array.shape[1], 1, array.shape[2]});
  images.values = array.values;
  return images;
}

// The reference's operands, [n, c, h, w] each.
struct Planes {
  Array input;
  Array weight;
  ops::ConvOptions options;

  double input_at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return input[place_of(input.shape, {n, c, y, x})];
  }
  double weight_at(int64_t o, int64_t c, int64_t i, int64_t j) const {
    return weight[place_of(weight.shape, {o, c, i, j})];
  }
};

// out[n, o, y, x] = sum of weight[o, c, i, j] input[n, c of o's group, y stride + i dilation - padding, ...]
Sum convolved(const Planes& planes, const Shape& at) {
  const auto& [input, weight, options] = planes;
  const ops::ConvOptions& o = options;
  const int64_t filters = weight.shape[0] / o.groups, channels = weight.shape[1];
  Sum sum;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < weight.shape[2]; ++i) {
      for (int64_t j = 0; j < weight.shape[3]; ++j) {
        const int64_t y = at[2] * o.window.stride[0] + i * o.window.dilation[0] - o.window.padding[0];
        const int64_t x = at[3] * o.window.stride[1] + j * o.window.dilation[1] - o.window.padding[1];
        if (y < 0 || y >= input.shape[2] || x < 0 || x >= input.shape[3]) continue;
        sum.add(planes.weight_at(at[1], c, i, j) * planes.input_at(at[0], at[1] / filters * channels + c, y, x));
      }
    }
  }
  return sum;
}

// Every input element adds itself times weight[c, o, i, j] at (y stride + i dilation - padding, ...). This loops over
// the positions that reach one output.
Sum transposed(const Planes& planes, const Shape& at) {
  const auto& [input, weight, options] = planes;
  const ops::ConvOptions& o = options;
  const int64_t channels = weight.shape[0] / o.groups, filters = weight.shape[1];
  Sum sum;
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t channel = at[1] / filters * channels + c;
    for (int64_t i = 0; i < weight.shape[2]; ++i) {
      for (int64_t j = 0; j < weight.shape[3]; ++j) {
        const int64_t down = at[2] + o.window.padding[0] - i * o.window.dilation[0];
        const int64_t right = at[3] + o.window.padding[1] - j * o.window.dilation[1];
        if (down < 0 || right < 0 || down % o.window.stride[0] != 0 || right % o.window.stride[1] != 0) continue;
        const int64_t y = down / o.window.stride[0], x = right / o.window.stride[1];
        if (y >= input.shape[2] || x >= input.shape[3]) continue;
        sum.add(planes.weight_at(channel, at[1] % filters, i, j) * planes.input_at(at[0], channel, y, x));
      }
    }
  }
  return sum;
}

int64_t result_size(const Planes& planes, int dim, bool transposes) {
  const ConvWindow& window = planes.options.window;
  const int64_t size = planes.input.shape[2 + dim];
  const int64_t reach = window.dilation[dim] * (planes.weight.shape[2 + dim] - 1);
  if (transposes) {
    return (size - 1) * window.stride[dim] - 2 * window.padding[dim] + reach + planes.options.output_padding[dim] + 1;
  }
  return (size + 2 * window.padding[dim] - reach - 1) / window.stride[dim] + 1;
}

Arrays conv_of(const Arrays& in, const ops::ConvOptions& options, bool transposes) {
  const Planes planes = {as_images(in[0]), as_images(in[1]), options};
  const int64_t filters = transposes ? planes.weight.shape[1] * options.groups : planes.weight.shape[0];
  Array out({planes.input.shape[0], filters, result_size(planes, 0, transposes), result_size(planes, 1, transposes)});
  int64_t i = 0;
  for_each_index(out.shape, [&](const Shape& at) {
    Sum sum = transposes ? transposed(planes, at) : convolved(planes, at);
    if (in.size() > 2) sum.add(in[2][at[1]]);
    out[i++] = sum.value();
    out.slack.push_back(sum.slack_in_order());
  });
  if (in[0].shape.rank() == 3) out.shape = {out.shape[0], out.shape[1], out.shape[3]};
  return {out};
}

OpCase conv_case(Op op, const char* what, ConvCall call, const ops::ConvOptions& options, std::vector<Shapes> shapes) {
  const bool transposes = op == Op::kConvTranspose1d || op == Op::kConvTranspose2d;
  return {
      .op = op,
      .what = what,
      .inputs = std::vector<OpInput>(shapes[0].size(), kFactor),
      .shapes = std::move(shapes),
      .run = [=](const Tensors& in) { return Tensors{call(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options)}; },
      .reference = [=](const Arrays& in) { return conv_of(in, options, transposes); }};
}

ops::ConvOptions along_lines(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  return {.window = {.stride = {1, stride}, .padding = {0, padding}, .dilation = {1, dilation}}, .groups = groups};
}

ops::ConvOptions with_output_padding(ops::ConvOptions options, int64_t width) {
  options.output_padding[1] = width;
  return options;
}

// A transpose with a kernel of 1 x 1 writes a larger image than it reads.
ops::ConvOptions pointwise_padded(int64_t height, int64_t width) {
  return {.window = {.dilation = {height + 1, width + 1}}, .output_padding = {height, width}};
}

// Height and width have different parameters.
constexpr ConvWindow kUneven = {.stride = {1, 2}, .padding = {1, 2}, .dilation = {2, 1}};

}  // namespace

std::vector<OpCase> conv_cases() {
  return {
      conv_case(Op::kConv1d, "", ops::conv1d, {},
                {{{0, 1, 3}, {1, 1, 2}}, {{1, 1, 1}, {1, 1, 1}}, {{1, 3, 5}, {2, 3, 3}}, {{3, 5, 2305}, {2, 5, 3}}}),
      conv_case(Op::kConv1d, "strided, with bias", ops::conv1d, along_lines(2, 1, 1, 1), {{{2, 3, 7}, {2, 3, 3}, {2}}}),
      conv_case(Op::kConv1d, "dilated in groups, with bias", ops::conv1d, along_lines(2, 2, 2, 2),
                {{{0, 4, 3}, {2, 2, 3}, {2}}, {{3, 4, 7}, {2, 2, 3}, {2}}, {{3, 6, 2305}, {4, 3, 5}, {4}}}),
      conv_case(Op::kConv2d, "", ops::conv2d, {},
                {{{0, 1, 3, 3}, {1, 1, 2, 2}},
                 {{1, 1, 1, 1}, {1, 1, 1, 1}},
                 {{1, 3, 5, 3}, {2, 3, 3, 2}},
                 {{2, 3, 3, 2}, {2, 3, 1, 1}},
                 {{2, 3, 75, 77}, {2, 3, 3, 3}}}),
      conv_case(Op::kConv2d, "uneven, with bias", ops::conv2d, {.window = kUneven},
                {{{2, 2, 5, 5}, {3, 2, 2, 3}, {3}}}),
      conv_case(
          Op::kConv2d, "uneven in groups, with bias", ops::conv2d, {.window = kUneven, .groups = 2},
          {{{0, 4, 5, 3}, {2, 2, 2, 3}, {2}}, {{3, 2, 5, 3}, {4, 1, 2, 3}, {4}}, {{2, 4, 65, 67}, {2, 2, 3, 5}, {2}}}),
      conv_case(Op::kConvTranspose1d, "", ops::conv_transpose1d, {},
                {{{0, 1, 3}, {1, 1, 2}}, {{1, 1, 1}, {1, 1, 1}}, {{1, 3, 5}, {3, 2, 3}}, {{1, 5, 7001}, {5, 1, 3}}}),
      conv_case(Op::kConvTranspose1d, "strided, with bias", ops::conv_transpose1d,
                with_output_padding(along_lines(3, 1, 1, 1), 2), {{{2, 3, 3}, {3, 2, 4}, {2}}}),
      conv_case(Op::kConvTranspose1d, "strided in groups, with bias", ops::conv_transpose1d,
                with_output_padding(along_lines(3, 1, 2, 2), 2),
                {{{0, 4, 3}, {4, 1, 3}, {2}}, {{3, 4, 5}, {4, 1, 3}, {2}}}),
      conv_case(Op::kConvTranspose2d, "", ops::conv_transpose2d, {},
                {{{0, 1, 3, 3}, {1, 1, 2, 2}},
                 {{1, 1, 1, 1}, {1, 1, 1, 1}},
                 {{1, 3, 5, 3}, {3, 2, 3, 2}},
                 {{1, 1, 181, 183}, {1, 2, 2, 1}}}),
      conv_case(Op::kConvTranspose2d, "uneven in groups, with bias", ops::conv_transpose2d,
                with_output_padding({.window = kUneven, .groups = 2}, 1),
                {{{0, 4, 5, 3}, {4, 1, 2, 3}, {2}}, {{3, 2, 5, 3}, {2, 2, 3, 3}, {4}}}),
      conv_case(Op::kConvTranspose1d, "pointwise with output padding", ops::conv_transpose1d, pointwise_padded(0, 1),
                {{{1, 2, 2}, {2, 1, 1}, {1}}, {{3, 2, 5}, {2, 3, 1}, {3}}}),
      conv_case(Op::kConvTranspose2d, "pointwise with output padding below", ops::conv_transpose2d,
                pointwise_padded(1, 0), {{{1, 1, 2, 2}, {1, 1, 1, 1}}, {{3, 2, 3, 4}, {2, 3, 1, 1}}}),
      conv_case(Op::kConvTranspose2d, "pointwise with output padding", ops::conv_transpose2d, pointwise_padded(1, 2),
                {{{1, 1, 2, 2}, {1, 1, 1, 1}}, {{2, 2, 17, 19}, {2, 3, 1, 1}}}),
      of_one_image(conv_case(Op::kConv1d, "", ops::conv1d, along_lines(2, 1, 1, 1), {Shapes(3)}),
                   {{{3, 7}, {2, 3, 3}, {2}}}),
      of_one_image(conv_case(Op::kConv2d, "", ops::conv2d, {.window = kUneven}, {Shapes(3)}),
                   {{{2, 5, 5}, {3, 2, 2, 3}, {3}}}),
      of_one_image(conv_case(Op::kConvTranspose1d, "", ops::conv_transpose1d, {}, {Shapes(2)}), {{{3, 5}, {3, 2, 3}}}),
      of_one_image(conv_case(Op::kConvTranspose2d, "", ops::conv_transpose2d, {}, {Shapes(2)}),
                   {{{3, 5, 3}, {3, 2, 3, 2}}}),
  };
}

}  // namespace halftone
