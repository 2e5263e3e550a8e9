#include "comm/tcp_store/wire.h"

#include <algorithm>

namespace halftone {
namespace {

class Writer {
 public:
  template <class Number>
  void put(Number number) {
    static_assert(std::is_trivially_copyable_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  void put(const OptionalText& value) {
    put(static_cast<uint32_t>(value.exists));
    put(std::string_view(value.text));
  }
  std::string finish() {
    const uint32_t size = static_cast<uint32_t>(bytes_.size() - sizeof size);
    std::memcpy(bytes_.data(), &size, sizeof size);
    return std::move(bytes_);
  }

 private:
  std::string bytes_ = std::string(sizeof(uint32_t), '\0');
};

// After a failure every further read fails, too.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  bool take(Number* out) {
    if (bytes_.size() < sizeof *out) return fail();
    std::memcpy(out, bytes_.data(), sizeof *out);
    bytes_.remove_prefix(sizeof *out);
    return true;
  }
  bool take(std::string* out) {
    uint32_t size = 0;
    if (!take(&size) || bytes_.size() < size) return fail();
    out->assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool take(OptionalText* out) {
    uint32_t exists = 0;
    if (!take(&exists) || exists > 1) return fail();
    out->exists = exists == 1;
    return take(&out->text);
  }
  bool is_at_end() const { return is_good_ && bytes_.empty(); }

 private:
  bool fail() {
    is_good_ = false;
    bytes_ = {};
    return false;
  }

  std::string_view bytes_;
  bool is_good_ = true;
};

}  // namespace

std::string encode(const StoreRequest& request) {
  Writer writer;
  writer.put(static_cast<uint32_t>(request.call));
  writer.put(request.number);
  writer.put(static_cast<uint32_t>(request.keys.size()));
  for (const std::string& key : request.keys) writer.put(std::string_view(key));
  writer.put(request.value);
  writer.put(request.desired);
  return writer.finish();
}

std::string encode(const StoreReply& reply) {
  Writer writer;
  writer.put(static_cast<int32_t>(reply.status.code));
  writer.put(reply.status.native_code);
  writer.put(std::string_view(reply.status.ok() ? "" : reply.status.message));
  writer.put(reply.number);
  writer.put(std::string_view(reply.value));
  return writer.finish();
}

bool decode(std::string_view bytes, StoreRequest* out) {
  Reader reader(bytes);
  uint32_t call = 0;
  uint32_t keys = 0;
  if (!reader.take(&call) || call > static_cast<uint32_t>(StoreCall::kRemove)) return false;
  out->call = static_cast<StoreCall>(call);
  if (!reader.take(&out->number) || !reader.take(&keys)) return false;
  for (uint32_t i = 0; i < keys; ++i) {
    if (std::string key; reader.take(&key) && key.find('\0') == std::string::npos) {
      out->keys.push_back(std::move(key));
    } else {
      return false;
    }
  }
  if (!reader.take(&out->value) || !reader.take(&out->desired) || !reader.is_at_end()) return false;
  return out->call == StoreCall::kWait || out->keys.size() == 1;
}

bool decode(std::string_view bytes, StoreReply* out) {
  Reader reader(bytes);
  int32_t code = 0;
  std::string message;
  if (!reader.take(&code) || code < 0 || code > static_cast<int32_t>(Code::kNotFinite)) return false;
  if (!reader.take(&out->status.native_code) || !reader.take(&message)) return false;
  out->status.code = static_cast<Code>(code);
  const size_t length = std::min(message.size(), sizeof out->status.message - 1);
  std::memcpy(out->status.message, message.data(), length);
  out->status.message[length] = '\0';
  return reader.take(&out->number) && reader.take(&out->value) && reader.is_at_end();
}

}  // namespace halftone
