#include "halftone/collectives.h"

#include "autograd/leaf/accumulate_grad.h"
#include "base/call.h"
#include "comm/group/group.h"
#include "comm/group_work.h"
#include "comm/handles.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

static_assert(static_cast<int32_t>(ReduceOp::kSum) + 1 == HTONE_REDUCE_SUM);
static_assert(static_cast<int32_t>(ReduceOp::kAverage) + 1 == HTONE_REDUCE_AVERAGE);
static_assert(static_cast<int32_t>(ReduceOp::kMin) + 1 == HTONE_REDUCE_MIN);
static_assert(static_cast<int32_t>(ReduceOp::kMax) + 1 == HTONE_REDUCE_MAX);

ReduceOp checked_op(htone_reduce_op op) {
  if (op >= HTONE_REDUCE_SUM && op <= HTONE_REDUCE_MAX) return static_cast<ReduceOp>(op - 1);
  fail(Code::kInvalidArgument, "op", "op=%d is no htone_reduce_op", op);
}

void require_device(const Group& group, const Tensor& tensor, const char* argument) {
  if (&tensor.device() == &group.device()) return;
  fail(Code::kInvalidArgument, argument, "%s is on another device, or of another context, than the group", argument);
}

void require_result(const Group& group, const Tensor& tensor, const char* argument) {
  require_device(group, tensor, argument);
  require_writable(tensor, argument);
  if (accumulator_of(tensor) == nullptr) return;
  fail(Code::kState, argument, "%s requires a gradient, which a result of a group does not have", argument);
}

void require_rank(const Group& group, int32_t rank, const char* argument) {
  const int32_t last = group.process_group().size() - 1;
  if (rank < 0 || rank > last) {
    fail(Code::kInvalidArgument, argument, "%s=%d, expected 0 to %d", argument, rank, last);
  }
}

void require_peer(const Group& group, int32_t peer, const char* argument) {
  require_rank(group, peer, argument);
  if (peer != group.process_group().rank()) return;
  fail(Code::kInvalidArgument, argument, "%s=%d is this rank", argument, peer);
}

// The batch of a call, whose arrays have `count` entries.
class Batch {
 public:
  Batch(const Group& group, size_t count, const int32_t* peers, const int32_t* directions,
        htone_tensor* const* tensors) {
    if (count > INT32_MAX) fail(Code::kInvalidArgument, "count", "count=%zu is too large", count);
    if (count == 0) return;
    require_memory(peers, "peers");
    require_memory(directions, "directions");
    const std::vector<Tensor> all = held_objects(count, tensors, "tensors");
    for (size_t i = 0; i < count; ++i) add(group, peers[i], directions[i], all[i]);
  }

  const std::vector<Transfer>& transfers() const noexcept { return transfers_; }
  const GroupTensors& tensors() const noexcept { return tensors_; }

 private:
  void add(const Group& group, int32_t peer, int32_t direction, const Tensor& tensor) {
    if (direction != HTONE_DIRECTION_SEND && direction != HTONE_DIRECTION_RECEIVE) {
      fail(Code::kInvalidArgument, "directions", "directions has %d, which is no htone_direction", direction);
    }
    require_peer(group, peer, "peers");
    const bool sends = direction == HTONE_DIRECTION_SEND;
    sends ? require_device(group, tensor, "tensors") : require_result(group, tensor, "tensors");
    (sends ? tensors_.sent : tensors_.received).push_back(tensor);
    transfers_.push_back(
        {.direction = sends ? Operation::kSend : Operation::kReceive, .peer = peer, .data = tensor.view()});
  }

  std::vector<Transfer> transfers_;
  GroupTensors tensors_;
};

// Starts an operation, start(options, &work). Its handle goes to the caller, who waits here without one.
template <class Start>
void run(const Ref<Group>& group, GroupTensors tensors, htone_work** out_work, Start&& start) {
  const CallOptions options{
      .stream = &group->device().device->stream(), .hash = 0, .is_deterministic = group->is_deterministic() ? 1 : 0};
  Work* started = nullptr;
  check(start(options, &started));
  const Ref<GroupWork> work = make_ref<GroupWork>(group, OwnedWork(started), std::move(tensors));
  if (out_work == nullptr) {
    work->wait();
  } else {
    give_handle(out_work, work);
  }
}

// An operation that reads `in` and writes `out`: start(process group, options, in, out, &work).
template <class Start>
htone_status run_into(htone_group* group, htone_tensor* in, htone_tensor* out, htone_work** out_work,
                      const char* function, Start&& start) {
  return guard(
      [&] {
        const auto shared = hold(group, "group");
        const auto read = hold(in, "in");
        const auto written = hold(out, "out");
        require_device(*shared, *read, "in");
        require_result(*shared, *written, "out");
        run(shared.reference(), {.in = *read, .out = *written}, out_work, [&](const CallOptions& options, Work** work) {
          return start(shared->process_group(), options, read->view(), written->view(), work);
        });
      },
      function);
}

