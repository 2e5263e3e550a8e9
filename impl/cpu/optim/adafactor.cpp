// Adafactor needs sums over a whole parameter before it can update one element, so each parameter takes four passes:
//   1. the squares of the weights, for their root mean square
//   2. the squares of the gradient by row and by column, and from them the running means
//   3. the squares of the steps, for their root mean square
//   4. the update
// Passes 1 and 3 leave one partial sum for each chunk, and these are added in the order of chunks. A row or a column is
// always summed by one thread. So the bits do not depend on the number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/optim/adafactor.cpp"
#include "cpu/optim/entries.h"

#include <algorithm>

#include "backend/formula/adafactor.h"
#include "backend/formula/rounding_key.h"
#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/weight_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// sums[i] += g^2 for a tile of a gradient.
HWY_INLINE void add_squares(const AdafactorFactors& factors, const float* HWY_RESTRICT grad, int64_t count,
                            double* HWY_RESTRICT sums) {
  const AdafactorFactors f = factors;
  for (int64_t i = 0; i < count; ++i) {
    const double g = adafactor_grad(f, grad[i]);
    sums[i] += g * g;
  }
}

double sum_of_squared_gradients(const AdafactorFactors& factors, const float* HWY_RESTRICT grad, int64_t count) {
  const AdafactorFactors f = factors;
  return sum_of_block<double>(count, [=](int64_t i) {
    const double g = adafactor_grad(f, grad[i]);
    return g * g;
  });
}

HWY_INLINE void average_squares(const AdafactorFactors& factors, const float* HWY_RESTRICT grad, int64_t count,
                                float* HWY_RESTRICT variance) {
  const AdafactorFactors f = factors;
  for (int64_t i = 0; i < count; ++i) {
    const float g = adafactor_grad(f, grad[i]);
    variance[i] = adafactor_mean(f, variance[i], g * g);
  }
}

HWY_INLINE void steps_of_tile(const AdafactorFactors& factors, const float* HWY_RESTRICT grad,
                              const float* HWY_RESTRICT variance, int64_t count, float* HWY_RESTRICT steps) {
  const AdafactorFactors f = factors;
  for (int64_t i = 0; i < count; ++i) steps[i] = adafactor_step(f, grad[i], variance[i]);
}

HWY_INLINE void update_tile(const AdafactorFactors& factors, float rate, const float* HWY_RESTRICT steps, int64_t count,
                            float* HWY_RESTRICT master) {
  const AdafactorFactors f = factors;
  for (int64_t i = 0; i < count; ++i) adafactor_update(f, rate, steps[i], master[i]);
}

// One parameter in a step.
class ParameterUpdate {
 public:
  // `chunks` are the parameter's, and `partials` has one number for each.
  ParameterUpdate(const UpdateSlot& slot, const AdafactorFactors& factors, int64_t step, const Chunk* chunks,
                  int64_t chunk_count, double* partials)
      : slot_(slot),
        factors_(factors),
        weight_key_(rounding_key(slot.seed, slot.parameter, step, Rounded::kWeight)),
        chunks_(chunks),
        chunk_count_(chunk_count),
        partials_(partials) {}

  void run(ThreadPool& pool) {
    const double squared_weights = sum_over_chunks(pool, &ParameterUpdate::squared_weights);
    const double scale = adafactor_scale(factors_, squared_weights, slot_.size);
    if (is_factored()) average_rows_and_columns(pool);
    const double squared_steps = sum_over_chunks(pool, &ParameterUpdate::squared_steps);
    rate_ = adafactor_rate(factors_, scale, squared_steps, slot_.size);
    pool.parallel_for(chunk_count_, [this](int64_t i, int) { update(chunks_[i]); });
  }

 private:
  bool is_factored() const { return slot_.columns > 0; }
  float* rows() const { return static_cast<float*>(slot_.moment1.data); }
  float* columns() const { return static_cast<float*>(slot_.moment2.data); }
  float* means_of_rows() const { return static_cast<float*>(slot_.moment3.data); }
  int64_t matrices() const { return slot_.size / (slot_.rows * slot_.columns); }

  double sum_over_chunks(ThreadPool& pool, double (ParameterUpdate::*sum_of)(const Chunk&)) {
    pool.parallel_for(chunk_count_, [&](int64_t i, int) { partials_[i] = (this->*sum_of)(chunks_[i]); });
    double sum = 0.0;
    for (int64_t i = 0; i < chunk_count_; ++i) sum += partials_[i];
    return sum;
  }

