// The FP32-accumulating product as planned in plan.h: slabs of b, chunks of c, blocks of k. All depths are in words, at
// least one. Included once per instruction set by gemm.cpp. A Product belongs to one call; its chunks run on any thread
// of the pool.
#if defined(HALFTONE_GEMM_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_PRODUCT_INL_H_
#undef HALFTONE_GEMM_PRODUCT_INL_H_
#else
#define HALFTONE_GEMM_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "backend/geometry/gemm_operands.h"
#include "cpu/convert/quantize.h"
#include "cpu/gemm/codes-inl.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/epilogue-inl.h"
#include "cpu/gemm/microkernel-inl.h"
#include "cpu/gemm/pack-inl.h"
#include "cpu/gemm/plan.h"
#include "cpu/gemm/sums-inl.h"
#include "cpu/gemm/tf32.h"
#include "cpu/threads/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

constexpr TileShape kTile = {kTileRows, kTileColumns, kLanes};
constexpr bool kHasDotTile = kLanes == kDotLanes && kTileRows == kDotTileRows;

class Product {
 public:
  // `workspace` holds the slab, then each worker's packed a and scratch. All arguments outlive the Product.
  Product(const GemmArgs& args, const GemmPlan& plan, ThreadPool& pool, float* workspace)
      : args_(args), plan_(plan), pool_(pool), slab_(workspace), private_(workspace + plan.slab_size) {}

  void run() {
    for (int64_t column = 0; column < columns(); column += plan_.slab_columns) {
      const int64_t end = std::min(column + plan_.slab_columns, columns());
      pack_slab(column, end);
      multiply_slab(column, end);
    }
    if (args_.scales.amax != nullptr) *args_.scales.amax = std::bit_cast<float>(most_.load());
  }

 private:
  // Memory of one worker.
  struct Scratch {
    float* packed_a;
    float* sums;
  };
  // Rows of a as the microkernel reads them: tile i begins at data + i * tile_stride.
  struct RowTiles {
    const float* data;
    int64_t row_stride;
    int64_t depth_stride;
    int64_t tile_stride;
  };
  // One panel of b, of one block's depth.
  struct Panel {
    const float* data;
    int64_t depth_stride;
  };
  // A part of c: rows [row, row_end), columns [column, column_end).
  struct Region {
    int64_t row;
    int64_t row_end;
    int64_t column;
    int64_t column_end;
  };
  // A block of k.
  struct Depth {
    int64_t begin;
    int64_t size;
    bool is_first;
    bool is_last;
  };

  int64_t rows() const { return args_.c.shape[0]; }
  int64_t columns() const { return args_.c.shape[1]; }
  int64_t depth() const { return plan_.total_depth; }
  bool is_dot() const { return kHasDotTile && plan_.word_elements == kDotElements; }

  // Calls f<T>() with the type T of a packed operand's words.
  template <class F>
  void visit_words(DType dtype, F&& f) const {
    if constexpr (kHasDotTile) {
      if (is_dot()) return f.template operator()<BFloat16Pair>();
    }
    try_visit_dtype(OperandTypes{}, dtype, f);
  }
  // As visit_words, for an operand of codes.
  template <class F>
  void visit_code_words(F&& f) const {
    if constexpr (kHasDotTile) {
      if (is_dot()) return f.template operator()<BFloat16Pair>();
    }
    f.template operator()<float>();
  }

  // Words [p, p + size), as far as k goes, of lines [line, line_end) of a (line_dim 0) or b (line_dim 1).
  template <class T>
  Block<T> block_of(const View& view, int line_dim, int64_t line, int64_t line_end, int64_t p, int64_t size) const {
    const int64_t first = p * Block<T>::kElements;
    const int64_t elements = std::min(size * Block<T>::kElements, view.shape[1 - line_dim] - first);
    const int64_t depth_stride = view.strides[1 - line_dim];
    const ElementOf<T>* data = static_cast<const ElementOf<T>*>(view.data) + first * depth_stride;
    return {data, line, line_end - line, view.shape[line_dim], elements, view.strides[line_dim], depth_stride};
  }

  // As block_of, for an operand of codes.
  CodeBlock codes_of(CodeBlock codes, int64_t line, int64_t line_end, int64_t p, int64_t size) const {
    codes.cut(1 - codes.depth_dim, line, line_end - line);
    codes.cut(codes.depth_dim, p * plan_.word_elements, size * plan_.word_elements);
    return codes;
  }

