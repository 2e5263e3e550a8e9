// Inputs of operations, and a recorder of their results, which have the same bits over every kind of group. For the
// tests of these kinds.
#pragma once

#include <cstddef>
#include <vector>

#include "host_tensor.h"
#include "ranks.h"

namespace halftone {

inline constexpr DType kAllDtypes[] = {DType::kF64,    DType::kF32,    DType::kF16, DType::kBF16,
                                       DType::kF8E4M3, DType::kF8E5M2, DType::kI64, DType::kI32,
                                       DType::kI16,    DType::kI8,     DType::kU8,  DType::kBool};
inline const std::vector<ReduceOp> kAllReductions = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin,
                                                     ReduceOp::kMax};

// Small numbers, which every dtype has.
inline HostTensor input_of(DType dtype, int64_t count, int rank) {
  HostTensor tensor(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>((i * 7 + rank * 13 + i / 5) % 11);
    tensor.set(i, is_float(dtype) ? (value - 5) * 0.3 : dtype == DType::kBool ? value > 5 : value);
  }
  return tensor;
}

using Bytes = std::vector<std::byte>;

// Runs operations one after another, and collects the bytes of their results.
class Recorder {
 public:
  explicit Recorder(ProcessGroup& group) : group_(group) {}

  template <class Start>
  void run(const HostTensor& out, Start&& start) {
    const Status status = result_of(start);
    EXPECT_TRUE(status.ok()) << status.message;
    EXPECT_TRUE(out.guards_hold());
    results_.push_back(out.bytes());
  }

  // `part` is the number of elements for each rank where a rank has some for every other.
  void run_all(DType dtype, int64_t count, int64_t part, const std::vector<ReduceOp>& ops) {
    const int size = group_.size();
    const HostTensor one = input_of(dtype, count, group_.rank());
    const HostTensor all = input_of(dtype, part * size, group_.rank());
    for (ReduceOp op : ops) {
      if (!is_float(dtype) && (op == ReduceOp::kAverage || (op == ReduceOp::kSum && dtype == DType::kBool))) continue;
      reduce(op, one, all);
    }
    const HostTensor gathered(dtype, {count * size});
    run(gathered, [&](Work** w) { return group_.all_gather({}, one.view(), gathered.view(), w); });
    const HostTensor exchanged(dtype, {part * size});
    run(exchanged, [&](Work** w) { return group_.all_to_all({}, all.view(), exchanged.view(), w); });
    for (int root : {0, size - 1}) {
      const HostTensor data = one;
      run(data, [&](Work** w) { return group_.broadcast({}, root, data.view(), w); });
    }
    if (size > 1) send_around(one, dtype);
    EXPECT_TRUE(barrier_of(group_).ok());
  }

  ProcessGroup& group() const { return group_; }
  const std::vector<Bytes>& results() const { return results_; }

 private:
  void reduce(ReduceOp op, const HostTensor& one, const HostTensor& all) {
    const HostTensor sum(one.view().dtype, one.view().shape);
    run(sum, [&](Work** w) { return group_.all_reduce({}, op, one.view(), sum.view(), w); });
    const HostTensor in_place = one;
    run(in_place, [&](Work** w) { return group_.all_reduce({}, op, in_place.view(), in_place.view(), w); });
    const HostTensor scattered(all.view().dtype, {all.numel() / group_.size()});
    run(scattered, [&](Work** w) { return group_.reduce_scatter({}, op, all.view(), scattered.view(), w); });
  }

  void send_around(const HostTensor& one, DType dtype) {
    const int size = group_.size();
    const int next = (group_.rank() + 1) % size;
    const int previous = (group_.rank() + size - 1) % size;
    const HostTensor received(dtype, one.view().shape);
    EXPECT_TRUE(result_of([&](Work** w) { return group_.send({}, next, one.view(), w); }).ok());
    run(received, [&](Work** w) { return group_.receive({}, previous, received.view(), w); });
  }

  ProcessGroup& group_;
  std::vector<Bytes> results_;
};

}  // namespace halftone
