#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/row_norm.cpp"
#include "cpu/device.h"
#include "cpu/norm/column_norm.h"
#include "cpu/norm/entries.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/norm/channels.h"
#include "cpu/norm/moments.h"
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// ---- The geometry of the rows

struct Rows {
  explicit Rows(const RowNorm& norm, const View& x)
      : count(norm.rows),
        length(x.numel() / norm.rows),
        spatial(norm.spatial),
        groups(norm.groups),
        channels(length / norm.spatial) {}
  Stretch stretch(int64_t offset, int64_t part) const { return {offset, part, spatial}; }
  // The values of one row's channels among those of all groups; null stays null.
  template <class C>
  C* of_row(C* values, int64_t row) const {
    return values == nullptr ? nullptr : values + row % groups * channels;
  }

  int64_t count;
  int64_t length;
  int64_t spatial;
  int64_t groups;
  int64_t channels;  // of one row
};

template <class C>
C* elements(const View& view) {
  return static_cast<C*>(view.data);
}

// ---- Forward

template <class C>
Moments row_moments(const RowNorm& norm, TileReader<C>& x, int64_t begin, int64_t length) {
  const auto read = [&](int64_t offset, int64_t part) { return x.read(begin + offset, part); };
  const auto sum = [&] {
    return sum_of_tiles<C>(length,
                           [&](int64_t offset, int64_t part, C* terms) { x.read_into(begin + offset, part, terms); });
  };
  const Moments moments = sum_moments<C, C>(norm.statistics, length, read, sum);
  if (!leaves_range<C>(moments.variance, norm.epsilon)) return moments;
  return moments_out_of_range<C>(norm.statistics, moments.variance, x, begin, length);
}

template <class C>
void normalise_row(TileReader<C>& x, const Normaliser<C>& row, const Rows& rows, const NormAffine& affine,
                   int64_t index, TileWriter<C>& out) {
  const C* weight = rows.of_row(elements<const C>(affine.weight), index);
  const C* bias = rows.of_row(elements<const C>(affine.bias), index);
  const int64_t begin = index * rows.length;
  for_each_tile<C>(rows.length, [&](int64_t offset, int64_t count) {
    C* tile = out.tile(begin + offset, count);
    row.normalise(x.read(begin + offset, count), count, tile);
    if (weight != nullptr) multiply_by_channel(rows.stretch(offset, count), weight, tile);
    if (bias != nullptr) add_by_channel(rows.stretch(offset, count), bias, tile);
    out.commit(begin + offset, count);
  });
}

// Writes a row of the sum, which stays in the cache for the passes that follow.
template <class C>
void add_row(TileReader<C>& x, TileReader<C>& residual, int64_t begin, int64_t length, TileWriter<C>& sum) {
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    const C* a = x.read(begin + offset, count);
    const C* b = residual.read(begin + offset, count);
    C* tile = sum.tile(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = a[i] + b[i];
    sum.commit(begin + offset, count);
  });
}

template <class C>
void forward_as(ThreadPool& pool, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) {
  const bool adds = input.residual.data != nullptr;
  const Rows rows(norm, input.x);
  const Layout x(input.x), residual(input.residual), sum(input.sum), to(out);
  for_each_row_range(pool, rows.count, rows.length, [&](int64_t first, int64_t last) {
    TileReader<C> x_reader(x), residual_reader(residual), reader(adds ? sum : x);
    TileWriter<C> sum_writer(sum), writer(to);
    for (int64_t index = first; index < last; ++index) {
      if (adds) add_row<C>(x_reader, residual_reader, index * rows.length, rows.length, sum_writer);
      if (norm.statistics != RowStatistics::kGiven) {
        set_moments(statistics, index, row_moments<C>(norm, reader, index * rows.length, rows.length));
      }
      const Normaliser<C> row(moments_at(statistics, norm, index), norm.epsilon);
      normalise_row<C>(reader, row, rows, affine, index, writer);
    }
  });
}

// ---- Backward
// With n the normalised row, g the result's gradient times the weight, and means over the row:
//   grad_input = rstd (g - mean(g) - n mean(g n))
// without mean(g) if no mean was subtracted, and without both if the statistics were given. The gradients of weight and
// bias are the sums over rows of grad_output n and grad_output.

