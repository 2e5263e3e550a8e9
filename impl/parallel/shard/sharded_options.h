// The settings of a model whose state of training ranks share. Used by Sharded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "parallel/rounds/bucket_plan.h"
#include "parallel/shard/unit_rule.h"

namespace halftone::parallel {

// The part of the state of training that ranks share. Each includes those before it.
enum class Sharding : int32_t {
  kOptimizer = 1,  // ZeRO-1: moments, and masters where weights are gathered in 16 bits
  kGradients = 2,  // ZeRO-2
  kFull = 3        // ZeRO-3, FSDP: weights, too
};

// The place in which a rank keeps masters and moments while they are not used.
enum class Offload : int32_t {
  kNone = 0,  // on the device
  kHost = 1,
  kFile = 2
};

struct ShardedOptions {
  Sharding sharding = Sharding::kFull;
  UnitRule units;  // of kFull; the others have one unit
  // Of gathered weights of two or more dimensions; the others stay f32. kF8E4M3: sent as codes, read as bf16.
  DType weight_dtype = DType::kF32;
  std::optional<DType> wire_dtype;  // of gradients in messages; none: the gradients' own. E5M2 in one group alone
  bool has_error_feedback = true;   // of E5M2: what its codes lose of a gradient is added to the next one
  // The most of weights and gradients that are sent together, unless sharding is full; see pipelined.
  int64_t bucket_bytes = kBucketBytes;
  bool finds_unused = false;      // as ReplicateOptions
  int32_t most_units = 2;         // that are gathered at once, beside the model's own, before they are needed
  bool is_deterministic = false;  // as ReplicateOptions
  bool compares_batches = false;  // as ReplicateOptions
  // Each rank's own:
  Offload offload = Offload::kNone;
  std::string offload_directory;             // of kFile
  int64_t offload_page = int64_t{16} << 20;  // least bytes of masters that are brought together
};

// The units of all weights but the model's own are gathered for their use and released after it.
inline bool releases_weights(const ShardedOptions& options) noexcept { return options.sharding == Sharding::kFull; }

}  // namespace halftone::parallel
