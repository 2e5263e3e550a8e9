// One call of a case: inputs laid out in memory, and the operation run on them. Used from one thread.
#pragma once

#include <vector>

#include "laid_input.h"
#include "op_case.h"

namespace halftone {

// How the inputs of one call lie: input k in layouts[k % layouts.size()].
struct Arrangement {
  const char* name;
  std::vector<Layout> layouts;

  Layout of(size_t input) const { return layouts[input % layouts.size()]; }
  bool repeats() const;
};

// Those that make a difference for inputs of these shapes; few where there is much to compute.
std::vector<Arrangement> arrangements_for(const Shapes& shapes);

// What two threads compute together and one does not.
bool is_large(const Shapes& shapes);

inline DType dtype_of_input(const OpInput& input, DType dtype) { return is_valid(input.dtype) ? input.dtype : dtype; }
// Whether finite differences may move it.
inline bool leads_gradient(const OpInput& input, DType dtype) {
  return !is_valid(input.dtype) && is_float(dtype) && size_of(dtype) > 1;
}

Arrays draw_inputs(const OpCase& op_case, DType dtype, const Shapes& shapes, const Arrangement& arrangement);

class OpCall {
 public:
  OpCall(const OpCase& op_case, ContextDevice& device, DType dtype, const Arrays& inputs,
         const Arrangement& arrangement);

  // From now on inputs of the run's dtype are leaves.
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