  // Calls f(i) for i below `count` on the pool. Each task handles enough items of `elements` elements to fill about one
  // chunk.
  template <class F>
  static void for_each(ThreadPool& pool, int64_t count, int64_t elements, F&& f) {
    const int64_t per_task = std::max(kChunkSize / std::max(elements, int64_t{1}), int64_t{1});
    pool.parallel_for((count + per_task - 1) / per_task, [&](int64_t task, int) {
      for (int64_t i = task * per_task; i < std::min((task + 1) * per_task, count); ++i) f(i);
    });
  }

  void average_rows_and_columns(ThreadPool& pool) {
    const int64_t size = slot_.rows * slot_.columns;
    if (size <= kBlockSize) {
      return for_each(pool, matrices(), size, [this](int64_t matrix) { average_small_matrix(matrix); });
    }
    const int64_t tiles = (slot_.columns + kBlockSize - 1) / kBlockSize;  // of the columns of a matrix
    for_each(pool, matrices() * slot_.rows, slot_.columns, [this](int64_t row) { average_row(row); });
    for_each(pool, matrices() * tiles, slot_.rows * std::min(slot_.columns, kBlockSize),
             [this, tiles](int64_t i) { average_columns(i / tiles, i % tiles * kBlockSize); });
    for_each(pool, matrices(), slot_.rows, [this](int64_t matrix) { average_of_rows(matrix); });
  }

  // means[i] takes a share of sums[i] / count.
  void average(const double* sums, int64_t size, int64_t count, float* means) const {
    for (int64_t i = 0; i < size; ++i) {
      means[i] = adafactor_mean(factors_, means[i], static_cast<float>(sums[i] / static_cast<double>(count)));
    }
  }

  // Such as a kernel of a convolution, of which a parameter has very many.
  void average_small_matrix(int64_t matrix) {
    const int64_t size = slot_.rows * slot_.columns;
    double of_rows[kBlockSize];
    double of_columns[kBlockSize];
    std::fill_n(of_rows, slot_.rows, 0.0);
    std::fill_n(of_columns, slot_.columns, 0.0);
    for_each_gradient_tile(slot_.grad, slot_.grad_dtype, {0, matrix * size, (matrix + 1) * size},
                           [&](const float* grad, int64_t, int64_t) {
                             for (int64_t row = 0; row < slot_.rows; ++row) {
                               const float* of_row = grad + row * slot_.columns;
                               add_row(of_row, of_rows[row], of_columns);
                             }
                           });
    average(of_rows, slot_.rows, slot_.columns, rows() + matrix * slot_.rows);
    average(of_columns, slot_.columns, slot_.rows, columns() + matrix * slot_.columns);
    average_of_rows(matrix);
  }

  // Adds the squares of a row to its own sum and to those of the columns.
  void add_row(const float* grad, double& sum, double* of_columns) const {
    for (int64_t i = 0; i < slot_.columns; ++i) {
      const double g = adafactor_grad(factors_, grad[i]);
      sum += g * g;
      of_columns[i] += g * g;
    }
  }

  void average_row(int64_t row) {
    double sum = 0.0;
    for_each_gradient_tile(
        slot_.grad, slot_.grad_dtype, {0, row * slot_.columns, (row + 1) * slot_.columns},
        [&](const float* grad, int64_t, int64_t count) { sum += sum_of_squared_gradients(factors_, grad, count); });
    average(&sum, 1, slot_.columns, rows() + row);
  }

  // At most kBlockSize columns of a matrix, from column `first` on.
  void average_columns(int64_t matrix, int64_t first) {
    alignas(64) double sums[kBlockSize] = {};
    const int64_t count = std::min(kBlockSize, slot_.columns - first);
    for (int64_t row = matrix * slot_.rows; row < (matrix + 1) * slot_.rows; ++row) {
      const int64_t begin = row * slot_.columns + first;
      for_each_gradient_tile(
          slot_.grad, slot_.grad_dtype, {0, begin, begin + count},
          [&](const float* grad, int64_t, int64_t tile_count) HWY_ATTR
          __attribute__((always_inline)) { add_squares(factors_, grad, tile_count, sums); });
    }
    average(sums, count, slot_.rows, columns() + matrix * slot_.columns + first);
  }

  void average_of_rows(int64_t matrix) {
    double sum = 0.0;
    for (int64_t row = matrix * slot_.rows; row < (matrix + 1) * slot_.rows; ++row) {
      sum += static_cast<double>(rows()[row]);
    }
    means_of_rows()[matrix] = static_cast<float>(sum / static_cast<double>(slot_.rows));
  }

