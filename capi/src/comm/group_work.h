// An operation of a group with the tensors that it reads and writes, behind htone_work. Safe from any thread.
#pragma once

#include <memory>
#include <utility>

#include "comm/group.h"
#include "core/error.h"
#include "tensor/tensor.h"

namespace halftone::capi {

class GroupWork final : public RefCounted {
 public:
  GroupWork(Ref<Group> group, OwnedWork work, Tensor in, Tensor out)
      : group_(std::move(group)), work_(std::move(work)), in_(std::move(in)), out_(std::move(out)) {}
  ~GroupWork() override {
    if (work_->is_done()) return;
    try {
      group_->keep(std::move(work_), std::make_shared<std::pair<Tensor, Tensor>>(in_, out_));
    } catch (const std::bad_alloc&) {
      static_cast<void>(work_->wait());  // then the memory may go
    }
  }

  bool is_done() const noexcept { return work_->is_done(); }
  // Throws the operation's error.
  void wait() const {
    const Status status = work_->wait();
    if (out_.defined()) out_.bump_version();
    check(status);
  }

 private:
  const Ref<Group> group_;
  OwnedWork work_;
  const Tensor in_;
  const Tensor out_;
};

}  // namespace halftone::capi