  template <class F>
  void for_each_chunk(int64_t chunks, F&& f) {
    if (!plan_.is_small) return pool_.parallel_for(chunks, f);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) f(chunk, 0);
  }

  // ---- b

  static constexpr int64_t kPackColumns = 8 * kTileColumns;
  static constexpr int64_t kPackDepth = 256;

  // If b is read in place, only the columns after the last whole panel are packed; they belong to the last slab.
  void pack_slab(int64_t column, int64_t end) {
    const int64_t first = plan_.packs_b ? column : end - end % kTileColumns;
    const int64_t column_chunks = ceil_div(end - first, kPackColumns);
    for_each_chunk(column_chunks * ceil_div(depth(), kPackDepth), [&](int64_t chunk, int) HWY_ATTR {
      const int64_t begin = first + chunk % column_chunks * kPackColumns;
      const int64_t p = chunk / column_chunks * kPackDepth;
      const int64_t line_end = std::min(begin + kPackColumns, end);
      float* out = slab_ + (begin - first) * depth() + p * kTileColumns;
      if (is_codes(args_.b)) return pack_codes_of_b(begin, line_end, p, out);
      visit_words(args_.b.dtype, [&]<class T>() {
        pack_columns(block_of<T>(args_.b, 1, begin, line_end, p, kPackDepth), depth() * kTileColumns, out);
      });
      if (plan_.rounds_to_tf32) round_panels(out, line_end - begin, std::min(kPackDepth, depth() - p));
    });
  }

  void pack_codes_of_b(int64_t begin, int64_t end, int64_t p, float* out) const {
    const CodeBlock block = codes_of(code_block(args_.b, scales_of_b_, 0), begin, end, p, kPackDepth);
    visit_code_words([&]<class T>() { pack_columns_of_codes<T>(block, depth() * kTileColumns, out); });
  }

  void round_panels(float* packed, int64_t columns, int64_t words) const {
    for (int64_t column = 0; column < columns; column += kTileColumns) {
      round_words_to_tf32(packed + column * depth(), words * kTileColumns);
    }
  }

  Panel panel_at(int64_t column, int64_t slab_column, int64_t p) const {
    if (plan_.packs_b) return {slab_ + (column - slab_column) * depth() + p * kTileColumns, kTileColumns};
    if (column + kTileColumns > columns()) return {slab_ + p * kTileColumns, kTileColumns};
    const View& b = args_.b;
    return {static_cast<const float*>(b.data) + p * b.strides[0] + column, b.strides[0]};
  }

  // ---- a

  // The width of a panel of interleaved rows, in words.
  static constexpr int64_t kPanelWidth = (kTileRows + kLanes - 1) / kLanes * kLanes;

  RowTiles row_tiles(const Region& region, const Depth& block, float* packed) const {
    const View& a = args_.a;
    if (!plan_.packs_a) {
      const int64_t row_stride = a.strides[0] / plan_.word_elements;
      const float* data = static_cast<const float*>(a.data) + region.row * row_stride + block.begin * a.strides[1];
      return {data, row_stride, a.strides[1], kTileRows * row_stride};
    }
    const bool interleaves = a.strides[0] == 1 && a.strides[1] != 1;
    if (is_codes(a)) {
      pack_codes_of_a(region, block, packed);
    } else {
      visit_words(a.dtype, [&]<class T>() {
        const Block<T> part = block_of<T>(a, 0, region.row, region.row_end, block.begin, block.size);
        if (interleaves) {
          interleave_panels<kTileRows>(part, kPanelWidth * block.size, packed);
        } else {
          pack_rows(part, packed);
        }
      });
    }
    const int64_t tile_stride = interleaves ? kPanelWidth * block.size : kTileRows * padded_depth(block.size);
    if (plan_.rounds_to_tf32) {
      round_words_to_tf32(packed, ceil_div(region.row_end - region.row, kTileRows) * tile_stride);
    }
    if (interleaves) return {packed, 1, kPanelWidth, tile_stride};
    return {packed, padded_depth(block.size), 1, tile_stride};
  }

  void pack_codes_of_a(const Region& region, const Depth& block, float* packed) const {
    const CodeBlock part =
        codes_of(code_block(args_.a, scales_of_a_, 1), region.row, region.row_end, block.begin, block.size);
    visit_code_words([&]<class T>() {
      if (part.is_along_depth()) {
        pack_rows_of_codes<T>(part, packed);
      } else {
        interleave_rows_of_codes<T>(part, kPanelWidth, kPanelWidth * block.size, packed);
      }
    });
  }

  // ---- c

  void multiply_slab(int64_t column, int64_t end) {
    const int64_t row_chunks = ceil_div(rows(), plan_.chunk_rows);
    const int64_t column_chunks = ceil_div(end - column, plan_.chunk_columns);
    for_each_chunk(row_chunks * column_chunks, [&](int64_t chunk, int worker) HWY_ATTR {
      const int64_t row = chunk / column_chunks * plan_.chunk_rows;
      const int64_t first = column + chunk % column_chunks * plan_.chunk_columns;
      const Region region = {row, std::min(row + plan_.chunk_rows, rows()), first,
                             std::min(first + plan_.chunk_columns, end)};
      multiply_chunk(region, column, worker);
    });
  }

  void multiply_chunk(const Region& region, int64_t slab_column, int worker) {
    float* mine = private_ + static_cast<size_t>(worker) * (plan_.packed_a_size + plan_.scratch_size);
    const Scratch scratch = {mine, mine + plan_.packed_a_size};
    // One chunk of each row of chunks adds up the rows of a.
    if (args_.sums_of_a.data != nullptr && region.column == 0) return multiply_and_add_up(region, slab_column, scratch);
    for_each_depth([&](const Depth& block) HWY_ATTR { multiply_block(region, block, slab_column, scratch); });
  }

  // Not a part of multiply_chunk's frame: the caller's stack may be small.
  HWY_NOINLINE void multiply_and_add_up(const Region& region, int64_t slab_column, const Scratch& scratch) {
    float totals[kMaxChunkRows] = {};
    for_each_depth([&](const Depth& block) HWY_ATTR {
      add_sums(region, block, totals);
      multiply_block(region, block, slab_column, scratch);
    });
    store_sums(args_, region.row, region.row_end - region.row, totals);
  }

  template <class F>
  void for_each_depth(F&& f) {
    for (int64_t p = 0; p < depth(); p += plan_.depth) {
      f(Depth{p, std::min(plan_.depth, depth() - p), p == 0, p + plan_.depth >= depth()});
    }
  }

  void add_sums(const Region& region, const Depth& block, float* totals) const {
    const int64_t begin = block.begin * plan_.word_elements;
    const int64_t size = block.size * plan_.word_elements;
    try_visit_dtype(OperandTypes{}, args_.a.dtype, [&]<class T>() {
      add_sums_of_lines(block_of<T>(args_.a, 0, region.row, region.row_end, begin, size), totals);
    });
  }

  void multiply_block(const Region& region, const Depth& block, int64_t slab_column, const Scratch& scratch) {
    const RowTiles tiles = row_tiles(region, block, scratch.packed_a);
    const bool keeps_sums = !(block.is_first && block.is_last);
    float* sums = scratch.sums;
    for (int64_t column = region.column; column < region.column_end; column += kTileColumns) {
      const Panel panel = panel_at(column, slab_column, block.begin);
      const float* a = tiles.data;
      for (int64_t row = region.row; row < region.row_end; row += kTileRows) {
        const TilePlace place = {row, column, std::min<int64_t>(kTileRows, region.row_end - row),
                                 std::min<int64_t>(kTileColumns, region.column_end - column)};
        TileArgs tile = {a,    tiles.row_stride, tiles.depth_stride, panel.data, panel.depth_stride, block.size,
                         sums, kTileColumns,     !block.is_first};
        multiply_into_place(place, block, &tile);
        a += tiles.tile_stride;
        if (keeps_sums) sums += kTileRows * kTileColumns;
      }
    }
  }

  // Plain FP32 sums go directly to c, which also holds them between blocks of k.
  bool sums_in_place(const TilePlace& place) const {
    const View& c = args_.c;
    return c.dtype == DType::kF32 && !is_scaled_ && c.strides[1] == 1 && args_.bias.data == nullptr &&
           args_.residual.data == nullptr && args_.activation == GemmActivation::kNone && place.columns % kLanes == 0;
  }

  void multiply_into_place(const TilePlace& place, const Depth& block, TileArgs* tile) {
    const auto function_of = is_dot() ? dot_tile_function : tile_function;
    const TileFunction multiply = function_of(static_cast<int>(place.rows), static_cast<int>(place.columns));
    const bool in_place = sums_in_place(place);
    if (in_place) {
      tile->c = static_cast<float*>(args_.c.data) + place.row * args_.c.strides[0] + place.column;
      tile->c_row_stride = args_.c.strides[0];
      tile->add = !block.is_first || args_.store == Store::kAdd;
    }
    const bool finishes = !in_place && block.is_last;
    if (finishes) prefetch_rows(args_.c, place);
    if (finishes && args_.sum.data != nullptr) prefetch_rows(args_.sum, place);
    if (finishes && args_.argument.data != nullptr) prefetch_rows(args_.argument, place);
    multiply(*tile);
    if (!finishes) return;
    if (is_scaled_) {
      raise(most_, finish_scaled_tile(args_, place, tile->c));
    } else {
      finish_tile(args_, place, tile->c);
    }
  }

  const GemmArgs& args_;
  const GemmPlan& plan_;
  ThreadPool& pool_;
  float* slab_;
  float* private_;
  const BlockScales scales_of_a_ = code_scales_of_a(args_);
  const BlockScales scales_of_b_ = code_scales_of_b(args_);
  const bool is_scaled_ = (is_codes(args_.a) || is_codes(args_.b)) && scales_or_quantizes_sums(args_);
  std::atomic<uint32_t> most_{0};  // the largest magnitude of a scaled product so far
};

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
