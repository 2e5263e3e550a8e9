// Checks the JSON of a safetensors header token by token against the format, and builds nothing but the header. Used by
// read_safetensors_header alone.
#pragma once

#include <string>

#include "checkpoint/safetensors_entries.h"
#include "core/text/json_reader.h"

namespace halftone::checkpoint {

class HeaderParser final : public JsonHandler {
 public:
  // `path` is for messages.
  HeaderParser(SafetensorsHeader& header, const std::string& path) : header_(header), path_(path) {}

  void literal() override;
  void integer(bool is_negative, uint64_t magnitude) override;
  void other_number() override;
  void text(std::string value) override;
  void key(std::string value) override;
  void begin_object() override;
  void end_object() override;
  void begin_list() override;
  void end_list() override;
  size_t longest_text() const override;

 private:
  enum class Place { kBefore, kTop, kMetadata, kTensor, kShape, kOffsets, kAfter };
  enum Member : uint8_t { kDtype = 1, kShape = 2, kOffsets = 4 };

  [[noreturn]] void refuse(const char* what) const;
  void begin_entry();
  void begin_member(const std::string& key);
  void take_dtype(const std::string& name);
  void take_size(uint64_t size);
  void take_offset(uint64_t offset);
  void end_entry();

  SafetensorsHeader& header_;
  const std::string& path_;
  Place place_ = Place::kBefore;
  std::string name_;      // of the tensor or the metadata that is being read
  TensorEntry entry_;     // the tensor that is being read,
  Member member_ = {};    // its member,
  uint8_t members_ = 0;   // those that it has so far,
  int offset_count_ = 0;  // and those of its offsets
  bool has_metadata_ = false;
};

}  // namespace halftone::checkpoint
