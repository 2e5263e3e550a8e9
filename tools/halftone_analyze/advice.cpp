#include <utility>

#include "commands.h"
#include "hardware.h"
#include "machine.h"
#include "text.h"

namespace halftone_analyze {
namespace {

using NamedLine = std::pair<std::string_view, const AdviceLine*>;

std::vector<NamedLine> lines_of(const Hardware& hardware) {
  return {{"format", &hardware.format},
          {"recipe", &hardware.recipe},
          {"scaling", &hardware.scaling},
          {"alignment", &hardware.alignment},
          {"speed", &hardware.speed}};
}

std::string parts_of(const Storage& storage) {
  return "weights " + std::to_string(storage.weights) + " + copy " + std::to_string(storage.copy) + " + gradients " +
         std::to_string(storage.gradients) + " + AdamW's moments " + std::to_string(storage.moments);
}

std::string text_of(const Hardware& hardware) {
  std::string text = std::string(hardware.name) + ": " + std::string(hardware.description) + "\n";
  for (const auto& [name, line] : lines_of(hardware)) {
    text.append("  ").append(name).append(": ").append(line->value).append("\n    reason: ").append(line->reason);
    text.append("\n    source: ").append(line->source).append("\n");
  }
  text += "  bytes per parameter\n";
  for (const Storage& storage : hardware.storage) {
    text +=
        "    " + std::to_string(storage.bytes()) + ": " + std::string(storage.name) + ": " + parts_of(storage) + "\n";
  }
  return text.append("    source: ").append(kStorageSource).append("\n");
}

std::string json_of(const Storage& storage) {
  return JsonObject()
      .text("storage", storage.name)
      .whole("bytes", storage.bytes())
      .whole("weights", storage.weights)
      .whole("copy", storage.copy)
      .whole("gradients", storage.gradients)
      .whole("moments", storage.moments)
      .text("source", kStorageSource)
      .done();
}

JsonObject& add_hardware(JsonObject& object, const Hardware& hardware) {
  object.text("description", hardware.description);
  for (const auto& [name, line] : lines_of(hardware)) {
    object.raw(
        name, JsonObject().text("value", line->value).text("reason", line->reason).text("source", line->source).done());
  }
  std::vector<std::string> storage;
  for (const Storage& one : hardware.storage) storage.push_back(json_of(one));
  return object.number("speed_from", hardware.speed_from)
      .number("speed_to", hardware.speed_to)
      .raw("bytes_per_parameter", json_list(storage));
}

std::string json_of(const Machine& machine, const Measurement& measured) {
  JsonObject object;
  object.text("device", "this")
      .text("like", machine.like->name)
      .text("instruction_set", machine.instruction_set)
      .boolean("has_bf16_products", machine.has_bf16_products)
      .boolean("uses_bf16_products", machine.uses_bf16_products)
      .boolean("has_amx", machine.has_amx)
      .raw("fp32_gflops", json_of(measured.fp32))
      .raw("bf16_gflops", json_of(measured.bf16))
      .raw("ratio", json_of(measured.ratio))
      .boolean("agrees", agrees(measured, *machine.like));
  return add_hardware(object, *machine.like).done();
}

std::string text_of(std::string_view name, const Speed& speed) {
  return std::string(name) + " " + short_text(speed.median) + ", half of the rounds from " + short_text(speed.low) +
         " to " + short_text(speed.high) + "\n";
}

std::string text_of(const Machine& machine, const Measurement& measured) {
  const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
  return "this: the table's " + std::string(machine.like->name) + "\n  kernels for " + machine.instruction_set +
         "; products in BF16 " + yes(machine.has_bf16_products) + ", used " + yes(machine.uses_bf16_products) +
         "; AMX " + yes(machine.has_amx) + "\n  measured: " + text_of("fp32 GFLOP/s", measured.fp32) +
         "  measured: " + text_of("bf16 GFLOP/s", measured.bf16) +
         "  measured: " + text_of("bf16 / fp32", measured.ratio) +
         "  the table says: " + std::string(machine.like->speed.value) +
         (agrees(measured, *machine.like) ? "; the measurement agrees\n" : "; the measurement does not agree\n") +
         text_of(*machine.like);
}

}  // namespace

std::string advice(const Options& options) {
  std::vector<std::string> parts;
  const auto is_asked = [&](std::string_view name) { return options.device.empty() || options.device == name; };
  for (const Hardware& hardware : all_hardware()) {
    if (!is_asked(hardware.name)) continue;
    JsonObject object;
    object.text("device", hardware.name);
    parts.push_back(options.json ? add_hardware(object, hardware).done() : text_of(hardware));
  }
  if (is_asked("this")) {
    const Machine machine = this_machine();
    const Measurement measured = measure_formats();
    parts.push_back(options.json ? json_of(machine, measured) : text_of(machine, measured));
  }
  if (options.json) return JsonObject().raw("devices", json_list(parts, ",\n  ")).done() + "\n";
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "\n") + part;
  return text;
}

}  // namespace halftone_analyze
