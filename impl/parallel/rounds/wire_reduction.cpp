#include "parallel/rounds/wire_reduction.h"

#include "tensor/factory.h"

namespace halftone::parallel {

bool WireReduction::advance() {
  work_.wait();
  if (wire_.storage() != flat_.storage()) copy(wire_, flat_);
  return true;
}

}  // namespace halftone::parallel