  double squared_weights(const Chunk& chunk) {
    alignas(64) float tile[kBlockSize];
    double sum = 0.0;
    for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlockSize) {
      const int64_t count = std::min(kBlockSize, chunk.end - begin);
      sum += sum_of_squares(load_weights(slot_, begin, count, tile), count);
    }
    return sum;
  }

  // The variances of elements [begin, begin + count), in `tile` or where they are stored.
  const float* variances(int64_t begin, int64_t count, float* tile) const {
    if (!is_factored()) return rows() + begin;
    int64_t row = begin / slot_.columns, column = begin % slot_.columns;
    int64_t matrix = row / slot_.rows;
    for (int64_t i = 0; i < count; ++row, column = 0) {
      if (row == (matrix + 1) * slot_.rows) ++matrix;
      const int64_t part = std::min(count - i, slot_.columns - column);
      const float share = adafactor_row_share(factors_, rows()[row], means_of_rows()[matrix]);
      const float* of_columns = columns() + matrix * slot_.columns + column;
      for (int64_t k = 0; k < part; ++k) tile[i + k] = share * of_columns[k];
      i += part;
    }
    return tile;
  }

  // Also averages the variances if each element has its own.
  double squared_steps(const Chunk& chunk) {
    alignas(64) float variance_tile[kBlockSize];
    alignas(64) float steps[kBlockSize];
    double sum = 0.0;
    for_each_gradient_tile(
        slot_.grad, slot_.grad_dtype,
        chunk, [&](const float* grad, int64_t begin, int64_t count) HWY_ATTR __attribute__((always_inline)) {
          if (!is_factored()) average_squares(factors_, grad, count, rows() + begin);
          steps_of_tile(factors_, grad, variances(begin, count, variance_tile), count, steps);
          sum += sum_of_squares(steps, count);
        });
    return sum;
  }

  void update(const Chunk& chunk) {
    alignas(64) float variance_tile[kBlockSize];
    alignas(64) float steps[kBlockSize];
    alignas(64) float master_tile[kBlockSize];
    for_each_gradient_tile(
        slot_.grad, slot_.grad_dtype,
        chunk, [&](const float* grad, int64_t begin, int64_t count) HWY_ATTR __attribute__((always_inline)) {
          steps_of_tile(factors_, grad, variances(begin, count, variance_tile), count, steps);
          float* master = load_weights(slot_, begin, count, master_tile);
          update_tile(factors_, rate_, steps, count, master);
          const int64_t block = slot_.first_block + begin / kBlockSize;
          store_weights(master, begin, count, weight_key_, block, false, slot_);
        });
  }

  const UpdateSlot& slot_;
  AdafactorFactors factors_;
  PhiloxKey weight_key_;
  const Chunk* chunks_;
  int64_t chunk_count_;
  double* partials_;
  float rate_ = 0.0f;
};

}  // namespace

void adafactor_slots(ThreadPool& pool, const MultiTensor<UpdateSlot>& tensors, const AdafactorGroup* groups,
                     double* partials, const OptimizerState& state) {
  const Chunk* end = tensors.chunks + tensors.chunk_count;
  const auto update_slot = [&](int64_t index) {
    const auto before = [](const Chunk& chunk, int64_t slot) { return chunk.slot < slot; };
    const Chunk* first = std::lower_bound(tensors.chunks, end, index, before);
    const Chunk* last = std::lower_bound(first, end, index + 1, before);
    if (first == last) return;  // no elements
    const UpdateSlot& slot = tensors.slots[index];
    const AdafactorFactors factors = adafactor_factors(groups[slot.group], state, updates_of(slot, state));
    ParameterUpdate(slot, factors, state.step, first, last - first, partials + (first - tensors.chunks)).run(pool);
  };
  // Small parameters side by side, each on one thread: a run of the pool from within a task stays on its thread. Then
  // the large ones, one after another.
  const auto is_small = [&](int64_t index) { return tensors.slots[index].size <= kInlineElements; };
  pool.parallel_for(tensors.slot_count, [&](int64_t index, int) {
    if (is_small(index)) update_slot(index);
  });
  for (int64_t index = 0; index < tensors.slot_count; ++index) {
    if (!is_small(index)) update_slot(index);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(adafactor_slots);

Status adafactor(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const AdafactorGroup* groups, double* partials,
                 const OptimizerState* state) noexcept {
  if (state->found_inf != 0.0f) return {};
  HWY_DYNAMIC_DISPATCH(adafactor_slots)(pool_of(stream), tensors, groups, partials, *state);
  return {};
}

}  // namespace halftone::cpu
#endif
