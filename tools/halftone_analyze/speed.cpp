#include "speed.h"

#include <algorithm>

#include "text.h"

namespace halftone_analyze {

Speed speed_of(std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  const size_t quarter = rounds.size() / 4;
  return {rounds[quarter], rounds[2 * quarter], rounds[3 * quarter]};
}

std::string json_of(const Speed& speed) {
  return JsonObject().number("low", speed.low).number("median", speed.median).number("high", speed.high).done();
}

}  // namespace halftone_analyze
