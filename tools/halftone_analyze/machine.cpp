#include "machine.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "product.h"

namespace halftone_analyze {
namespace {

// The library does not use AMX, and so does not describe it.
bool has_amx() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpus, line)) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "flags") continue;
    while (words >> word) {
      if (word == "amx_bf16") return true;
    }
    return false;
  }
  return false;
}

std::string_view hardware_name(const Machine& machine) {
  if (machine.has_amx && machine.has_bf16_products) return "amx";
  if (machine.has_bf16_products) return "avx512_bf16";
  if (machine.instruction_set == "AVX3") return "avx512";
  return machine.instruction_set == "AVX2" ? "avx2" : "cpu";
}

}  // namespace

Machine this_machine() {
  htone_cpu_features features = HTONE_CPU_FEATURES_INIT;
  check(htone_cpu_describe(&features));
  Machine machine = {features.instruction_set, features.has_bf16_products != 0, features.uses_bf16_products != 0,
                     has_amx(), nullptr};
  const auto all = all_hardware();
  machine.like = &*std::find_if(all.begin(), all.end(), [name = hardware_name(machine)](const Hardware& hardware) {
    return hardware.name == name;
  });
  return machine;
}

Measurement measure_formats() {
  Session session;
  constexpr ProductShape kShape = {512, 512, 512};
  const auto rounds = measure({Product(session, HTONE_F32, kShape), Product(session, HTONE_BF16, kShape)});
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds[0].size(); ++i) ratios.push_back(rounds[1][i] / rounds[0][i]);
  return {speed_of(rounds[0]), speed_of(rounds[1]), speed_of(ratios)};
}

bool agrees(const Measurement& measurement, const Hardware& claim) {
  return measurement.ratio.high >= claim.speed_from * (1 - kTolerance) &&
         measurement.ratio.low <= claim.speed_to * (1 + kTolerance);
}

}  // namespace halftone_analyze
