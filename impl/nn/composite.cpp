#include "nn/composite.h"

#include "nn/part_copies.h"

namespace halftone::nn {

void Composite::add_part(std::string name, Ref<Module> module) {
  const int depth = depth_with({&module, 1}, "options");
  parts_.push_back({std::move(name), std::move(module)});
  set_depth(depth);
}

void Composite::own_parts(Composite& made, PartCopies& parts) {
  for (Part& part : made.parts_) part.module = parts.module(*part.module, part.name);
}

}  // namespace halftone::nn
