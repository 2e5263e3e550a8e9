#include "words.h"

typedef enum byte_kind { kSpace, kLetter, kDigit, kOther } byte_kind;

/* Unlike isalpha, does not depend on the locale. */
static byte_kind kind_of(unsigned char byte) {
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return kSpace;
  if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 128) return kLetter;
  return byte >= '0' && byte <= '9' ? kDigit : kOther;
}

static size_t run_end(const unsigned char* text, size_t begin, size_t end) {
  size_t i = begin + 1;
  while (i < end && kind_of(text[i]) == kind_of(text[begin])) ++i;
  return i;
}

size_t word_length(const unsigned char* text, size_t size) {
  const size_t end = size < kWordCapacity ? size : kWordCapacity;
  const int takes_blank = text[0] == ' ' && end > 1 && kind_of(text[1]) != kSpace;
  const size_t length = run_end(text, takes_blank ? 1 : 0, end);
  const int leaves_blank = length > 1 && length < size && kind_of(text[0]) == kSpace && !takes_blank &&
                           text[length - 1] == ' ' && kind_of(text[length]) != kSpace;
  return leaves_blank ? length - 1 : length;
}
