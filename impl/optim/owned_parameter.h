// A parameter as the optimizer that owns it sees it: claimed for the object's life, arranged as its group asks, with
// the moments that belong to it. Used by one thread at a time.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "autograd/parameter_set.h"
#include "autograd/weights/weight_representation.h"
#include "backend/chunks.h"

namespace halftone {

struct MomentSlot;  // backend/kernels/optim.h
struct UpdateSlot;

}  // namespace halftone

namespace halftone::optim {

// The storage of the weights that a group updates. Must match htone_master_storage in capi/include/halftone/optim.h.
enum class Master : int32_t {
  kFull = 0,   // an FP32 tensor, and a copy in compute_dtype
  kSplit = 1,  // bf16 and remainder; with compute_dtype bf16 only
  kNone = 2    // compute_dtype alone, bf16 or f16, rounded stochastically
};

// The dtypes in which a group keeps its parameters. Arithmetic is FP32 in every case.
struct Precision {
  DType compute_dtype = DType::kF32;  // of the copy for autocast; f32 keeps none
  DType grad_dtype = DType::kF32;
  DType moment1_dtype = DType::kF32;  // f32, bf16, or i8 for codes with a scale a block; of the third moment as well
  Master master = Master::kFull;
  DType moment2_dtype = DType::kF32;  // f32, or u8 for codes with a scale a block
  int64_t min_8bit_size = 0;          // a parameter with fewer elements keeps f32 in place of codes

  friend bool operator==(const Precision&, const Precision&) = default;
};

// The parameters of a group, and their precision.
struct ParameterGroup {
  std::vector<NamedParameter> parameters;
  Precision precision;
  const char* argument = "parameters";  // the C API's name of where the parameters come from, for messages
  // Provides the memory of moments, 1-D and contiguous, such as a range of a flat buffer; its content is overwritten.
  // Without it each moment is allocated on its own.
  std::function<Tensor(const Parameter& parameter, DType dtype, int64_t size)> moment_memory = {};
};

// The moments that a rule keeps for each parameter.
struct Moments {
  bool first = false;
  bool second = false;
  bool third = false;
  // true: a parameter with two or more dimensions keeps other moments. The first has one element for each row, the
  // second one for each column, and the third one for each matrix of the last two dimensions. Its update needs all of
  // it, so ranks cannot share it.
  bool factored = false;

  friend bool operator==(const Moments&, const Moments&) = default;
};

// One moment of one parameter's shard.
struct Moment {
  Tensor values;  // undefined where the group has no such moment
  Tensor scales;  // f32, one for each block of 256 elements; for 8-bit values only

  MomentSlot slot() const;
};

// The weights of a parameter's shard as kernels want them, without gradient and moments.
UpdateSlot weights_slot(const Parameter& parameter);

class OwnedParameter {
 public:
  // Throws STATE where the parameter has an optimizer, or is frozen.
  OwnedParameter(const NamedParameter& named, int32_t group, const char* argument);
  OwnedParameter(OwnedParameter&&) = default;
  // Gives the parameter free; its copy is no longer kept current.
  ~OwnedParameter();

  // The first, second and third moment.
  using MomentList = std::array<Moment, 3>;
  // All that the parameter is kept in as its group asks.
  struct Arrangement {
    Tensor grad;  // undefined: the next backward allocates it
    DType grad_dtype;
    WeightRepresentation weights;
    MomentList moments;
  };
  // Allocates it, with moments of zeros; the parameter stays as it is. Throws OUT_OF_MEMORY.
  Arrangement arrange(const ParameterGroup& group, const Moments& kept) const;
  // Keeps the parameter so, and its count of updates at `updates`, device memory. After every other of the group is
  // arranged, so that where that fails none has changed.
  void install(Arrangement arrangement, int64_t* updates) noexcept;

  const char* name() const noexcept { return named_.name.c_str(); }
  Parameter& parameter() const noexcept { return *named_.parameter; }
  const MomentList& moments() const noexcept { return moments_; }
  int64_t group() const noexcept { return group_; }
  int64_t* updates() const noexcept { return updates_; }
  // The range that is updated here, and its record for kernels. REQUIRES: the parameter has a gradient, and the state
  // is in memory.
  ChunkRange range() const;
  UpdateSlot slot(int32_t index) const;
  // The address of the gradient in slot().
  const void* grad_address() const;
  DType grad_dtype() const;

 private:
  // True if the gradient's memory of now, or its values, stay when its dtype becomes `grad_dtype`.
  bool keeps_gradient(DType grad_dtype) const;
  MomentList zero_moments(const ParameterGroup& group, const Moments& kept) const;
  Moment zero_moment(const ParameterGroup& group, int32_t number, DType dtype, const Shape& shape) const;
  WeightRepresentation weights_in(const Precision& precision) const;

  NamedParameter named_;
  int32_t group_;
  int64_t* updates_ = nullptr;
  MomentList moments_;
};

}  // namespace halftone::optim
