// Operations that move the elements of images.
#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// out[at] = in[source(at)]
template <class ShapeOf, class Source>
OpCase image_case(Op op, const char* what, UnaryCall call, std::vector<Shapes> shapes, ShapeOf shape_of,
                  Source source) {
  return {.op = op,
          .what = what,
          .inputs = {{uniform(-2, 2)}},
          .shapes = std::move(shapes),
          .run = call_of_one(call),
          .reference =
              [=](const Arrays& in) {
                Array out(shape_of(in[0].shape));
                int64_t i = 0;
                for_each_index(out.shape, [&](const Shape& at) {
                  out[i++] = in[0][place_of(in[0].shape, source(at, in[0].shape))];
                });
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

// The last three sizes, counted from the end.
int64_t& from_end(Shape& shape, int place) { return shape[shape.rank() - place]; }

template <int64_t factor>
OpCase shuffle_case(std::vector<Shapes> shapes) {
  return image_case(
      Op::kPixelShuffle, "", [](const Tensor& x) { return ops::pixel_shuffle(x, factor); }, std::move(shapes),
      [](Shape shape) {
        from_end(shape, 3) /= factor * factor;
        from_end(shape, 2) *= factor;
        from_end(shape, 1) *= factor;
        return shape;
      },
      [](Shape at, const Shape&) {
        const int64_t y = from_end(at, 2), x = from_end(at, 1);
        from_end(at, 3) = (from_end(at, 3) * factor + y % factor) * factor + x % factor;
        from_end(at, 2) = y / factor;
        from_end(at, 1) = x / factor;
        return at;
      });
}

template <int64_t factor>
OpCase unshuffle_case(std::vector<Shapes> shapes) {
  return image_case(
      Op::kPixelUnshuffle, "", [](const Tensor& x) { return ops::pixel_unshuffle(x, factor); }, std::move(shapes),
      [](Shape shape) {
        from_end(shape, 3) *= factor * factor;
        from_end(shape, 2) /= factor;
        from_end(shape, 1) /= factor;
        return shape;
      },
      [](Shape at, const Shape&) {
        const int64_t channel = from_end(at, 3);
        from_end(at, 3) = channel / (factor * factor);
        from_end(at, 2) = from_end(at, 2) * factor + channel / factor % factor;
        from_end(at, 1) = from_end(at, 1) * factor + channel % factor;
        return at;
      });
}

// The last two dimensions of three: two and one elements before and after the one, one before the other, from whose end
// one is removed first.
const ops::Padding kEdges = {.before = {0, 2, 1}, .after = {0, 1, -1}};
const ops::Padding kNoEdges = {.before = {0, 0, 0}, .after = {0, 0, 0}};

template <class Source>
OpCase edge_case(Op op, UnaryCall call, Source source) {
  return image_case(
      op, "", call, {{{0, 3, 2}}, {{3, 5, 7}}, {{5, 3, 2305}}},
      [](Shape shape) {
        shape[1] += 3;
        return shape;
      },
      [=](Shape at, const Shape& shape) {
        at[1] = source(at[1] - 2, shape[1]);
        at[2] = source(at[2] - 1, shape[2] - 1);
        return at;
      });
}
OpCase edge_case_of_nothing(Op op, UnaryCall call) {
  return image_case(
      op, "by nothing", call, {{{1, 1, 1}}}, [](const Shape& shape) { return shape; },
      [](const Shape& at, const Shape&) { return at; });
}

int64_t mirrored(int64_t i, int64_t size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }
int64_t nearest(int64_t i, int64_t size) { return i < 0 ? 0 : i >= size ? size - 1 : i; }
int64_t around(int64_t i, int64_t size) { return (i + size) % size; }

// Height and width have different parameters.
constexpr ops::FoldOptions kFolds = {.kernel = {3, 3},
                                     .window = {.stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}}};

int64_t positions_of(const ops::FoldOptions& options, int dim, int64_t size) {
  const ConvWindow& window = options.window;
  return (size + 2 * window.padding[dim] - window.dilation[dim] * (options.kernel[dim] - 1) - 1) / window.stride[dim] +
         1;
}

// Calls visit(place in columns [n, c * kernel, positions], place in images [n, c, h, w]) for every element of every
// window that is inside its image.
template <class Visit>
void for_each_in_windows(const Shape& images, const ops::FoldOptions& options, Visit visit) {
  const int64_t rows = positions_of(options, 0, images[2]), columns = positions_of(options, 1, images[3]);
  const Shape all = {images[0], images[1], options.kernel[0], options.kernel[1], rows, columns};
  const ConvWindow& window = options.window;
  for_each_index(all, [&](const Shape& at) {
    const int64_t y = at[4] * window.stride[0] + at[2] * window.dilation[0] - window.padding[0];
    const int64_t x = at[5] * window.stride[1] + at[3] * window.dilation[1] - window.padding[1];
    if (y < 0 || y >= images[2] || x < 0 || x >= images[3]) return;
    visit(place_of(all, at), place_of(images, {at[0], at[1], y, x}));
  });
}

OpCase unfold_case(const char* what, const ops::FoldOptions& options, std::vector<Shapes> shapes) {
  return {.op = Op::kUnfold,
          .what = what,
          .inputs = {{uniform(-2, 2)}},
          .shapes = std::move(shapes),
          .run = call_of_one([=](const Tensor& x) { return ops::unfold(x, options); }),
          .reference =
              [=](const Arrays& in) {
                const Shape& shape = in[0].shape;
                Array out({shape[0], shape[1] * options.kernel[0] * options.kernel[1],
                           positions_of(options, 0, shape[2]) * positions_of(options, 1, shape[3])});
                for_each_in_windows(shape, options, [&](int64_t column, int64_t image) { out[column] = in[0][image]; });
                return Arrays{out};
              },
          .dtypes = Dtypes::kAll,
          .is_exact = true};
}

OpCase fold_case(const char* what, const ops::FoldOptions& options, int64_t height, int64_t width,
                 std::vector<Shapes> shapes) {
  return {.op = Op::kFold,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = std::move(shapes),
          .run = call_of_one([=](const Tensor& x) { return ops::fold(x, height, width, options); }),
          .reference = [=](const Arrays& in) {
            const Shape& shape = in[0].shape;
            Array out({shape[0], shape[1] / options.kernel[0] / options.kernel[1], height, width});
            std::vector<Sum> sums(out.values.size());
            for_each_in_windows(out.shape, options, [&](int64_t column, int64_t image) {
              sums[static_cast<size_t>(image)].add(in[0][column]);
            });
            for (size_t i = 0; i < sums.size(); ++i) {
              out.values[i] = sums[i].value();
              out.slack.push_back(sums[i].slack_in_order());
            }
            return Arrays{out};
          }};
}

OpCase columns_of_one_image() {
  OpCase result = fold_case("of one image", kFolds, 5, 7, {{{1, 27, 21}}});
  result.shapes = {{{27, 21}}};
  result.reference = [of_batch = result.reference](const Arrays& in) {
    Arrays batch = in;
    batch[0].shape = {1, 27, 21};
    Arrays out = of_batch(batch);
    out[0].shape = {3, 5, 7};
    return out;
  };
  return result;
}

}  // namespace

std::vector<OpCase> image_cases() {
  const Op reflect = Op::kPadReflect, replicate = Op::kPadReplicate, circular = Op::kPadCircular;
  return {
      shuffle_case<1>({{{1, 1, 1}}}),
      shuffle_case<3>({{{0, 9, 3, 2}}, {{9, 5, 7}}, {{2, 3, 18, 3, 5}}, {{1, 9, 61, 67}}}),
      unshuffle_case<1>({{{1, 1, 1}}}),
      unshuffle_case<3>({{{0, 2, 3, 3}}, {{5, 3, 9}}, {{2, 3, 2, 6, 3}}, {{1, 1, 183, 201}}}),
      edge_case(
          reflect, [](const Tensor& x) { return ops::pad_reflect(x, kEdges); }, mirrored),
      edge_case(
          replicate, [](const Tensor& x) { return ops::pad_replicate(x, kEdges); }, nearest),
      edge_case(
          circular, [](const Tensor& x) { return ops::pad_circular(x, kEdges); }, around),
      edge_case_of_nothing(reflect, [](const Tensor& x) { return ops::pad_reflect(x, kNoEdges); }),
      edge_case_of_nothing(replicate, [](const Tensor& x) { return ops::pad_replicate(x, kNoEdges); }),
      edge_case_of_nothing(circular, [](const Tensor& x) { return ops::pad_circular(x, kNoEdges); }),
      unfold_case("of single elements", {}, {{{1, 1, 1, 1}}}),
      unfold_case("uneven", kFolds, {{{0, 2, 5, 5}}, {{1, 3, 5, 7}}, {{2, 3, 75, 77}}}),
      of_one_image(unfold_case("", kFolds, {}), {{{3, 5, 7}}}),
      fold_case("of single elements", {}, 1, 1, {{{1, 1, 1}}}),
      fold_case("uneven", kFolds, 5, 7, {{{0, 9, 21}}, {{1, 27, 21}}, {{3, 9, 21}}, {{179, 9, 21}}}),
      fold_case("with gaps", {.kernel = {1, 2}, .window = {.stride = {2, 3}}}, 5, 8, {{{2, 2, 9}}}),
      columns_of_one_image(),
  };
}

}  // namespace halftone
