// Swap space in a file without a name, which goes with the process. Slots are used by one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "offload/swap_space.h"
#include "runtime/context.h"

namespace halftone::offload {

class FileSpace final : public SwapSpace {
 public:
  // Makes the file in a directory, through the context's table for files. Throws IO; UNSUPPORTED naming "options" for a
  // device whose memory host code cannot read.
  FileSpace(ContextDevice& device, const std::string& directory);
  ~FileSpace() override;

  std::unique_ptr<SwapSlot> make_slot(size_t bytes) override;

 private:
  class Slot;
  struct Shared;

  // Shared with the slots, which may outlive this.
  std::shared_ptr<Shared> shared_;
};

}  // namespace halftone::offload
