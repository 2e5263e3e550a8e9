// One call of a case: inputs in memory, and the operation run on them. Used from one thread.
#pragma once

#include <vector>

#include "laid_input.h"
#include "op_case.h"

namespace halftone {

// The memory layouts of the inputs of one call: input k has layouts[k % layouts.size()].
struct Arrangement {
  const char* name;
  std::vector<Layout> layouts;

  Layout of(size_t input) const { return layouts[input % layouts.size()]; }
  bool repeats() const;
};

// The arrangements that make a difference for inputs of these shapes. Large inputs get only a few.
std::vector<Arrangement> arrangements_for(const Shapes& shapes);

// True if two threads share the work.
bool is_large(const Shapes& shapes);

inline DType dtype_of_input(const OpInput& input, DType dtype) { return is_valid(input.dtype) ? input.dtype : dtype; }
// True if finite differences may change this input.
inline bool leads_gradient(const OpInput& input, DType dtype) {
  return !is_valid(input.dtype) && is_float(dtype) && size_of(dtype) > 1;
}

Arrays draw_inputs(const OpCase& op_case, DType dtype, const Shapes& shapes, const Arrangement& arrangement);

class OpCall {
 public:
  OpCall(const OpCase& op_case, ContextDevice& device, DType dtype, const Arrays& inputs,
         const Arrangement& arrangement);

  // After this call, inputs of the run's dtype are leaves.
  void require_gradients();
  Tensors run() const;

  const Tensor& input(size_t which) const { return inputs_[which].tensor(); }
  bool inputs_are_unchanged() const;

 private:
  const OpCase& case_;
  DType dtype_;
  std::vector<LaidInput> inputs_;
};

}  // namespace halftone
