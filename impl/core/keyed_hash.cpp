#include "core/keyed_hash.h"

#include <sys/auxv.h>

#include <bit>
#include <cstring>

namespace halftone {

namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

struct SipState {
  uint64_t v0, v1, v2, v3;

  explicit SipState(HashKey key) noexcept
      : v0(key.low ^ 0x736f6d6570736575),
        v1(key.high ^ 0x646f72616e646f6d),
        v2(key.low ^ 0x6c7967656e657261),
        v3(key.high ^ 0x7465646279746573) {}

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void add(uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }

  uint64_t finish() noexcept {
    v2 ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

uint64_t keyed_hash(HashKey key, std::string_view text) noexcept {
  SipState state(key);
  const size_t whole = text.size() / 8 * 8;
  uint64_t word = 0;
  for (size_t i = 0; i < whole; i += 8) {
    std::memcpy(&word, text.data() + i, 8);
    state.add(word);
  }
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  for (size_t i = whole; i < text.size(); ++i) {
    last |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * (i - whole));
  }
  state.add(last);
  return state.finish();
}

// Linux passes sixteen random bytes to every program, so no call is needed that could fail. If they are missing, the
// address of a variable has to do.
HashKey process_hash_key() noexcept {
  HashKey key;
  const auto* bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (bytes == nullptr) return {.low = reinterpret_cast<uintptr_t>(&key), .high = 0};
  std::memcpy(&key, bytes, sizeof key);
  // The bytes also seed the stack protector, so the key must not reveal them.
  return {.low = keyed_hash(key, "names, low"), .high = keyed_hash(key, "names, high")};
}

}  // namespace halftone
