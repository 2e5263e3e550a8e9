#include "comm/nccl/board.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace halftone::nccl {
namespace {

// Ranks whose deadlines are about the same give up within this time.
constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kPause{10};
constexpr size_t kMostNamed = 8;
// Calls that stay in the store. No rank is so far behind another in operations that wait for each other.
constexpr uint64_t kKeptCalls = 1024;

// In the store, as it is in memory: all ranks are of one build.
struct Call {
  int64_t rank;
  Header header;
};

}  // namespace

Board::Board(const GroupOptions& options)
    : store_(options.size > 1 ? options.store : nullptr),
      name_(options.name),
      names_(options),
      rank_(options.rank),
      size_(options.size) {}

Notice Board::settle(const Notice& own) noexcept {
  if (store_ == nullptr) return own;
  int32_t swapped = 0;
  Notice first;
  const std::string place = key("abort");
  if (!store_->compare_set(place.c_str(), {}, {.data = &own, .bytes = sizeof own}, &swapped).ok()) return own;
  return swapped == 0 && read_notice(&first) ? first : own;
}

bool Board::read_notice(Notice* out) noexcept {
  size_t bytes = 0;
  return store_ != nullptr && store_->get(key("abort").c_str(), 0, out, sizeof *out, &bytes).ok() &&
         bytes == sizeof *out;
}

// Messages of two ranks have numbers of their own.
std::string Board::key_of_call(const Header& header, int32_t peer) const {
  std::string text = key("call");
  const bool is_sender = header.operation == Operation::kSend;
  if (is_sender || header.operation == Operation::kReceive) {
    text.append("/").append(std::to_string(is_sender ? rank_ : peer));
    text.append("-").append(std::to_string(is_sender ? peer : rank_));
  }
  return text.append("/").append(std::to_string(header.sequence));
}

// A store that fails tells nothing about the calls.
Status Board::compare_call(const Header& own, int32_t peer) noexcept {
  if (store_ == nullptr) return {};
  const Call call{.rank = rank_, .header = own};
  const std::string place = key_of_call(own, peer);
  int32_t swapped = 0;
  if (!store_->compare_set(place.c_str(), {}, {.data = &call, .bytes = sizeof call}, &swapped).ok()) return {};
  if (swapped == 1) {
    Header old = own;
    old.sequence -= std::min(old.sequence, kKeptCalls);
    int32_t existed = 0;
    if (old.sequence > 0) static_cast<void>(store_->remove(key_of_call(old, peer).c_str(), &existed));
    return {};
  }
  Call first{};
  size_t bytes = 0;
  const Status status = store_->get(place.c_str(), 0, &first, sizeof first, &bytes);
  if (!status.ok() || bytes != sizeof first || first.rank == rank_) return {};
  const int32_t other = static_cast<int32_t>(first.rank);
  // compare() expects the receiver first.
  if (own.operation == Operation::kSend) return compare(other, first.header, rank_, own, names_);
  return compare(rank_, own, other, first.header, names_);
}

std::vector<int32_t> Board::find_missing(uint64_t position) noexcept {
  std::vector<int32_t> missing;
  if (store_ == nullptr) return missing;
  const auto place = [&](int32_t rank) { return key("given_up").append("/").append(std::to_string(rank)); };
  static_cast<void>(store_->set(place(rank_).c_str(), {.data = &position, .bytes = sizeof position}));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (int32_t rank = 0; rank < size_ && missing.size() < kMostNamed; ++rank) {
    uint64_t other = 0;
    size_t bytes = 0;
    while (rank != rank_ &&
           (!store_->get(place(rank).c_str(), 0, &other, sizeof other, &bytes).ok() || other < position)) {
      if (std::chrono::steady_clock::now() >= deadline) {
        missing.push_back(rank);
        break;
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  return missing;
}

}  // namespace halftone::nccl
