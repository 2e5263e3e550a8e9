// Signs of life among the ranks of a group, through the store: a thread of each rank counts up its heartbeat and reads
// those of the others, and takes notice when one has ended the group. It finds ranks that are stopped or cut off, which
// no connection tells. The thread's signals are blocked. Made for groups over a network.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "comm/control/notice.h"
#include "comm/group/owned.h"
#include "comm/group/rank_names.h"
#include "comm/store.h"

namespace halftone {

class Watch {
 public:
  class Listener {
   public:
    // A rank has ended the group, or is lost. Called on the watch's thread.
    virtual void on_notice(const Notice& notice) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  // Reads the options during creation alone; store and listener outlive the watch. Throws OUT_OF_MEMORY.
  Watch(const GroupOptions& options, Listener& listener);
  ~Watch() { stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Each comes once at most. stop() tells the other ranks that this one leaves in good order; after it, the listener
  // gets no call. It does not wait for a store that is silent. start() throws OUT_OF_MEMORY.
  void start();
  void stop() noexcept;
  // Puts the notice into the store soon, unless another rank's is there. Safe from any thread.
  void announce(const Notice& notice) noexcept;

 private:
  struct Pulse {
    std::string key;
    std::string last;
    int silent_beats = 0;
  };

  static void* work(void* self) noexcept;
  void run() noexcept;
  void open_store() noexcept;
  KeyValueStore& store() noexcept { return own_store_ ? *own_store_ : store_; }
  bool is_heard(const Status& status) noexcept;
  void lose(int rank, const char* what) noexcept;
  void publish() noexcept;
  void read_notice() noexcept;
  void beat() noexcept;
  void listen(int rank) noexcept;
  bool sleep() noexcept;

  Listener& listener_;
  KeyValueStore& store_;
  const int rank_;
  const int64_t heartbeat_ns_;
  const int64_t call_ns_;  // the longest call of the store
  const RankNames names_;
  const std::string server_key_;
  const std::string notice_key_;
  std::vector<Pulse> pulses_;  // of all ranks, used by the thread
  bool has_ended_ = false;     // a notice was read, used by the thread
  OwnedStore own_store_;       // with short timeouts, or null; used by the thread once it runs, as the next two
  int server_rank_ = -1;       // the rank that serves the store; -1 if none does
  int64_t silent_calls_ = 0;   // of the store, one after another
  std::mutex mutex_;           // guards the members below
  std::condition_variable changed_;
  bool is_stopped_ = false;
  bool is_started_ = false;
  bool has_announcement_ = false;
  Notice announcement_;
  pthread_t thread_{};
};

}  // namespace halftone
