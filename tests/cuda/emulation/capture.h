// A stream capture of the emulated runtime: the work that streams queue between cudaStreamBeginCapture and
// cudaStreamEndCapture. Calls that CUDA refuses meanwhile invalidate it. All members are called under the machine's
// mutex.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

namespace emulation {

class FakeGraph {
 public:
  std::vector<std::function<void()>> work;
};

class Capture {
 public:
  Capture(cudaStream_t origin, cudaStreamCaptureMode mode) : origin_(origin), mode_(mode) { positions_[origin] = 0; }

  cudaStream_t origin() const { return origin_; }
  bool is_invalid() const { return is_invalid_; }
  void invalidate() { is_invalid_ = true; }
  // Returns true if the mode forbids calls of the current thread that may be unsafe, such as cudaMalloc.
  bool forbids_unsafe_calls() const {
    return mode_ == cudaStreamCaptureModeGlobal ||
           (mode_ == cudaStreamCaptureModeThreadLocal && std::this_thread::get_id() == owner_);
  }
  bool is_of_other_thread() const {
    return mode_ != cudaStreamCaptureModeRelaxed && std::this_thread::get_id() != owner_;
  }

  void add(cudaStream_t stream, std::function<void()> work) {
    graph_.work.push_back(std::move(work));
    ++positions_[stream];
  }
  // The number of pieces of a stream, to which an event refers.
  int64_t position(cudaStream_t stream) { return positions_[stream]; }
  // `stream` waits for the first `position` pieces of `other`, and takes part from here on.
  void join(cudaStream_t stream, cudaStream_t other, int64_t position) {
    positions_.try_emplace(stream, 0);
    if (stream == origin_) joined_[other] = std::max(joined_[other], position);
  }
  // Returns true if the origin waits for all that other streams have queued.
  bool is_joined() const {
    for (const auto& [stream, position] : positions_) {
      const auto joined = joined_.find(stream);
      if (stream != origin_ && position > 0 && (joined == joined_.end() || joined->second < position)) return false;
    }
    return true;
  }
  const std::map<cudaStream_t, int64_t>& streams() const { return positions_; }
  FakeGraph& graph() { return graph_; }

 private:
  const cudaStream_t origin_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id owner_ = std::this_thread::get_id();
  bool is_invalid_ = false;
  FakeGraph graph_;
  std::map<cudaStream_t, int64_t> positions_;
  std::map<cudaStream_t, int64_t> joined_;
};

}  // namespace emulation
