// Parts that the kernels of batch normalisation share: the views of a tensor by channel, and the table of what
// normalises each channel, which stays in the stream's scratch between launches.
#pragma once

#include "cuda/norm/row_moments.h"
#include "cuda/reduce/spread.h"

namespace halftone::cuda {

// The channels that the table holds: the four numbers that normalise an element, and two more in backward.
inline constexpr int64_t kMostColumns = static_cast<int64_t>((kScratchBytes - kPartialBytes) / (6 * sizeof(double)));

template <class C>
Normaliser<C>* column_table(Stream& stream) {
  return reinterpret_cast<Normaliser<C>*>(scratch_of(stream) + kPartialBytes);
}

// A number for each channel as a view beside x [channels, ...], whose offset is the channel.
inline View by_column(const View& x) {
  View view = {nullptr, DType::kF64, x.shape, {}};
  for (int i = 0; i < x.rank(); ++i) {
    view.shape[i] = i == 0 ? x.shape[0] : 1;
    view.strides.push_back(i == 0 ? 1 : 0);
  }
  return view;
}

// table[channel] = what normalises it.
template <class C>
HALFTONE_KERNEL column_table_kernel(RowStatisticsMemory moments, int64_t channels, double epsilon,
                                    Normaliser<C>* table) {
  for (int64_t i = first_item(); i < channels; i += item_step()) {
    table[i] = normaliser_of<C>(moments.load(i), epsilon);
  }
}

template <class C>
Status fill_column_table(Stream& stream, const NormStatistics& statistics, const RowNorm& norm) {
  return launch(stream, grid_for_items(device_of(stream), norm.rows), column_table_kernel<C>,
                memory_of(statistics, norm), norm.rows, norm.epsilon, column_table<C>(stream));
}

}  // namespace halftone::cuda