// An operation on one tensor: start(group, options, view, &work).
template <class Start>
htone_status run_on(htone_group* group, htone_tensor* tensor, bool writes, htone_work** out_work, const char* function,
                    Start&& start) {
  return guard(
      [&] {
        const auto shared = hold(group, "group");
        const auto data = hold(tensor, "tensor");
        if (writes) {
          require_result(*shared, *data, "tensor");
        } else {
          require_device(*shared, *data, "tensor");
        }
        run(shared.reference(), {.in = *data, .out = writes ? *data : Tensor()}, out_work,
            [&](const CallOptions& options, Work** work) { return start(*shared, options, data->view(), work); });
      },
      function);
}

}  // namespace

htone_status htone_group_all_reduce(htone_group* group, htone_reduce_op op, htone_tensor* in, htone_tensor* out,
                                    htone_work** out_work) {
  return run_into(group, in, out, out_work, __func__,
                  [&](ProcessGroup& ranks, const CallOptions& options, const View& from, const View& to, Work** work) {
                    return ranks.all_reduce(options, checked_op(op), from, to, work);
                  });
}

htone_status htone_group_all_gather(htone_group* group, htone_tensor* in, htone_tensor* out, htone_work** out_work) {
  return run_into(group, in, out, out_work, __func__,
                  [](ProcessGroup& ranks, const CallOptions& options, const View& from, const View& to, Work** work) {
                    return ranks.all_gather(options, from, to, work);
                  });
}

htone_status htone_group_reduce_scatter(htone_group* group, htone_reduce_op op, htone_tensor* in, htone_tensor* out,
                                        htone_work** out_work) {
  return run_into(group, in, out, out_work, __func__,
                  [&](ProcessGroup& ranks, const CallOptions& options, const View& from, const View& to, Work** work) {
                    return ranks.reduce_scatter(options, checked_op(op), from, to, work);
                  });
}

htone_status htone_group_all_to_all(htone_group* group, htone_tensor* in, htone_tensor* out, htone_work** out_work) {
  return run_into(group, in, out, out_work, __func__,
                  [](ProcessGroup& ranks, const CallOptions& options, const View& from, const View& to, Work** work) {
                    return ranks.all_to_all(options, from, to, work);
                  });
}

htone_status htone_group_broadcast(htone_group* group, int32_t root, htone_tensor* tensor, htone_work** out_work) {
  return run_on(group, tensor, true, out_work, __func__,
                [&](const Group& ranks, const CallOptions& options, const View& data, Work** work) {
                  require_rank(ranks, root, "root");
                  return ranks.process_group().broadcast(options, root, data, work);
                });
}

htone_status htone_group_send(htone_group* group, int32_t peer, htone_tensor* tensor, htone_work** out_work) {
  return run_on(group, tensor, false, out_work, __func__,
                [&](const Group& ranks, const CallOptions& options, const View& data, Work** work) {
                  require_peer(ranks, peer, "peer");
                  return ranks.process_group().send(options, peer, data, work);
                });
}

htone_status htone_group_receive(htone_group* group, int32_t peer, htone_tensor* tensor, htone_work** out_work) {
  return run_on(group, tensor, true, out_work, __func__,
                [&](const Group& ranks, const CallOptions& options, const View& data, Work** work) {
                  require_peer(ranks, peer, "peer");
                  return ranks.process_group().receive(options, peer, data, work);
                });
}

htone_status htone_group_batch(htone_group* group, size_t count, const int32_t* peers, const int32_t* directions,
                               htone_tensor* const* tensors, htone_work** out_work) {
  return guard([&] {
    const auto shared = hold(group, "group");
    const Batch batch(*shared, count, peers, directions, tensors);
    run(shared.reference(), batch.tensors(), out_work, [&](const CallOptions& options, Work** work) {
      return shared->process_group().batch(options, batch.transfers().data(), static_cast<int32_t>(count), work);
    });
  });
}

htone_status htone_group_barrier(htone_group* group, htone_work** out_work) {
  return guard([&] {
    const auto shared = hold(group, "group");
    run(shared.reference(), {}, out_work,
        [&](const CallOptions& options, Work** work) { return shared->process_group().barrier(options, work); });
  });
}

htone_status htone_work_wait(htone_work* work) { return Call(&GroupWork::wait, work); }

htone_status htone_work_is_done(htone_work* work, int32_t* out_done) {
  return Call(&GroupWork::is_done, work, out_done);
}
