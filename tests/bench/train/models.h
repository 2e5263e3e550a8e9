// The models of train_bench. Each is the same as in train_torch.py, so that both do the same work.
#pragma once

#include <halftone/htone.hpp>
#include <string>

namespace halftone::bench {

// One batch of training, always the same. The loss is cross entropy.
struct TrainTask {
  htone::Module module;
  htone::Tensor input;
  htone::Tensor target;  // [n] classes for logits that are reshaped to [n, classes]
  int64_t classes;
  int64_t items;  // of a batch
  const char* item;
  double flops;  // of the matrix products of a step, forward and backward; a multiply-add counts as two
};

// 784-1024-1024-10, batch 128.
TrainTask make_mlp(const htone::Device& device);
// 3 x 3 convolutions of 32 and 64 channels over 28 x 28, each with max pooling; then 128 and 10. Batch 128.
TrainTask make_cnn(const htone::Device& device);
// Six pre-norm layers of width 384 with six heads, learned positions, bytes; `batch` windows of `context` bytes.
TrainTask make_gpt_of(const htone::Device& device, int64_t context, int64_t batch);
// Context 256, batch 8.
TrainTask make_gpt(const htone::Device& device);

}  // namespace halftone::bench
