#include "deferred_queue.h"

#include <algorithm>
#include <utility>

namespace halftone::deferred {

void Machine::run_all() {
  for (size_t i = queues.size(); i-- > 0;) queues[i]->run_until(queues[i]->length());
}

Status Machine::take_fault() { return is_lost ? fault : std::exchange(fault, Status{}); }

bool Machine::may_lose() {
  if (is_lost || pieces_until_loss.fetch_sub(1) != 0) return is_lost;
  is_lost = true;
  fault = Status::failure(Code::kDevice, "the deferred device is lost");
  return true;
}

Queue::~Queue() { machine_.queues.erase(std::find(machine_.queues.begin(), machine_.queues.end(), this)); }

void Queue::add(Work work) {
  pieces_.emplace_back([this, run = std::move(work)] {
    if (machine_.may_lose() || !machine_.fault.ok()) return true;
    if (Status status = run(machine_.cpu); !status.ok()) machine_.fault = status;
    return true;
  });
}

// A wait runs even after a fault: work that follows once the fault has been read needs its order.
void Queue::add_wait(std::shared_ptr<Queue> other, int64_t position) {
  pieces_.emplace_back([on = std::move(other), position] {
    on->run_until(position);
    return on->is_past(position);
  });
}

void Queue::add_attempt(std::function<bool()> attempt) {
  pieces_.emplace_back([this, run = std::move(attempt)] { return machine_.is_lost || run(); });
}

// Pieces that wait may come back to this queue, but only for a position that is finished: an event marks a point before
// the wait for it.
bool Queue::run_one() {
  if (pieces_.empty() || is_running_) return false;
  is_running_ = true;
  std::function<bool()> piece = std::move(pieces_.front());
  pieces_.pop_front();
  const bool has_finished = piece();
  is_running_ = false;
  if (has_finished) {
    ++finished_;
  } else {
    pieces_.push_front(std::move(piece));
  }
  return has_finished;
}

void Queue::run_until(int64_t position) {
  while (!is_past(position) && run_one()) continue;
}

}  // namespace halftone::deferred
