// An operation of a group with the tensors that it reads and writes, behind htone_work. Safe from any thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/objects.h"
#include "comm/group/group.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "tensor/tensor.h"

struct htone_work;

namespace halftone::capi {

// The tensors of one operation. Either list has those of a batch.
struct GroupTensors {
  Tensor in;
  Tensor out;
  std::vector<Tensor> sent = {};
  std::vector<Tensor> received = {};
};

class GroupWork final : public RefCounted {
 public:
  GroupWork(Ref<Group> group, OwnedWork work, GroupTensors tensors)
      : group_(std::move(group)), work_(std::move(work)), tensors_(std::move(tensors)) {}
  ~GroupWork() override {
    if (work_->is_done()) return;
    try {
      auto memory = std::make_shared<GroupTensors>(std::move(tensors_));
      group_->keep(std::move(work_), std::move(memory));
    } catch (const std::bad_alloc&) {
      static_cast<void>(work_->wait());  // then the memory may go
    }
  }

  bool is_done() const noexcept { return work_->is_done(); }
  // Throws the operation's error. If the program interrupts the call, the operation goes on.
  void wait() const {
    while (may_be_interrupted() && !work_->wait_for(kInterruptLookNs)) check(interruption());
    const Status status = work_->wait();
    if (tensors_.out.defined()) tensors_.out.bump_version();
    for (const Tensor& tensor : tensors_.received) tensor.bump_version();
    check(status);
  }

 private:
  const Ref<Group> group_;
  OwnedWork work_;
  GroupTensors tensors_;
};

template <>
struct HandleTraits<htone_work> : HandleTo<Ref<GroupWork>, HandleType::kWork> {};

}  // namespace halftone::capi
