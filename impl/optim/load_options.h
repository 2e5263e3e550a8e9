// The settings of a load of an optimizer's state, and the parameters that it found. Plain data.
#pragma once

#include <string>
#include <vector>

namespace halftone::optim {

struct LoadOptions {
  bool strict = true;          // false: parameters are found by name, and those that only one side has are left alone
  bool keep_settings = false;  // the settings of the groups, and the factor of a plateau schedule, stay as they are
};

// Names of parameters with moments.
struct LoadReport {
  std::vector<std::string> loaded;
  std::vector<std::string> fresh;   // the state has no moments of them; they begin with zeros
  std::vector<std::string> unused;  // the state alone has moments of them
};

}  // namespace halftone::optim
