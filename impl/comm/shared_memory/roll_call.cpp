#include "comm/shared_memory/roll_call.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "comm/shared_memory/bell.h"
#include "comm/shared_memory/segment_address.h"
#include "comm/store.h"
#include "core/error.h"

namespace halftone {
namespace {

constexpr std::chrono::nanoseconds kLinger = std::chrono::milliseconds(500);
constexpr int64_t kLongestWaitNs = int64_t{1} << 61;  // a later deadline could overflow the clock's type

class RollCall {
 public:
  RollCall(const GroupOptions& options, Segment& own)
      : options_(options),
        names_(options),
        own_(own),
        address_(address_of(own, options.rank, options.size)),
        others_(static_cast<size_t>(options.size)),
        deadline_(std::chrono::steady_clock::now() +
                  std::chrono::nanoseconds(std::min(options.timeout_ns, kLongestWaitNs))) {}

  std::vector<SharedRank> run() {
    if (!open_file(address_)) fail(Code::kUnsupported, "kind", "groups over shared memory need the folder /proc");
    claim_rank();
    try {
      find_all();
      wait_until_mapped();
    } catch (const Error& error) {
      give_up(error);
      throw;
    } catch (const std::bad_alloc&) {
      give_up(Error(Code::kOutOfMemory, 0, "", "a rank has no memory for the group"));
      throw;
    }
    remove_address();
    return std::move(others_);
  }

 private:
  bool is_self(int rank) const { return rank == options_.rank; }
  SharedRank& other(int rank) { return others_[static_cast<size_t>(rank)]; }
  bool is_found(int rank) { return is_self(rank) || other(rank).segment.file(); }
  bool has_mapped(int rank) {
    if (is_self(rank)) return true;
    const Inbox& inbox = other(rank).segment.inbox(options_.rank);
    return inbox.mapped.load(std::memory_order_acquire) == address_.nonce;
  }
  std::string key_of(int rank) const {
    return std::string("shared_memory/") + options_.name + "/" + std::to_string(rank);
  }
  std::chrono::nanoseconds remaining() const { return deadline_ - std::chrono::steady_clock::now(); }

  void claim_rank() {
    int32_t is_ours = 0;
    const StoreValue value{.data = &address_, .bytes = sizeof address_};
    check_store(options_.store->compare_set(key_of(options_.rank).c_str(), {}, value, &is_ours));
    if (is_ours != 0) return;
    fail(Code::kComm, "rank",
         "rank %d of the group \"%.64s\" is taken: another process has it, or a run that failed has left it in the "
         "store",
         names_[options_.rank], options_.name);
  }

  void remove_address() noexcept {
    int32_t existed = 0;
    static_cast<void>(options_.store->remove(key_of(options_.rank).c_str(), &existed));
  }

  void find_all() {
    while (true) {
      int missing = -1;
      for (int rank = options_.size - 1; rank >= 0; --rank) {
        if (!is_found(rank) && !find(rank)) missing = rank;
      }
      if (missing < 0) return;
      check_found();
      if (remaining().count() <= 0) fail_for_missing([&](int rank) { return is_found(rank); });
      const std::string key = key_of(missing);
      const char* keys[] = {key.c_str()};
      const Status status = options_.store->wait(keys, 1, std::min(remaining(), kLongestSleep).count());
      if (status.code != Code::kTimeout) check_store(status);
    }
  }

  // Maps the rank's segment if the rank has come.
  bool find(int rank) {
    SegmentAddress address;
    size_t bytes = 0;
    const Status status = options_.store->get(key_of(rank).c_str(), 0, &address, sizeof address, &bytes);
    if (status.code == Code::kTimeout) return false;
    if (status.code != Code::kBufferTooSmall) check_store(status);
    if (bytes != sizeof address || address.rank != rank) {
      fail(Code::kComm, "", "rank %d runs another build of halftone", names_[rank]);
    }
    check_reachable(address_, address, names_);
    return map(rank, address);
  }

