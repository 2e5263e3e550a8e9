#include "tensor/scalar_texts.h"

#include <charconv>
#include <type_traits>

namespace halftone {

namespace {

// A double has a point, an exponent, or is no number; so an integer is never taken for one. No locale is used.
std::string text_of(const StateScalar& scalar) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return value;
        } else {
          char digits[64];
          std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
          const bool is_double = std::is_same_v<Value, double>;
          return is_double && text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
        }
      },
      scalar);
}

template <class Number>
bool parse(const std::string& text, Number* out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc() && stop == end && !text.empty();
}

StateScalar scalar_of(const std::string& text) {
  int64_t whole = 0;
  double number = 0;
  if (parse(text, &whole)) return whole;
  if (parse(text, &number)) return number;
  return text;
}

}  // namespace

StateTexts texts_of_scalars(const StateDict& state, const std::string& lead) {
  StateTexts texts;
  for (const NamedScalar& scalar : state.scalars()) texts.emplace_back(lead + scalar.name, text_of(scalar.value));
  return texts;
}

void add_scalars(StateDict& state, const StateTexts& texts, const std::string& lead) {
  for (const auto& [key, text] : texts) {
    if (key.starts_with(lead) && key.size() > lead.size()) state.add(key.substr(lead.size()), scalar_of(text));
  }
}

}  // namespace halftone
