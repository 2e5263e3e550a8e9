#include "draw/markup.h"

#include <vector>

namespace halftone_report {
namespace {

unsigned char byte_of(std::string_view text, size_t place) { return static_cast<unsigned char>(text[place]); }

// The number of bytes of the character at the front of a text that is not empty; 0: it is no UTF-8.
size_t character_length(std::string_view text) {
  const unsigned char first = byte_of(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte_of(text, i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte_of(text, 1);
  // Overlong forms, surrogates, and beyond U+10FFFF.
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_wrong ? 0 : length;
}

// U+0000 to U+001F, U+007F to U+009F; U+2028 to U+202E and U+2066 to U+2069, which break lines or turn directions.
bool is_control(std::string_view character) {
  const unsigned char first = byte_of(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  const unsigned char last = byte_of(character, character.size() - 1);
  if (character.size() == 2) return first == 0xc2 && last < 0xa0;
  if (character.size() != 3 || first != 0xe2) return false;
  const unsigned char second = byte_of(character, 1);
  return (second == 0x80 && last >= 0xa8 && last <= 0xae) || (second == 0x81 && last >= 0xa6 && last <= 0xa9);
}

// Removes a character that can be shown from the front.
std::string_view take_character(std::string_view& text) {
  const size_t length = character_length(text);
  const std::string_view character = text.substr(0, length == 0 ? 1 : length);
  text.remove_prefix(character.size());
  return length == 0 || is_control(character) ? std::string_view("\ufffd") : character;
}

std::string_view entity_of(std::string_view character) {
  if (character == "<") return "&lt;";
  if (character == ">") return "&gt;";
  if (character == "&") return "&amp;";
  if (character == "\"") return "&quot;";
  if (character == "'") return "&#39;";
  return character;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) result += entity_of(take_character(text));
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) result += take_character(text);
  return result;
}

size_t length_of(std::string_view text) {
  size_t length = 0;
  for (; !text.empty(); ++length) take_character(text);
  return length;
}

std::string shortened(std::string_view text, size_t most) {
  std::vector<std::string_view> characters;
  while (!text.empty()) characters.push_back(take_character(text));
  const bool is_long = characters.size() > most;
  const size_t front = is_long ? most / 2 : characters.size();
  const size_t back = is_long ? most - front - 1 : 0;
  std::string result;
  for (size_t i = 0; i < front; ++i) result += characters[i];
  if (is_long) result += "\u2026";
  for (size_t i = characters.size() - back; i < characters.size(); ++i) result += characters[i];
  return result;
}

std::string element(std::string_view name, std::string_view css_class, std::string_view content) {
  std::string text = "<";
  text += name;
  if (!css_class.empty()) text.append(" class=\"").append(css_class).append("\"");
  return text.append(">").append(content).append("</").append(name).append(">");
}

}  // namespace halftone_report
