// Runs conformance vectors through the public C interface and prints each failure. The exit status is 1 if a vector
// failed, if there were none, or if a handle was not released.
//   run_vectors FILE...
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>

#include "runner/topics.h"

namespace vectors {

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> numbers;
  for (const Json& entry : list) {
    numbers.push_back(entry.is_string() ? std::stod(entry.get<std::string>()) : entry.get<double>());
  }
  return numbers;
}

namespace {

using Topic = std::string (*)(htone_device*, const Json&);

struct Tally {
  int passed = 0, skipped = 0, failed = 0;
};

void run_one(Topic topic, htone_device* device, const Json& vector, Tally& tally) {
  const std::string name = vector["name"];
  try {
    const std::string reason = topic(device, vector);
    if (reason.empty()) {
      ++tally.passed;
    } else {
      ++tally.skipped;
      std::printf("skipped: %s: %s\n", name.c_str(), reason.c_str());
    }
  } catch (const std::exception& error) {
    ++tally.failed;
    std::printf("FAILED: %s: %s\n", name.c_str(), error.what());
  }
}

void run_file(const char* path, htone_device* device, Tally& tally) {
  static const std::map<std::string, Topic> topics = {{"casts", run_cast},           {"formats", run_format},
                                                      {"scalers", run_scaler},       {"optimizers", run_optimizer},
                                                      {"operations", run_operation}, {"scaled", run_scaled}};
  const Json file = Json::parse(std::ifstream(path));
  if (file["format"] != "halftone-vectors/1") throw Mismatch(std::string(path) + " is of another format");
  const Topic topic = topics.at(file["topic"]);
  for (const Json& vector : file["vectors"]) run_one(topic, device, vector, tally);
}

int run(int count, char** paths) {
  Tally tally;
  try {
    const Context context = make<Context>(htone_context_default);
    const Device device = make<Device>(htone_device_create, context.get(), "cpu");
    for (int i = 0; i < count; ++i) run_file(paths[i], device.get(), tally);
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    ++tally.failed;
  }
  int64_t left = 0;
  if (htone_debug_live_handles(&left) != HTONE_OK || left != 0) {
    std::printf("FAILED: %lld handles are left over\n", static_cast<long long>(left));
    ++tally.failed;
  }
  std::printf("%d vectors passed, %d skipped, %d failed\n", tally.passed, tally.skipped, tally.failed);
  return tally.passed > 0 && tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vectors

int main(int argc, char** argv) { return vectors::run(argc - 1, argv + 1); }
