// The events of a safetensors header's JSON, checked one by one against the few forms that the format has. Nothing is
// built but the header itself, no depth is followed that the format lacks. Used by read_safetensors_header alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/safetensors_header.h"

namespace halftone::checkpoint {

class HeaderParser final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // `path` is for messages.
  HeaderParser(SafetensorsHeader& header, const std::string& path) : header_(header), path_(path) {}

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool start_object(size_t count) override;
  bool key(string_t& value) override;
  bool end_object() override;
  bool start_array(size_t count) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& error) override;

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
  std::string name_;      // of the tensor or the text that is being read
  TensorEntry entry_;     // the tensor that is being read,
  Member member_ = {};    // its member,
  uint8_t members_ = 0;   // those that it has so far,
  int offset_count_ = 0;  // and those of its offsets
  bool has_metadata_ = false;
};

}  // namespace halftone::checkpoint
