// A list of parameters with all their optimizer arrays, in the layout of the update kernels. For the tests of these
// kernels.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "backend/chunks.h"
#include "backend/formula/split_master.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"

namespace halftone {

struct ParameterSpec {
  int64_t size;
  DType grad_dtype = DType::kF32;
  DType compute_dtype = DType::kBF16;
  bool has_compute = true;
  int32_t group = 0;
  DType moment1_dtype = DType::kF32;
  bool splits_master = false;
  DType moment2_dtype = DType::kF32;
  bool has_master = true;  // false: only 16-bit compute weights
  bool has_moment1 = true;
  bool has_moment3 = false;  // in moment1_dtype
  int64_t rows = 0;          // of each matrix of a parameter with two or more dimensions, for Adafactor
  int64_t columns = 0;

  int64_t blocks() const { return (size + kBlockSize - 1) / kBlockSize; }
};

struct Streams {
  Streams(const ParameterSpec& s, uint32_t seed)
      : spec(s),
        grad(s.grad_dtype, {s.size}),
        master(DType::kF32, {s.size}),
        compute(s.compute_dtype, {s.size}),
        remainder(DType::kI16, {s.size}),
        moment1(s.moment1_dtype, {s.size}),
        moment2(s.moment2_dtype, {s.size}),
        moment3(s.moment1_dtype, {s.size}),
        scales1(DType::kF32, {s.blocks()}),
        scales2(DType::kF32, {s.blocks()}),
        scales3(DType::kF32, {s.blocks()}) {
    master.fill_uniform(-1, 1, seed);
    for (int64_t i = 0; i < s.blocks(); ++i) {
      scales1.set(i, 0);
      scales2.set(i, 0);
      scales3.set(i, 0);
    }
    if (s.splits_master) split();
    for (int64_t i = 0; i < s.size && !s.has_master; ++i) compute.set(i, master.get(i));
    for (int64_t i = 0; i < s.size; ++i) {
      moment1.set(i, 0);
      moment2.set(i, 0);
      moment3.set(i, 0);
    }
  }

  // If the weights are split, the test reads them through `master`.
  void split() {
    for (int64_t i = 0; i < spec.size; ++i) {
      static_cast<uint16_t*>(compute.data())[i] = split_high(masters()[i]);
      static_cast<int16_t*>(remainder.data())[i] = split_remainder(masters()[i]);
    }
  }
  void join() {
    for (int64_t i = 0; i < spec.size; ++i) {
      masters()[i] = join_split(static_cast<uint16_t*>(compute.data())[i], static_cast<int16_t*>(remainder.data())[i]);
    }
  }
  float* masters() { return static_cast<float*>(master.data()); }
  std::array<const HostTensor*, 10> tensors() const {
    return {&grad, &master, &compute, &remainder, &moment1, &moment2, &moment3, &scales1, &scales2, &scales3};
  }
  MomentSlot slot1() {
    if (!spec.has_moment1) return {};
    return {moment1.data(), scales_or_null(moment1, scales1), spec.moment1_dtype};
  }
  MomentSlot slot2() { return {moment2.data(), scales_or_null(moment2, scales2), spec.moment2_dtype}; }
  MomentSlot slot3() {
    if (!spec.has_moment3) return {};
    return {moment3.data(), scales_or_null(moment3, scales3), spec.moment1_dtype};
  }
  static float* scales_or_null(const HostTensor& moment, const HostTensor& scales) {
    return size_of(moment.view().dtype) == 1 ? static_cast<float*>(scales.data()) : nullptr;
  }

  ParameterSpec spec;
  HostTensor grad, master, compute, remainder, moment1, moment2, moment3, scales1, scales2, scales3;
};

class ParameterList {
 public:
  static constexpr uint64_t kSeed = 17;

  explicit ParameterList(const std::vector<ParameterSpec>& specs, bool has_moments = true) {
    std::vector<int64_t> sizes;
    for (const ParameterSpec& spec : specs) {
      parameters_.push_back(std::make_unique<Streams>(spec, static_cast<uint32_t>(sizes.size()) + 1));
      sizes.push_back(spec.size);
      Streams& p = *parameters_.back();
      slots_.push_back({.grad = p.grad.data(),
                        .master = spec.splits_master || !spec.has_master ? nullptr : p.masters(),
                        .compute = spec.has_compute ? p.compute.data() : nullptr,
                        .remainder = spec.splits_master ? static_cast<int16_t*>(p.remainder.data()) : nullptr,
                        .moment1 = has_moments ? p.slot1() : MomentSlot{},
                        .moment2 = has_moments ? p.slot2() : MomentSlot{},
                        .moment3 = has_moments ? p.slot3() : MomentSlot{},
                        .grad_dtype = spec.grad_dtype,
                        .compute_dtype = spec.compute_dtype,
                        .size = spec.size,
                        .group = spec.group,
                        .parameter = static_cast<int32_t>(slots_.size()),
                        .seed = kSeed,
                        .first_block = 0,
                        .rows = spec.rows,
                        .columns = spec.columns});
    }
    chunks_ = plan_chunks(sizes);
  }

  MultiTensor<UpdateSlot> tensors() const {
    return {slots_.data(), chunks_.data(), static_cast<int64_t>(slots_.size()), static_cast<int64_t>(chunks_.size())};
  }
  std::vector<std::unique_ptr<Streams>>& parameters() { return parameters_; }

  void draw_gradients(uint32_t step, double low, double high) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i]->grad.fill_uniform(low, high, step * 31 + static_cast<uint32_t>(i));
    }
  }

  // The bytes of all arrays with their guards, in one vector.
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all;
    for (const auto& p : parameters_) {
      for (const HostTensor* tensor : p->tensors()) {
        all.insert(all.end(), tensor->bytes().begin(), tensor->bytes().end());
      }
    }
    return all;
  }
  bool guards_hold() const {
    for (const auto& p : parameters_) {
      for (const HostTensor* tensor : p->tensors()) {
        if (!tensor->guards_hold()) return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::unique_ptr<Streams>> parameters_;
  std::vector<UpdateSlot> slots_;
  std::vector<Chunk> chunks_;
};

// The copy of each weight is its master, rounded to the nearest.
inline void expect_copies_of_masters(ParameterList& list) {
  for (const auto& parameter : list.parameters()) {
    if (!parameter->spec.has_compute) continue;
    HostTensor rounded(parameter->spec.compute_dtype, {parameter->spec.size});
    for (int64_t i = 0; i < parameter->spec.size; ++i) rounded.set(i, parameter->master.get(i));
    EXPECT_EQ(parameter->compute.bytes(), rounded.bytes());
  }
}

// Sizes that no tile (256) and no chunk (16384) divides, each with other dtypes.
inline std::vector<ParameterSpec> mixed_parameters() {
  return {{1, DType::kF32, DType::kBF16, true, 0},
          {257, DType::kBF16, DType::kBF16, true, 1},
          {0, DType::kF32, DType::kF16, true, 0},
          {63, DType::kF16, DType::kF16, true, 1},
          {512, DType::kF32, DType::kF32, true, 0},
          {100, DType::kF32, DType::kF32, false, 1},
          {kChunkSize + 3, DType::kF32, DType::kBF16, true, 0}};
}

}  // namespace halftone
