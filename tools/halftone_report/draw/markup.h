// Text of a record inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace halftone_report {

// The text as content or as an attribute in double quotes: no character of it is markup. Bytes that are no UTF-8, and
// characters that control a page or a terminal, become U+FFFD: an element that only looks like the text cannot hide.
std::string escaped(std::string_view text);
// Only the replacement of such bytes and characters: for a terminal.
std::string printable(std::string_view text);
// The number of characters of a text in UTF-8.
size_t length_of(std::string_view text);
// At most `most` characters: the middle of a longer text becomes an ellipsis, since names differ at both ends.
std::string shortened(std::string_view text, size_t most);
// <name class="class">content</name>; the content is markup.
std::string element(std::string_view name, std::string_view css_class, std::string_view content);

}  // namespace halftone_report
