#include "checkpoint/header_parser.h"

#include <cstdint>
#include <utility>

#include "core/error.h"

namespace halftone::checkpoint {

namespace {

struct DtypeName {
  const char* name;
  DType dtype;
};

constexpr DtypeName kDtypeNames[] = {
    {"F64", DType::kF64},        {"F32", DType::kF32},        {"F16", DType::kF16}, {"BF16", DType::kBF16},
    {"F8_E4M3", DType::kF8E4M3}, {"F8_E5M2", DType::kF8E5M2}, {"I64", DType::kI64}, {"I32", DType::kI32},
    {"I16", DType::kI16},        {"I8", DType::kI8},          {"U8", DType::kU8},   {"BOOL", DType::kBool},
};
// An entry takes ten times the memory of its shortest text, so a full header of them would break the memory bound.
constexpr size_t kMaxMetadata = size_t{1} << 18;

// Dtypes of the format that this library lacks.
constexpr const char* kForeignDtypes[] = {"U16", "U32", "U64", "C64", "F4", "F6_E2M3", "F6_E3M2", "F8_E8M0"};

// The bytes of a tensor, by the rule of checked_shape, so that no shape of a file is refused later as an argument: a
// size of 0 counts as 1, and an element as 8 bytes.
bool bytes_of(const int64_t* sizes, int rank, DType dtype, uint64_t* out) {
  uint64_t bound = 8;
  bool is_empty = false;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) is_empty = true;
    const uint64_t factor = sizes[i] == 0 ? 1 : static_cast<uint64_t>(sizes[i]);
    if (__builtin_mul_overflow(bound, factor, &bound) || bound > INT64_MAX) return false;
  }
  *out = is_empty ? 0 : bound / 8 * size_of(dtype);
  return true;
}

// The beginning of a name, for messages.
std::string shown(const std::string& name) { return name.size() <= 64 ? name : name.substr(0, 64) + "..."; }

}  // namespace

const char* safetensors_name(DType dtype) noexcept {
  for (const DtypeName& known : kDtypeNames) {
    if (known.dtype == dtype) return known.name;
  }
  return "";
}

void HeaderParser::refuse(const char* what) const {
  if (name_.empty()) fail(Code::kFormat, "", "%s is no safetensors file: %s", path_.c_str(), what);
  fail(Code::kFormat, "", "%s: tensor %s: %s", path_.c_str(), shown(name_).c_str(), what);
}

void HeaderParser::literal() { refuse("true, false or null where the format has none"); }
void HeaderParser::other_number() { refuse("a number that is no integer below 2^64"); }

void HeaderParser::integer(bool is_negative, uint64_t magnitude) {
  if (is_negative) refuse("a negative number");
  if (place_ == Place::kShape) {
    take_size(magnitude);
  } else if (place_ == Place::kOffsets) {
    take_offset(magnitude);
  } else {
    refuse("a number outside shape and data_offsets");
  }
}

void HeaderParser::text(std::string value) {
  if (place_ == Place::kMetadata) {
    if (header_.metadata.size() == kMaxMetadata) refuse("more than 2^18 texts in __metadata__");
    header_.metadata.emplace_back(std::exchange(name_, {}), std::move(value));
  } else if (place_ == Place::kTensor && member_ == kDtype) {
    take_dtype(value);
  } else {
    refuse("a text outside __metadata__ and dtype");
  }
}

// Names and metadata may be as long as the header. In a tensor's object only its keys and dtypes are allowed, and
// a name must be followed by an object.
size_t HeaderParser::longest_text() const {
  const bool is_name = place_ == Place::kTop && name_.empty();
  return is_name || place_ == Place::kMetadata ? kMaxHeaderBytes : sizeof "data_offsets";
}

