// Adafactor's running means of squared gradients by row and by column. The blocks of a parameter's chunks share its
// rows and columns evenly.
#include "cuda/optim/adafactor.h"

namespace halftone::cuda {
namespace {

// Which of a parameter's blocks this one is, and the tasks that its warps take.
struct Share {
  HALFTONE_DEVICE Share(const AdafactorSlot& of, const Chunk& chunk)
      : number(chunk.begin / kChunkSize), count((of.slot.size + kChunkSize - 1) / kChunkSize) {}
  HALFTONE_DEVICE int64_t first_of_warp() const { return number + count * warp_of_thread(); }
  HALFTONE_DEVICE int64_t step_of_warp() const { return count * kWarpsPerBlock; }
  HALFTONE_DEVICE int64_t first_of_thread() const { return number * kThreads + threadIdx.x; }
  HALFTONE_DEVICE int64_t step_of_thread() const { return count * kThreads; }
  int64_t number;
  int64_t count;
};

HALFTONE_DEVICE void average(const AdafactorSlot& of, double sum, int64_t count, float& mean) {
  mean = adafactor_mean(of.factors, mean, static_cast<float>(sum / static_cast<double>(count)));
}

// ---- Matrices of a tile or less, such as the kernels of a convolution: a thread takes one.

HALFTONE_DEVICE bool is_small(const AdafactorSlot& of) { return of.matrix_size() <= kBlockSize; }

HALFTONE_DEVICE void average_small_matrix(const AdafactorSlot& of, int64_t matrix) {
  const int64_t rows = of.slot.rows;
  const int64_t columns = of.slot.columns;
  const int64_t begin = matrix * of.matrix_size();
  double sum_of_rows = 0.0;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (int64_t i = 0; i < columns; ++i) sum += of.squared_gradient(begin + row * columns + i);
    float& mean = of.rows()[matrix * rows + row];
    average(of, sum, columns, mean);
    sum_of_rows += static_cast<double>(mean);
  }
  for (int64_t i = 0; i < columns; ++i) {
    double sum = 0.0;
    for (int64_t row = 0; row < rows; ++row) sum += of.squared_gradient(begin + row * columns + i);
    average(of, sum, rows, of.columns()[matrix * columns + i]);
  }
  of.means_of_rows()[matrix] = static_cast<float>(sum_of_rows / static_cast<double>(rows));
}

// ---- Larger matrices

// By a warp, a tile after the other.
HALFTONE_DEVICE void average_row(const AdafactorSlot& of, int64_t row) {
  double sum = 0.0;
  for (int64_t first = 0; first < of.slot.columns; first += kBlockSize) {
    const int count = clamped_count(of.slot.columns - first, kBlockSize);
    const int64_t begin = row * of.slot.columns + first;
    sum += sum_of_tile(count, [&](int64_t i) { return of.squared_gradient(begin + i); });
  }
  if (lane_of_thread() == 0) average(of, sum, of.slot.columns, of.rows()[row]);
}

// Rows that are read ahead for a column.
constexpr int kRowsAhead = 8;

// A lane takes a column of those that begin at `first` among the columns of all matrices.
HALFTONE_DEVICE void average_column(const AdafactorSlot& of, int64_t first) {
  const int64_t column = first + lane_of_thread();
  if (column >= of.matrices() * of.slot.columns) return;
  const int64_t matrix = column / of.slot.columns;
  const int64_t begin = matrix * of.matrix_size() + (column - matrix * of.slot.columns);
  double sum = 0.0;
  int64_t row = 0;
  for (; row + kRowsAhead <= of.slot.rows; row += kRowsAhead) {
    double squares[kRowsAhead];
#pragma unroll
    for (int k = 0; k < kRowsAhead; ++k) squares[k] = of.squared_gradient(begin + (row + k) * of.slot.columns);
#pragma unroll
    for (int k = 0; k < kRowsAhead; ++k) sum += squares[k];
  }
  for (; row < of.slot.rows; ++row) sum += of.squared_gradient(begin + row * of.slot.columns);
  average(of, sum, of.slot.rows, of.columns()[column]);
}

HALFTONE_KERNEL average_rows_and_columns(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for_each_chunk_of(pass, [&](const AdafactorSlot& of, const Chunk& chunk, int64_t) {
    if (!of.is_factored()) return;
    const Share share(of, chunk);
    if (is_small(of)) {
      for (int64_t i = share.first_of_thread(); i < of.matrices(); i += share.step_of_thread()) {
        average_small_matrix(of, i);
      }
      return;
    }
    const int64_t rows = of.matrices() * of.slot.rows;
    for (int64_t i = share.first_of_warp(); i < rows; i += share.step_of_warp()) average_row(of, i);
    const int64_t columns = of.matrices() * of.slot.columns;
    for (int64_t i = share.first_of_warp() * kWarp; i < columns; i += share.step_of_warp() * kWarp) {
      average_column(of, i);
    }
  });
}

// By a warp. REQUIRES: the rows' own means are done.
HALFTONE_DEVICE void average_of_rows(const AdafactorSlot& of, int64_t matrix) {
  const float* means = of.rows() + matrix * of.slot.rows;
  const double sum = sum_in_order(0.0, of.slot.rows, [&](int64_t row) { return static_cast<double>(means[row]); });
  if (lane_of_thread() == 0) of.means_of_rows()[matrix] = static_cast<float>(sum / static_cast<double>(of.slot.rows));
}

HALFTONE_KERNEL average_means_of_rows(AdafactorPass pass) {
  if (pass.is_skipped()) return;
  for_each_chunk_of(pass, [&](const AdafactorSlot& of, const Chunk& chunk, int64_t) {
    if (!of.is_factored() || is_small(of)) return;
    const Share share(of, chunk);
    for (int64_t i = share.first_of_warp(); i < of.matrices(); i += share.step_of_warp()) average_of_rows(of, i);
  });
}

}  // namespace

Status average_gradients(Stream& stream, const AdafactorPass& pass) noexcept {
  const Grid grid = grid_for_rows(pass.tensors.chunk_count, kThreads);
  Status status = launch(stream, grid, average_rows_and_columns, pass);
  return status.ok() ? launch(stream, grid, average_means_of_rows, pass) : status;
}

}  // namespace halftone::cuda
