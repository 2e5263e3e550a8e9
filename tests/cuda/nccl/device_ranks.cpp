#include "device_ranks.h"

#include <algorithm>
#include <functional>
#include <future>
#include <utility>

#include "runtime/plugin_loader.h"

namespace halftone {
namespace {

// The bytes that an operation reads and writes, with a copy in device memory. Operands in place share one.
class DeviceRange {
 public:
  DeviceRange(ContextDevice& device, const View& in, const View& out)
      : device_(*device.device), begin_(std::min(begin_of(in), begin_of(out))) {
    const std::byte* end = std::max(begin_of(in) + bytes_of(in), begin_of(out) + bytes_of(out));
    size_ = static_cast<size_t>(end - begin_);
    check(device_.allocate(std::max<size_t>(size_, 1), &memory_));
    check(device_.copy_from_host(device_.stream(), memory_, begin_, size_));
  }
  ~DeviceRange() { device_.deallocate(memory_, size_); }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

  static bool overlap(const View& in, const View& out) {
    return begin_of(in) < begin_of(out) + bytes_of(out) && begin_of(out) < begin_of(in) + bytes_of(in);
  }
  View on_device(const View& view) const {
    View moved = view;
    moved.data = static_cast<std::byte*>(memory_) + (begin_of(view) - begin_);
    return moved;
  }
  Status read_back(const View& view) const {
    Status status = device_.copy_to_host(device_.stream(), view.data, on_device(view).data, bytes_of(view));
    return status.ok() ? device_.stream().synchronize() : status;
  }

 private:
  static std::byte* begin_of(const View& view) { return static_cast<std::byte*>(view.data); }
  static size_t bytes_of(const View& view) {
    return view.rank() == 0 ? 0 : static_cast<size_t>(view.numel()) * size_of(view.dtype);
  }

  Device& device_;
  std::byte* const begin_;
  size_t size_ = 0;
  void* memory_ = nullptr;
};

// An operation on copies; a wait brings the result back.
class CopiedWork final : public Work {
 public:
  CopiedWork(ContextDevice& device, const View& in, const View& out)
      : out_(out),
        out_range_(std::make_unique<DeviceRange>(device, DeviceRange::overlap(in, out) ? in : out, out)),
        in_range_(DeviceRange::overlap(in, out) ? nullptr : std::make_unique<DeviceRange>(device, in, in)) {}

  void destroy() noexcept override { delete this; }
  bool is_done() noexcept override { return work_->is_done(); }
  bool wait_for(int64_t ns) noexcept override { return work_->wait_for(ns); }
  Status wait() noexcept override {
    Status status = work_->wait();
    return status.ok() ? out_range_->read_back(out_) : status;
  }
  Status wait_on(Stream&) noexcept override { return wait(); }

  View in(const View& view) const { return (in_range_ ? *in_range_ : *out_range_).on_device(view); }
  View out(const View& view) const { return out_range_->on_device(view); }
  void set(Work* work) { work_.reset(work); }

 private:
  const View out_;
  const std::unique_ptr<DeviceRange> out_range_;
  const std::unique_ptr<DeviceRange> in_range_;
  OwnedWork work_;
};

// A batch of messages with copies.
class CopiedBatch final : public Work {
 public:
  CopiedBatch(ContextDevice& device, const Request& request)
      : transfers_(request.transfers, request.transfers + request.transfer_count) {
    for (const Transfer& transfer : transfers_) {
      ranges_.push_back(std::make_unique<DeviceRange>(device, transfer.data, transfer.data));
    }
  }

  void destroy() noexcept override { delete this; }
  bool is_done() noexcept override { return work_->is_done(); }
  bool wait_for(int64_t ns) noexcept override { return work_->wait_for(ns); }
  Status wait() noexcept override {
    Status status = work_->wait();
    for (size_t i = 0; i < transfers_.size() && status.ok(); ++i) {
      if (transfers_[i].direction == Operation::kReceive) status = ranges_[i]->read_back(transfers_[i].data);
    }
    return status;
  }
  Status wait_on(Stream&) noexcept override { return wait(); }

  std::vector<Transfer> moved() const {
    std::vector<Transfer> transfers = transfers_;
    for (size_t i = 0; i < transfers.size(); ++i) transfers[i].data = ranges_[i]->on_device(transfers[i].data);
    return transfers;
  }
  void set(Work* work) { work_.reset(work); }

 private:
  const std::vector<Transfer> transfers_;
  std::vector<std::unique_ptr<DeviceRange>> ranges_;
  OwnedWork work_;
};

// A group over device memory for operands in host memory, which creation does not wait for: what tests of groups of
// threads expect. Its sums are deterministic, as those of threads.
class HostOperandGroup final : public ProcessGroup {
 public:
  HostOperandGroup(Ref<Context> context, KeyValueStore* store, int rank, int size, int64_t timeout_ns, const char* name)
      : context_(std::move(context)),
        rank_(rank),
        size_(size),
        group_(std::async(std::launch::async, [=, this, name = std::string(name)] {
                 return std::shared_ptr<ProcessGroup>(
                     make_gpu_group(*context_, store, rank, size, timeout_ns, name.c_str()).release(), Destroy{});
               }).share()) {}

