#include "cuda/norm/affine_sums.h"
#include "cuda/norm/row_moments.h"
#include "cuda/reduce/terms.h"

namespace halftone::cuda {
namespace {

enum : int { kGrad, kX };

// Arguments of both kernels.
template <class C>
struct Sums {
  Places<2> places;
  Operands<2> views;
  int64_t rows;
  int64_t length;
  RowChannels channels;
  int64_t all_channels;
  double epsilon;
  RowStatisticsMemory moments;
  int64_t pieces;
  C* weight_sums;  // [pieces, all channels]; null for none
  C* bias_sums;

  HALFTONE_DEVICE int64_t first_row(int64_t piece) const { return rows * piece / pieces; }
  HALFTONE_DEVICE void store(int64_t piece, int64_t channel, C weight, C bias) const {
    const int64_t at = piece * all_channels + channel;
    if (weight_sums != nullptr) weight_sums[at] = weight;
    if (bias_sums != nullptr) bias_sums[at] = bias;
  }
};

// The sums of one channel so far.
template <class C>
struct Pair {
  C weight = 0;
  C bias = 0;
  HALFTONE_DEVICE void add(C grad, C normalised) {
    weight += grad * normalised;
    bias += grad;
  }
};

// ---- Rows whose elements are channels: a warp of threads takes 32 adjacent channels, and the warps of a block share
// the rows of a piece.

constexpr int kWarps = kThreads / kWarp;

// The rows row, row + kWarps, ... of a channel.
template <class C>
HALFTONE_DEVICE void add_rows(const Sums<C>& sums, int64_t row, int64_t channel, int count,
                              const Normaliser<C>* normalisers, Pair<C>& pair) {
  int64_t grads_at[kBatch], x_at[kBatch];
  C grads[kBatch], x[kBatch];
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    const int64_t of_row = k < count ? row + k * kWarps : row;
    const Offsets<2> offsets = offsets_at(sums.places, of_row * sums.length + channel);
    grads_at[k] = offsets.at[kGrad];
    x_at[k] = offsets.at[kX];
  }
  load_at(sums.views.at[kGrad], grads_at, grads);
  load_at(sums.views.at[kX], x_at, x);
#pragma unroll
  for (int k = 0; k < kBatch; ++k) {
    if (k < count) pair.add(grads[k], normalisers[k * kWarps](x[k]));
  }
}

// A block takes 32 channels of a piece; its threads compute what normalises 256 rows at a time.
template <class C>
HALFTONE_KERNEL sum_by_element(Sums<C> sums) {
  __shared__ Normaliser<C> normalisers[kThreads];
  __shared__ C of_warps[2][kWarps][kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t strips = (sums.length + kWarp - 1) / kWarp;
  for (int64_t block = blockIdx.x; block < strips * sums.pieces; block += gridDim.x) {
    const int64_t piece = block / strips;
    const int64_t channel = block % strips * kWarp + lane;
    const int64_t end = sums.first_row(piece + 1);
    Pair<C> pair;
    for (int64_t first = sums.first_row(piece); first < end; first += kThreads) {
      const int64_t own = first + threadIdx.x;
      __syncthreads();
      if (own < end) normalisers[threadIdx.x] = normaliser_of<C>(sums.moments.load(own), sums.epsilon);
      __syncthreads();
      const int64_t last = end < first + kThreads ? end : first + kThreads;
      for (int64_t row = first + warp; row < last && channel < sums.length; row += kBatch * kWarps) {
        const int64_t left = (last - row + kWarps - 1) / kWarps;
        add_rows(sums, row, channel, static_cast<int>(left < kBatch ? left : kBatch), normalisers + (row - first),
                 pair);
      }
    }
    of_warps[0][warp][lane] = pair.weight;
    of_warps[1][warp][lane] = pair.bias;
    __syncthreads();
    if (warp == 0 && channel < sums.length) {
      Pair<C> all;
      for (int w = 0; w < kWarps; ++w) {
        all.weight += of_warps[0][w][lane];
        all.bias += of_warps[1][w][lane];
      }
      sums.store(piece, channel, all.weight, all.bias);
    }
  }
}

// ---- Others: a block takes a channel of a piece, and its threads share each row's elements of the channel.

template <class C>
HALFTONE_DEVICE void add_elements(const Sums<C>& sums, int64_t row, int64_t first, Pair<C>& pair) {
  const Normaliser<C> normaliser = normaliser_of<C>(sums.moments.load(row), sums.epsilon);
  for (int64_t i = threadIdx.x; i < sums.channels.spatial; i += blockDim.x) {
    const Offsets<2> offsets = offsets_at(sums.places, row * sums.length + first + i);
    pair.add(load<C>(sums.views.at[kGrad], offsets.at[kGrad]), normaliser(load<C>(sums.views.at[kX], offsets.at[kX])));
  }
}

template <class C>
HALFTONE_KERNEL sum_by_channel(Sums<C> sums) {
  for (int64_t block = blockIdx.x; block < sums.pieces * sums.all_channels; block += gridDim.x) {
    const int64_t piece = block / sums.all_channels;
    const int64_t channel = block % sums.all_channels;
    const int64_t group = channel / sums.channels.count;
    const int64_t first_element = (channel - group * sums.channels.count) * sums.channels.spatial;
    const int64_t first = sums.first_row(piece);
    const int64_t groups = sums.channels.groups;
    Pair<C> pair;
    for (int64_t row = first + (group - first % groups + groups) % groups; row < sums.first_row(piece + 1);
         row += groups) {
      add_elements(sums, row, first_element, pair);
    }
    pair.weight = sum_block(pair.weight);
    pair.bias = sum_block(pair.bias);
    if (threadIdx.x == 0) sums.store(piece, channel, pair.weight, pair.bias);
  }
}

template <class C>
Status run(Stream& stream, const RowNorm& norm, const NormSaved& saved, const NormGrads& out) {
  const RowSet<2> set = row_set({&saved.grad_output, &saved.x}, norm.rows);
  const RowChannels channels = channels_of(norm, saved.x);
  const Sums<C> sums = {.places = set.places,
                        .views = set.views,
                        .rows = norm.rows,
                        .length = set.length,
                        .channels = channels,
                        .all_channels = channels.count * norm.groups,
                        .epsilon = norm.epsilon,
                        .moments = memory_of(saved.statistics, norm),
                        .pieces = out.pieces,
                        .weight_sums = static_cast<C*>(out.weight_sums.data),
                        .bias_sums = static_cast<C*>(out.bias_sums.data)};
  if (norm.spatial == 1 && norm.groups == 1) {
    const int64_t strips = (set.length + kWarp - 1) / kWarp;
    return launch(stream, grid_for_rows(strips * out.pieces, kThreads), sum_by_element<C>, sums);
  }
  const int threads = norm.spatial >= kThreads ? kThreads : (norm.spatial > 2 * kWarp ? 4 * kWarp : kWarp);
  return launch(stream, grid_for_rows(out.pieces * sums.all_channels, threads), sum_by_channel<C>, sums);
}

}  // namespace

Status affine_sums(Stream& stream, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) noexcept {
  if (out_grads.weight_sums.data == nullptr && out_grads.bias_sums.data == nullptr) return {};
  return with_float_type(saved.x.dtype, [&]<class C>() { return run<C>(stream, norm, saved, out_grads); });
}

}  // namespace halftone::cuda
