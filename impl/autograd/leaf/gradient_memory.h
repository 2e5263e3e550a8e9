// The owner of memory that gradients are delivered to, such as a flat buffer that ranks reduce; parallel/ implements
// it.
#pragma once

namespace halftone {

class GradientMemory {
 public:
  // The first gradient since the last was taken, or dropped, is about to be written. Makes the memory ready for it.
  // Throws OUT_OF_MEMORY.
  virtual void prepare() = 0;

 protected:
  ~GradientMemory() = default;
};

}  // namespace halftone
