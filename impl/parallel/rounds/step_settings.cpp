#include "parallel/rounds/step_settings.h"

#include <bit>
#include <charconv>

#include "parallel/mesh/model_signature.h"

namespace halftone::parallel {
namespace {

constexpr uint64_t kDigestLimit = (uint64_t{1} << 24) - 1;

std::string line_of(const UpdateSetting& setting) {
  char number[32] = {};  // the shortest text that no other number has
  std::to_chars(number, number + sizeof number - 1, setting.value);
  return "optimizer group " + std::to_string(setting.group) + " " + setting.name + "=" +
         (setting.word != nullptr ? setting.word : number);
}

}  // namespace

// Parameters of one optimizer follow one another, so each optimizer is listed once, or a few times on all ranks alike.
StepSettings StepSettings::of(const std::vector<NamedParameter>& parameters, bool with_position, int64_t rows) {
  StepSettings settings = {.of_rules = {}, .rows = rows};
  const UpdateRule* last = nullptr;
  for (const NamedParameter& named : parameters) {
    const UpdateRule* const rule = named.parameter->owner().rule();
    if (rule != nullptr && rule != last) rule->list_settings(with_position, settings.of_rules);
    last = rule;
  }
  return settings;
}

uint32_t StepSettings::digest() const noexcept {
  if (of_rules.empty() && rows == 0) return 0;
  uint64_t hash = static_cast<uint64_t>(rows);
  for (const UpdateSetting& setting : of_rules) {
    hash = mixed(mixed(hash, setting.group), std::string_view(setting.name));
    hash = setting.word != nullptr ? mixed(hash, std::string_view(setting.word))
                                   : mixed(hash, std::bit_cast<uint64_t>(setting.value));
  }
  return static_cast<uint32_t>(1 + hash % kDigestLimit);
}

std::vector<std::string> StepSettings::lines() const {
  std::vector<std::string> lines;
  if (of_rules.empty() && rows == 0) return lines;
  for (const UpdateSetting& setting : of_rules) lines.push_back(line_of(setting));
  if (rows != 0) lines.push_back(std::to_string(rows) + " rows in the batch");
  return lines;
}

void fail_different_settings(const Exchange& exchange, const StepSettings& own) {
  fail_difference(exchange, own.lines(), {.argument = "", .subject = "training step"});
}

}  // namespace halftone::parallel
