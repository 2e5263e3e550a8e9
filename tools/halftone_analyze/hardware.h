// A table of hardware: what to train with there, why, and who says so. It is data alone.
#pragma once

#include <span>
#include <string_view>

namespace halftone_analyze {

struct AdviceLine {
  std::string_view value;
  std::string_view reason;
  std::string_view source;
};

// How weights, gradients and AdamW's moments are stored; in bytes for each parameter.
struct Storage {
  std::string_view name;
  int weights;  // what the optimizer updates
  int copy;     // 16-bit weights beside it
  int gradients;
  int moments;

  constexpr int bytes() const { return weights + copy + gradients + moments; }
};

struct Hardware {
  std::string_view name;
  std::string_view description;
  AdviceLine format;
  AdviceLine recipe;
  AdviceLine scaling;
  AdviceLine alignment;
  AdviceLine speed;
  // How many times as fast as FP32 products in the recommended format are: peaks of the source. For a CPU it is a claim
  // about this library's bf16 products.
  double speed_from;
  double speed_to;
  std::span<const Storage> storage;
};

std::span<const Hardware> all_hardware();
constexpr std::string_view kStorageSource = "halftone/optim.h, htone_master_storage";

}  // namespace halftone_analyze