void HeaderParser::begin_object() {
  if (place_ == Place::kBefore) {
    place_ = Place::kTop;
  } else if (place_ == Place::kTop && name_ == "__metadata__") {
    place_ = Place::kMetadata;
  } else if (place_ == Place::kTop) {
    begin_entry();
  } else {
    refuse("an object where the format has none");
  }
}

void HeaderParser::key(std::string value) {
  if (place_ == Place::kTensor) return begin_member(value);
  name_ = std::move(value);
  if (place_ == Place::kMetadata) return;
  if (name_.empty()) refuse("a tensor without a name");
  if (name_.find('\0') != std::string::npos) refuse("a zero byte in the name");
  if (name_ == "__metadata__" && std::exchange(has_metadata_, true)) refuse("__metadata__ is there twice");
}

void HeaderParser::end_object() {
  if (place_ == Place::kTensor) end_entry();
  place_ = place_ == Place::kTop ? Place::kAfter : Place::kTop;
  name_.clear();
}

void HeaderParser::begin_list() {
  if (place_ == Place::kTensor && member_ == Member::kShape) {
    place_ = Place::kShape;
  } else if (place_ == Place::kTensor && member_ == Member::kOffsets) {
    place_ = Place::kOffsets;
  } else {
    refuse("an array outside shape and data_offsets");
  }
}

void HeaderParser::end_list() {
  if (place_ == Place::kOffsets && offset_count_ != 2) refuse("data_offsets are not two");
  place_ = Place::kTensor;
}

void HeaderParser::begin_entry() {
  place_ = Place::kTensor;
  entry_ = {};
  entry_.first_size = static_cast<uint32_t>(header_.sizes.size());
  members_ = 0;
  offset_count_ = 0;
}

void HeaderParser::begin_member(const std::string& key) {
  if (key == "dtype") {
    member_ = kDtype;
  } else if (key == "shape") {
    member_ = Member::kShape;
  } else if (key == "data_offsets") {
    member_ = Member::kOffsets;
  } else {
    refuse("a key other than dtype, shape and data_offsets");
  }
  if ((members_ & member_) != 0) refuse("a key is there twice");
  members_ |= member_;
}

void HeaderParser::take_dtype(const std::string& name) {
  for (const DtypeName& known : kDtypeNames) {
    if (name == known.name) {
      entry_.dtype = known.dtype;
      return;
    }
  }
  for (const char* foreign : kForeignDtypes) {
    if (name == foreign) {
      fail(Code::kUnsupported, "", "%s: tensor %s: dtype %s is none of this library's", path_.c_str(),
           shown(name_).c_str(), foreign);
    }
  }
  refuse("a dtype that the format has not");
}

void HeaderParser::take_size(uint64_t size) {
  if (size > INT64_MAX) refuse("a size above 2^63");
  if (entry_.rank == kMaxRank) {
    fail(Code::kUnsupported, "", "%s: tensor %s: more than %d dimensions", path_.c_str(), shown(name_).c_str(),
         kMaxRank);
  }
  header_.sizes.push_back(static_cast<int64_t>(size));
  ++entry_.rank;
}

void HeaderParser::take_offset(uint64_t offset) {
  if (offset_count_ == 0) entry_.begin = offset;
  if (offset_count_ == 1) entry_.end = offset;
  if (++offset_count_ > 2) refuse("data_offsets are not two");
}

void HeaderParser::end_entry() {
  if (members_ != (kDtype | Member::kShape | Member::kOffsets)) refuse("dtype, shape or data_offsets is missing");
  uint64_t bytes;
  if (!bytes_of(header_.sizes.data() + entry_.first_size, entry_.rank, entry_.dtype, &bytes)) {
    refuse("more bytes than an address can tell");
  }
  if (entry_.end < entry_.begin) refuse("data_offsets run backwards");
  if (entry_.end - entry_.begin != bytes) refuse("data_offsets span other bytes than dtype and shape need");
  entry_.name = std::move(name_);
  header_.tensors.push_back(std::move(entry_));
}

}  // namespace halftone::checkpoint