// Reads the tiles of one row for backward.
template <class C>
class BackwardRow {
 public:
  struct Layouts {
    explicit Layouts(const NormSaved& saved) : grads(saved.grad_output), x(saved.x), grad_sum(saved.grad_sum) {}
    Layout grads, x, grad_sum;
  };
  // `to` is where input gradients are written.
  BackwardRow(const RowNorm& norm, const Rows& rows, const NormSaved& saved, const Layouts& layouts, const Layout& to)
      : norm_(norm),
        rows_(rows),
        saved_(saved),
        to_(to),
        grad_(layouts.grads),
        x_(layouts.x),
        grad_sum_(layouts.grad_sum) {}

  void move_to(int64_t index) {
    begin_ = index * rows_.length;
    row_ = Normaliser<C>(moments_at(saved_.statistics, norm_, index), norm_.epsilon);
    weight_ = rows_.of_row(elements<const C>(saved_.weight), index);
  }

  int64_t begin() const { return begin_; }
  int64_t length() const { return rows_.length; }
  C rstd() const { return row_.rstd; }
  // Multiplies a tile, computed with the scaled row's rstd, by the scale.
  void unscale(int64_t count, C* HWY_RESTRICT tile) const {
    const C scale = row_.scale;
    if (scale == C{1}) return;
    for (int64_t i = 0; i < count; ++i) tile[i] *= scale;
  }

  // The tile [offset, offset + count) of the row. Each function overwrites the tile that its last call returned.
  C* normalised(int64_t offset, int64_t count) {
    row_.normalise(x_.read(begin_ + offset, count), count, normalised_);
    return normalised_;
  }
  const C* grad(int64_t offset, int64_t count) { return grad_.read(begin_ + offset, count); }
  // Adds the gradient of the sum, if there is one, to a tile of `out`, which is rounded first: the gradients of a norm
  // and a sum that are computed apart are added after each was rounded, and these have the same bits.
  void add_sum_grad(int64_t offset, int64_t count, TileWriter<C>& out, C* tile) {
    if (saved_.grad_sum.data == nullptr) return;
    const int64_t begin = begin_ + offset;
    if (to_.dtype() != dtype_of<C>) {
      out.commit(begin, count);
      to_.for_each_run(begin, count,
                       [&](const Strided& in, int64_t first, int64_t part) { load_tile(in, part, tile + first); });
    }
    const C* more = grad_sum_.read(begin, count);
    for (int64_t i = 0; i < count; ++i) tile[i] += more[i];
  }
  const C* weighted_grad(int64_t offset, int64_t count) {
    const C* grads = grad(offset, count);
    if (weight_ == nullptr) return grads;
    std::copy(grads, grads + count, weighted_);
    multiply_by_channel(rows_.stretch(offset, count), weight_, weighted_);
    return weighted_;
  }

 private:
  const RowNorm& norm_;
  const Rows& rows_;
  const NormSaved& saved_;
  const Layout& to_;
  TileReader<C> grad_, x_, grad_sum_;
  int64_t begin_ = 0;
  Normaliser<C> row_{{0.0, 1.0}, 0.0};
  const C* weight_ = nullptr;  // of this row's channels; null for none
  alignas(64) C normalised_[kTileSize<C>];
  alignas(64) C weighted_[kTileSize<C>];
};

// The means over the row of the weighted gradient and of its product with the normalised row.
template <class C>
void row_means(BackwardRow<C>& row, C* mean, C* projection) {
  PairwiseSum<C, 2> sum;
  for_each_tile<C>(row.length(), [&](int64_t offset, int64_t count) {
    const C* n = row.normalised(offset, count);
    const C* g = row.weighted_grad(offset, count);
    C sums[2] = {sum_of_block<C>(count, [=](int64_t i) { return g[i]; }),
                 sum_of_block<C>(count, [=](int64_t i) { return g[i] * n[i]; })};
    sum.add(sums);
  });
  C totals[2];
  sum.total(totals);
  *mean = totals[0] / static_cast<C>(row.length());
  *projection = totals[1] / static_cast<C>(row.length());
}

