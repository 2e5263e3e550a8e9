// P6: a number, a text or a run of blanks that fills a header or an index is refused within 1.1 times the file and
// 64 MiB of memory: the reader keeps no text of it that it does not need. A process of its own reads each file.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checksum.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/index.h"
#include "checkpoint/resource_usage.h"
#include "checkpoint/safetensors_header.h"

namespace halftone::checkpoint {
namespace {

// Sanitizers check that a long token is refused, and cannot measure its memory.
constexpr size_t kBytes = kAnySanitizer ? 2'000'000 : 24'000'000;

// `lead`, then `piece` again and again.
struct LongToken {
  std::string lead;
  std::string piece;
};

std::vector<LongToken> tokens_after(const std::string& number_lead, const std::string& text_lead) {
  return {
      {number_lead, "1"},        {number_lead + "-", "1"},
      {number_lead + "0.", "1"}, {number_lead + "1e", "1"},
      {number_lead, " "},        {number_lead, "\n"},
      {text_lead, "x"},          {text_lead, "\\u0041"},
      {text_lead, "\\n"},        {text_lead, "\\ud83d\\ude00"},
      {text_lead, "\xc3\xa4"},   {text_lead.substr(0, text_lead.size() - 1), " "},
  };
}

class LargeTokensTest : public FileTest {
 protected:
  LargeTokensTest() : path_(path("large")) {}

  // In pieces, so that no process holds the text as a whole.
  static void for_each_piece(const LongToken& token, const std::function<void(const std::string&)>& take) {
    std::string many;
    while (many.size() + token.piece.size() <= 6000) many += token.piece;
    take(token.lead);
    for (size_t size = token.lead.size(); size < kBytes; size += many.size()) take(many);
  }

  static uint64_t size_of(const LongToken& token) {
    uint64_t size = 0;
    for_each_piece(token, [&](const std::string& piece) { size += piece.size(); });
    return size;
  }

  void write_header(const LongToken& token) {
    std::ofstream file(path_, std::ios::binary);
    const uint64_t size = size_of(token);
    for (int i = 0; i < 8; ++i) file.put(static_cast<char>(size >> (8 * i)));
    for_each_piece(token, [&](const std::string& piece) { file << piece; });
  }

  // Its checksum is right.
  void write_index(const LongToken& token) {
    std::ofstream file(path_, std::ios::binary);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    for_each_piece(token, [&](const std::string& piece) {
      file << piece;
      XXH3_128bits_update(&state, piece.data(), piece.size());
    });
    const XXH128_hash_t sum = XXH3_128bits_digest(&state);
    file << ",\"checksum\":\"" << hexadecimal(sum.high64) << hexadecimal(sum.low64) << "\"}";
  }

  template <class Read>
  void expect_refused_in_bounds(const LongToken& token, Read&& read) {
    const rusage used = used_by([&] { return code_of(read) == Code::kFormat ? 0 : 1; });
    if (kAnySanitizer) return;  // a sanitizer takes memory of its own
    EXPECT_LE(peak_bytes(used), 1.1 * kBytes + (64 << 20)) << token.lead << token.piece;
  }

  std::string path_;
};

// F28
TEST_F(LargeTokensTest, F28_P6_ATokenThatFillsAHeaderIsRefusedInBoundedMemory) {
  std::vector<LongToken> tokens = tokens_after(R"({"a":{"dtype":"U8","shape":[)", R"({"__metadata__":{"a":")");
  for (const char* text_lead : {R"({")", R"({"a":{")", R"({"a":{"dtype":")"}) tokens.push_back({text_lead, "x"});
  tokens.push_back({R"({"__metadata__":{"":"")", R"(,"":"")"});  // short tokens, but millions of them
  for (const LongToken& token : tokens) {
    write_header(token);
    expect_refused_in_bounds(token, [&] { read_safetensors_header(File::open(system_io(), path_)); });
  }
}

// F28
TEST_F(LargeTokensTest, F28_P6_ATokenThatFillsAnIndexIsRefusedInBoundedMemory) {
  const std::string front = R"({"format":"halftone-checkpoint","version":1,"step":1,)";
  std::vector<LongToken> tokens = tokens_after(front + R"("files":[)", front + R"("save_id":")");
  for (const char* text_lead : {R"(")", R"("tensors":[{"name":")", R"("scalars":[{"name":"a","text":")"}) {
    tokens.push_back({front + text_lead, "x"});
  }
  for (const LongToken& token : tokens) {
    write_index(token);
    expect_refused_in_bounds(token, [&] { read_index(system_io(), path_); });
  }
}

}  // namespace
}  // namespace halftone::checkpoint