  void destroy() noexcept override { delete this; }
  const char* kind() const noexcept override { return "nccl"; }
  int32_t rank() const noexcept override { return rank_; }
  int32_t size() const noexcept override { return size_; }

  Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept override {
    *out_work = nullptr;
    ProcessGroup* group = nullptr;
    if (Status status = find(&group); !status.ok()) return status;
    if (request.operation == Operation::kBarrier) return group->start(options, request, out_work);
    ContextDevice& device = gpu(*context_, rank_);
    CallOptions call = options;
    call.stream = &device.device->stream();
    call.is_deterministic = 1;
    return request.operation == Operation::kMessages ? start_batch(*group, device, call, request, out_work)
                                                     : start_copied(*group, device, call, request, out_work);
  }

  void abort(const char* reason) noexcept override {
    ProcessGroup* group = nullptr;
    if (find(&group).ok()) group->abort(reason);
  }
  void fail(const Status& reason) noexcept override {
    ProcessGroup* group = nullptr;
    if (find(&group).ok()) group->fail(reason);
  }
  GroupCounters counters() const noexcept override {
    ProcessGroup* group = nullptr;
    return find(&group).ok() ? group->counters() : GroupCounters{};
  }
  Status link_cost(LinkCost* out) const noexcept override {
    ProcessGroup* group = nullptr;
    Status status = find(&group);
    return status.ok() ? group->link_cost(out) : status;
  }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    ProcessGroup* group = nullptr;
    return find(&group).ok() ? group->describe_operations(out, capacity) : 0;
  }

 private:
  Status find(ProcessGroup** out) const noexcept {
    try {
      *out = group_.get().get();
      return {};
    } catch (const Error& error) {
      return Status::failure(error.code(), "%s", error.what());
    }
  }

  // Operands that the group refuses have no copies.
  static Status start_copied(ProcessGroup& group, ContextDevice& device, const CallOptions& options,
                             const Request& request, Work** out_work) {
    if (!is_contiguous(request.in) || !is_contiguous(request.out)) return group.start(options, request, out_work);
    auto work = std::make_unique<CopiedWork>(device, request.in, request.out);
    Request moved = request;
    moved.in = work->in(request.in);
    moved.out = work->out(request.out);
    return start_with(group, options, moved, std::move(work), out_work);
  }

  static Status start_batch(ProcessGroup& group, ContextDevice& device, const CallOptions& options,
                            const Request& request, Work** out_work) {
    for (int32_t i = 0; i < request.transfer_count; ++i) {
      if (!is_contiguous(request.transfers[i].data)) return group.start(options, request, out_work);
    }
    auto work = std::make_unique<CopiedBatch>(device, request);
    const std::vector<Transfer> transfers = work->moved();
    Request moved = request;
    moved.transfers = transfers.data();
    return start_with(group, options, moved, std::move(work), out_work);
  }

  template <class Copied>
  static Status start_with(ProcessGroup& group, const CallOptions& options, const Request& request,
                           std::unique_ptr<Copied> work, Work** out_work) {
    Work* started = nullptr;
    Status status = group.start(options, request, &started);
    if (!status.ok()) return status;
    work->set(started);
    *out_work = work.release();
    return {};
  }

  const Ref<Context> context_;
  const int rank_;
  const int size_;
  const std::shared_future<std::shared_ptr<ProcessGroup>> group_;
};

Rank make_host_operand_rank(KeyValueStore* store, int rank, int size, int64_t timeout_ns, const char* name) {
  const Ref<Context> context = make_gpu_context();
  return {.context = context,
          .group = OwnedGroup(new HostOperandGroup(context, store, rank, size, timeout_ns, name)),
          .place = "cpu"};
}

const bool is_installed = [] {
  make_other_rank = make_host_operand_rank;
  return true;
}();

}  // namespace

int device_count() {
  if (is_emulated()) return 8;
  const Ref<Context> context = make_gpu_context();
  for (const Plugin& plugin : context->plugins()) {
    if (plugin.table->device_count != nullptr) return plugin.table->device_count();
  }
  return 0;
}

Ref<Context> make_gpu_context() {
  if (is_emulated()) {
    emulation_function<void(int32_t)>("cuda_emulation_set_devices")(8);
    setenv("HALFTONE_NCCL_LIBRARY", NCCL_EMULATION, 0);
  }
  Ref<Context> context = make_rank_context();
  context->load_plugin(cuda_plugin());
  context->load_plugin(nccl_plugin());
  return context;
}

OwnedGroup make_gpu_group(Context& context, KeyValueStore* store, int rank, int size, int64_t timeout_ns,
                          const char* name) {
  return create_group("nccl", context,
                      {.device = gpu(context, rank).device,
                       .store = store,
                       .name = name,
                       .rank = rank,
                       .size = size,
                       .timeout_ns = timeout_ns});
}

void run_gpu_ranks(int size, const std::function<void(Rank& rank)>& body, int64_t timeout_ns) {
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < size; ++number) {
    threads.emplace_back([&, number] {
      Rank rank{.context = make_gpu_context(), .group = nullptr, .place = "cuda:" + std::to_string(number)};
      rank.group = make_gpu_group(*rank.context, store.get(), number, size, timeout_ns);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace halftone