// Given statistics do not depend on the row, so the gradient is that of a product.
template <class C>
void input_gradient_of_given(BackwardRow<C>& row, TileWriter<C>& out) {
  const C rstd = row.rstd();
  for_each_tile<C>(row.length(), [&](int64_t offset, int64_t count) {
    const C* g = row.weighted_grad(offset, count);
    C* HWY_RESTRICT tile = out.tile(row.begin() + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = rstd * g[i];
    row.unscale(count, tile);
    out.commit(row.begin() + offset, count);
  });
}

template <class C>
void input_gradient(BackwardRow<C>& row, RowStatistics statistics, TileWriter<C>& out) {
  if (statistics == RowStatistics::kGiven) return input_gradient_of_given(row, out);
  C mean, projection;
  row_means(row, &mean, &projection);
  if (statistics == RowStatistics::kMeanSquare) mean = C{0};
  const C rstd = row.rstd();
  for_each_tile<C>(row.length(), [&](int64_t offset, int64_t count) {
    const C* n = row.normalised(offset, count);
    const C* g = row.weighted_grad(offset, count);
    C* HWY_RESTRICT tile = out.tile(row.begin() + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = rstd * ((g[i] - mean) - n[i] * projection);
    row.unscale(count, tile);
    row.add_sum_grad(offset, count, out, tile);
    out.commit(row.begin() + offset, count);
  });
}

// Adds a row to the sums of its channels; null for a gradient that is not wanted.
template <class C>
void add_affine_gradients(BackwardRow<C>& row, const Rows& rows, C* weight_sums, C* bias_sums) {
  for_each_tile<C>(row.length(), [&](int64_t offset, int64_t count) {
    const Stretch stretch = rows.stretch(offset, count);
    const C* grads = row.grad(offset, count);
    if (bias_sums != nullptr) sum_by_channel(stretch, grads, bias_sums);
    if (weight_sums == nullptr) return;
    C* products = row.normalised(offset, count);
    for (int64_t i = 0; i < count; ++i) products[i] *= grads[i];
    sum_by_channel(stretch, products, weight_sums);
  });
}

// Clears and returns one piece's row of sums; null for none.
template <class C>
C* begin_sums(const View& sums, int64_t piece) {
  if (sums.data == nullptr) return nullptr;
  C* row = elements<C>(sums) + piece * sums.shape[1];
  std::fill(row, row + sums.shape[1], C{0});
  return row;
}

template <class C>
void backward_as(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) {
  const Rows rows(norm, saved.x);
  const typename BackwardRow<C>::Layouts layouts(saved);
  const Layout to(out_grads.input);
  pool.parallel_for(out_grads.pieces, [&](int64_t piece, int) {
    C* weight_sums = begin_sums<C>(out_grads.weight_sums, piece);
    C* bias_sums = begin_sums<C>(out_grads.bias_sums, piece);
    BackwardRow<C> row(norm, rows, saved, layouts, to);
    TileWriter<C> writer(to);
    const int64_t end = rows.count * (piece + 1) / out_grads.pieces;
    for (int64_t index = rows.count * piece / out_grads.pieces; index < end; ++index) {
      row.move_to(index);
      if (out_grads.input.data != nullptr) input_gradient(row, norm.statistics, writer);
      if (weight_sums == nullptr && bias_sums == nullptr) continue;
      add_affine_gradients(row, rows, rows.of_row(weight_sums, index), rows.of_row(bias_sums, index));
    }
  });
}

}  // namespace

void row_norm_forward(ThreadPool& pool, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                      const NormStatistics& statistics, const View& out) {
  const View& normalised = input.residual.data != nullptr ? input.sum : input.x;
  const bool wide = normalised.dtype == DType::kF64;
  (wide ? forward_as<double> : forward_as<float>)(pool, norm, input, affine, statistics, out);
}

void row_norm_gradients(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) {
  const bool wide = saved.x.dtype == DType::kF64;
  (wide ? backward_as<double> : backward_as<float>)(pool, norm, saved, out_grads);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(row_norm_forward);
HWY_EXPORT(row_norm_gradients);

Status row_norm(Stream& stream, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) noexcept {
  if (input.x.numel() == 0) return {};
  if (is_column_norm(norm, input.x)) {
    column_norm(pool_of(stream), norm, input.x, affine, statistics, out);
  } else {
    HWY_DYNAMIC_DISPATCH(row_norm_forward)(pool_of(stream), norm, input, affine, statistics, out);
  }
  return {};
}

Status row_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                         const NormGrads& out_grads) noexcept {
  if (saved.x.numel() == 0) return {};
  if (is_column_norm(norm, saved.x)) {
    column_norm_backward(pool_of(stream), norm, saved, out_grads);
  } else {
    HWY_DYNAMIC_DISPATCH(row_norm_gradients)(pool_of(stream), norm, saved, out_grads);
  }
  return {};
}

}  // namespace halftone::cpu
#endif
