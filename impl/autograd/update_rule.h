// The optimizer of a parameter, as the ranks see it that compare their settings. optim/ implements it.
#pragma once

#include <cstddef>
#include <vector>

namespace halftone {

// A setting of an optimizer, as a number or a word.
struct UpdateSetting {
  size_t group;
  const char* name;
  double value = 0;
  const char* word = nullptr;  // in place of the number
};

class UpdateRule {
 public:
  // Appends the settings that must be equal on all ranks; waits for no device. `with_position`: also the number of
  // steps, which decides a schedule's factor.
  virtual void list_settings(bool with_position, std::vector<UpdateSetting>& to) const = 0;

 protected:
  ~UpdateRule() = default;
};

}  // namespace halftone
