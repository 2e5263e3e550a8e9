#include "cuda/attention/operands.h"

#include <cmath>

namespace halftone::cuda {

AttentionShape attention_shape(const AttentionArgs& args) noexcept {
  AttentionShape shape;
  shape.batch_dims = args.q.rank() - 3;
  for (int d = 0; d < shape.batch_dims; ++d) {
    shape.batch_sizes[d] = args.q.shape[d];
    shape.batches *= args.q.shape[d];
  }
  const int at = shape.batch_dims;
  shape.heads = args.q.shape[at];
  shape.group = shape.heads / args.k.shape[at];
  shape.queries = args.q.shape[at + 1];
  shape.keys = args.k.shape[at + 1];
  shape.depth = args.q.shape[at + 2];
  shape.value_depth = args.v.shape[at + 2];
  shape.scale = args.settings.scale;
  shape.is_causal = args.settings.is_causal;
  shape.causal_offset = args.settings.causal_offset;
  const Dropout& dropout = args.settings.dropout;
  shape.drops = dropout.p > 0;
  shape.dropout_key = dropout.key;
  shape.dropout_threshold = static_cast<uint32_t>(std::ceil(dropout.p * 0x1p24));
  shape.dropout_scale = dropout.scale;
  shape.dropout_row = (shape.keys + kAttentionDropoutRow - 1) / kAttentionDropoutRow * kAttentionDropoutRow;
  return shape;
}

}  // namespace halftone::cuda