  // The watch is opened first: if the process is alive in the end, it was this one whose file was opened.
  bool map(int rank, const SegmentAddress& address) {
    SharedRank found;
    found.process = ProcessWatch(address.process);
    Descriptor file = open_file(address);
    if (!file || !found.process.is_alive()) return missed(rank, address);
    found.segment = Segment::open(std::move(file), options_.size);
    if (found.segment.control().nonce != address.nonce) return missed(rank, address);
    const uint64_t mapped = found.segment.inbox(options_.rank).mapped.load(std::memory_order_acquire);
    if (mapped != 0 && mapped != address_.nonce) {
      // The address of an earlier group of this name, whose other ranks have not removed theirs yet.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return false;
    }
    own_.inbox(rank).mapped.store(address.nonce, std::memory_order_release);
    other(rank) = std::move(found);
    ring(other(rank).segment.control());
    return true;
  }

  // Another file, or none, is at the address. A rank of an earlier group of this name may have left since the address
  // was read: it removed the address before. Returns false, for another try; throws if the rank is lost.
  bool missed(int rank, const SegmentAddress& address) {
    SegmentAddress now;
    size_t bytes = 0;
    const Status status = options_.store->get(key_of(rank).c_str(), 0, &now, sizeof now, &bytes);
    if (status.code != Code::kTimeout) check_store(status);
    if (status.ok() && now.nonce == address.nonce) fail_for_lost(rank);
    return false;
  }

  void wait_until_mapped() {
    const auto all_have = [&] {
      for (int rank = 0; rank < options_.size; ++rank) {
        if (!has_mapped(rank)) return false;
      }
      return true;
    };
    while (true) {
      const uint32_t heard = listen(own_.control());
      if (all_have()) return;
      check_found();
      if (remaining().count() <= 0) fail_for_missing([&](int rank) { return has_mapped(rank); });
      sleep(own_.control(), heard, std::min(remaining(), kLongestSleep));
    }
  }

  // Throws the reason of a rank that gave up. A rank that has all others may leave, and end, before this one has them.
  void check_found() {
    for (int rank = 0; rank < options_.size; ++rank) {
      if (is_self(rank) || !is_found(rank)) continue;
      const bool is_alive = other(rank).process.is_alive();
      const SegmentControl& control = other(rank).segment.control();
      const Presence presence = control.presence.load(std::memory_order_acquire);
      if (presence == Presence::kGaveUp) check(reason_of(control));
      if (presence == Presence::kHere && !is_alive) fail_for_lost(rank);
    }
  }

  // The store may have ended with the process of a rank that serves it: then the rank is the reason.
  void check_store(const Status& status) {
    const auto end = std::chrono::steady_clock::now() + kLinger;
    while (!status.ok() && std::chrono::steady_clock::now() < end) {
      check_found();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    check(status);
  }

  template <class IsThere>
  [[noreturn]] void fail_for_missing(IsThere is_there) {
    std::string ranks;
    for (int rank = 0; rank < options_.size; ++rank) {
      if (!is_there(rank)) ranks += (ranks.empty() ? "" : ", ") + std::to_string(names_[rank]);
    }
    fail(Code::kTimeout, "timeout_ns", "the group \"%.64s\" of %d ranks lacks these at the deadline: %.120s",
         options_.name, options_.size, ranks.c_str());
  }

  [[noreturn]] void fail_for_lost(int rank) {
    fail(Code::kPeerLost, "", "rank %d ended while the group \"%.64s\" was created", names_[rank], options_.name);
  }

  void give_up(const Error& error) noexcept {
    // A rank that this one cannot work with may come to the store in this moment: it shall find out why.
    if (error.code() == Code::kComm || error.code() == Code::kUnsupported) {
      std::this_thread::sleep_for(std::clamp(remaining(), std::chrono::nanoseconds(0), kLinger));
    }
    remove_address();
    Status& failure = own_.control().failure;
    failure = Status::failure(error.code(), "%s", error.what());
    failure.native_code = error.native_code();
    own_.control().presence.store(Presence::kGaveUp, std::memory_order_release);
    for (int rank = 0; rank < options_.size; ++rank) {
      if (!is_self(rank) && is_found(rank)) ring(other(rank).segment.control());
    }
  }

  const GroupOptions& options_;
  const RankNames names_;
  Segment& own_;
  const SegmentAddress address_;
  std::vector<SharedRank> others_;
  const Deadline deadline_;
};

}  // namespace

std::vector<SharedRank> call_roll(const GroupOptions& options, Segment& own) { return RollCall(options, own).run(); }

}  // namespace halftone
