#include "parallel/mesh/model_signature.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "autograd/weights/weights.h"
#include "core/error.h"

namespace halftone::parallel {
namespace {

std::string line_of(const char* kind, const std::string& name, const Shape& shape, DType dtype) {
  return std::string(kind) + " " + name + " " + ShapeText(shape).text + " " + name_of(dtype);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Line `index` of a text; "nothing" behind its end.
std::string_view line_at(std::string_view text, size_t index) {
  for (; index > 0 && !text.empty(); --index) text.remove_prefix(text.find('\n') + 1);
  return text.empty() ? "nothing" : text.substr(0, text.find('\n'));
}

// The texts of all ranks, also of the replicas. A text travels as numbers, eight characters in each.
std::vector<std::string> gather_texts(const Exchange& exchange, const std::string& own) {
  const int64_t length = static_cast<int64_t>(own.size());
  const CallOptions options = exchange.options(Purpose::kModel);
  const std::vector<int64_t> lengths = exchange.gather({&length, 1}, options);
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<int64_t> padded((static_cast<size_t>(longest) + sizeof(int64_t) - 1) / sizeof(int64_t));
  std::memcpy(padded.data(), own.data(), own.size());
  const std::vector<int64_t> all = exchange.gather(padded, options);
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < lengths.size(); ++rank) {
    const auto* const text = reinterpret_cast<const char*>(all.data() + rank * padded.size());
    texts.emplace_back(text, static_cast<size_t>(lengths[rank]));
  }
  return texts;
}

}  // namespace

void fail_difference(const Exchange& exchange, const std::vector<std::string>& own, const Difference& difference) {
  const std::vector<std::string> texts = gather_texts(exchange, joined(own));
  size_t first = 0;
  while (first + 1 < texts.size() && texts[first].empty()) ++first;
  size_t rank = first;
  while (rank + 1 < texts.size() && (texts[rank].empty() || texts[rank] == texts[first])) ++rank;
  size_t line = 0;
  while (texts[first] != texts[rank] && line_at(texts[first], line) == line_at(texts[rank], line)) ++line;
  const std::string expected(line_at(texts[first], line));
  const std::string other(line_at(texts[rank], line));
  fail(Code::kComm, difference.argument,
       "the %s of rank %zu differs from that of rank %zu: rank %zu has %s where rank %zu has %s", difference.subject,
       rank, first, rank, other.c_str(), first, expected.c_str());
}

std::vector<std::string> signature_of(const std::vector<NamedParameter>& parameters,
                                      const std::vector<nn::NamedBuffer>& buffers) {
  std::vector<std::string> lines;
  for (const NamedParameter& named : parameters) {
    const Parameter& parameter = *named.parameter;
    const char* kind = parameter.is_frozen() ? "frozen parameter" : "parameter";
    lines.push_back(line_of(kind, named.name, parameter.shape(), parameter.weights().tensor().dtype()));
  }
  for (const nn::NamedBuffer& buffer : buffers) {
    lines.push_back(line_of("buffer", buffer.name, buffer.tensor.shape(), buffer.tensor.dtype()));
  }
  return lines;
}

uint64_t hash_of(const std::vector<std::string>& signature) noexcept {
  uint64_t hash = signature.size();
  for (const std::string& line : signature) hash = mixed(mixed(hash, line.size()), line);
  return hash;
}

void compare_signatures(const Exchange& exchange, const std::vector<std::string>& signature) {
  const auto own = static_cast<int64_t>(hash_of(signature));
  const std::vector<int64_t> hashes = exchange.gather({&own, 1}, exchange.options(Purpose::kModel));
  const bool are_equal = std::all_of(hashes.begin(), hashes.end(), [&](int64_t hash) { return hash == hashes[0]; });
  if (!are_equal) fail_difference(exchange, signature, {.argument = "module", .subject = "model"});
}

void check_with_ranks(const Exchange& exchange, const std::vector<std::string>& parts,
                      const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& refusal) {
    std::vector<std::string> lines = parts;
    lines.push_back(std::string("refused: ") + refusal.what());
    try {
      compare_signatures(exchange, lines);
    } catch (const Error&) {
      // The others are told, or are gone; this rank's own error says more.
    }
    throw;
  }
}

}  // namespace halftone::parallel
