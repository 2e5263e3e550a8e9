#include "nn/summary.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "autograd/weights/weights.h"

namespace halftone::nn {

namespace {

// Elements and bytes of parameters.
struct Size {
  int64_t elements = 0;
  int64_t bytes = 0;

  void add(const Parameter& parameter) {
    const Weights& weights = parameter.weights();
    elements += weights.tensor().numel();
    for (const Tensor& part : {weights.master(), weights.compute(), weights.remainder()}) {
      if (part.defined()) bytes += part.numel() * static_cast<int64_t>(size_of(part.dtype()));
    }
  }
};

// Path, kind, parameters, elements, bytes. Numbers are right-aligned.
constexpr size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

std::string table(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      text += i < 3 ? row[i] + space : space + row[i];
      if (i + 1 < kColumns) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

class Summary {
 public:
  void add(const std::string& path, const Module& module) {
    std::vector<NamedParameter> own;
    module.append_parameters("", own);
    Size size;
    std::string parameters;
    for (const NamedParameter& named : own) {
      const Parameter& parameter = *named.parameter;
      parameters += (parameters.empty() ? "" : ", ") + named.name + " " +
                    name_of(parameter.weights().tensor().dtype()) + " " +
                    ShapeText(parameter.weights().tensor().shape()).text;
      size.add(parameter);
      if (!counted_.insert(&parameter).second) continue;
      total_.add(parameter);
      if (!parameter.is_frozen()) trainable_.add(parameter);
    }
    const bool has_size = !own.empty();
    rows_.push_back({path, module.kind(), parameters, has_size ? std::to_string(size.elements) : "",
                     has_size ? std::to_string(size.bytes) : ""});
    for (size_t i = 0; const Module* child = module.child(i); ++i) {
      add(path == kRoot ? module.child_name(i) : path + "." + module.child_name(i), *child);
    }
  }

  std::string text() const {
    return table(rows_) + std::to_string(total_.elements) + " parameters, " + std::to_string(trainable_.elements) +
           " of them trainable; " + std::to_string(total_.bytes) + " bytes\n";
  }

  static constexpr const char* kRoot = "(model)";

 private:
  std::vector<Row> rows_ = {{"layer", "kind", "parameters", "elements", "bytes"}};
  std::unordered_set<const Parameter*> counted_;
  Size total_, trainable_;
};

}  // namespace

std::string summary(const Module& module) {
  module.contents();  // refuses what is too deep or has too many paths
  Summary summary;
  summary.add(Summary::kRoot, module);
  return summary.text();
}

}  // namespace halftone::nn
