#include "comm/group/group.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "comm/group/registry.h"
#include "comm/group/shared_store.h"
#include "comm/group/siblings.h"
#include "core/error.h"

namespace halftone {
namespace {

// One rank's arguments of a split.
struct Seat {
  int32_t color;
  int32_t key;
};

// Memory of a device for the seats of all ranks.
class SeatTable {
 public:
  SeatTable(Device& device, size_t count) : device_(device), count_(count) {
    check(device.allocate(bytes(), &memory_));
  }
  ~SeatTable() { device_.deallocate(memory_, bytes()); }
  SeatTable(const SeatTable&) = delete;
  SeatTable& operator=(const SeatTable&) = delete;

  // Every rank's seat in `seats`, of which this rank's is there.
  void exchange(ProcessGroup& group, std::vector<Seat>& seats) {
    Stream& stream = device_.stream();
    check(device_.copy_from_host(stream, memory_, seats.data(), bytes()));
    const View own = view(static_cast<size_t>(group.rank()), 1), all = view(0, count_);
    run_and_wait([&](Work** work) { return group.all_gather({.stream = &stream}, own, all, work); });
    check(device_.copy_to_host(stream, seats.data(), memory_, bytes()));
    check(stream.synchronize());
  }

 private:
  size_t bytes() const noexcept { return count_ * sizeof(Seat); }
  View view(size_t begin, size_t count) const {
    const int64_t numbers = static_cast<int64_t>(count) * 2;
    return {.data = static_cast<Seat*>(memory_) + begin, .dtype = DType::kI32, .shape = {numbers}, .strides = {1}};
  }

  Device& device_;
  const size_t count_;
  void* memory_ = nullptr;
};

}  // namespace

Group::Group(const char* kind, ContextDevice& device, Ref<SharedStore> store, const GroupOptions& options)
    : Group(kind, device, std::move(store), options, nullptr) {}

Group::Group(const char* kind, ContextDevice& device, Ref<SharedStore> store, const GroupOptions& options,
             Ref<Siblings> siblings)
    : context_(Ref<Context>::share(device.context)),
      device_(device),
      store_(std::move(store)),
      kind_(kind),
      name_(options.name != nullptr ? options.name : ""),
      interface_(options.interface != nullptr ? options.interface : ""),
      run_ranks_(options.run_ranks, options.run_ranks + (options.run_ranks != nullptr ? options.size : 0)),
      options_(options),
      siblings_(std::move(siblings)),
      parts_(siblings_ ? siblings_ : make_ref<Siblings>()) {
  options_.device = device.device;
  options_.store = store_ ? &store_->store() : nullptr;
  options_.name = options.name != nullptr ? name_.c_str() : nullptr;
  options_.interface = options.interface != nullptr ? interface_.c_str() : nullptr;
  options_.run_ranks = run_ranks_.empty() ? nullptr : run_ranks_.data();
  options_.listener = siblings_ ? this : nullptr;
  group_ = create_group(kind, *context_, options_);
  if (siblings_) siblings_->add(*group_);
}

Group::~Group() {
  if (siblings_) siblings_->remove(*group_);
}

void Group::on_failure(const Status& reason) noexcept { siblings_->fail_others(*group_, reason); }

Ref<Group> Group::split(int32_t color, int32_t key) {
  if (!device_.device->host_accessible() && device_.device->kind() != DeviceKind::kCuda) {
    fail(Code::kUnsupported, "group", "a group over the memory of %s cannot be split", device_.device->name());
  }
  const size_t rank = static_cast<size_t>(group_->rank());
  std::vector<Seat> seats(static_cast<size_t>(group_->size()));
  seats[rank] = {.color = color, .key = key};
  SeatTable(*device_.device, seats.size()).exchange(*group_, seats);
  ++splits_;
  if (color < 0) return nullptr;

  std::vector<std::pair<int32_t, size_t>> members;  // key and rank
  for (size_t other = 0; other < seats.size(); ++other) {
    if (seats[other].color == color) members.emplace_back(seats[other].key, other);
  }
  std::sort(members.begin(), members.end());
  std::vector<int32_t> run_ranks;
  for (const auto& member : members) {
    run_ranks.push_back(run_ranks_.empty() ? static_cast<int32_t>(member.second) : run_ranks_[member.second]);
  }
  const auto own = std::find(members.begin(), members.end(), std::pair(key, rank));
  const std::string name = name_ + "/split " + std::to_string(splits_) + "/" + std::to_string(color);
  GroupOptions options = options_;
  options.name = name.c_str();
  options.rank = static_cast<int32_t>(own - members.begin());
  options.size = static_cast<int32_t>(members.size());
  options.run_ranks = run_ranks.data();
  auto part = Ref<Group>::adopt(new Group(kind_.c_str(), device_, store_, options, parts_));
  part->is_deterministic_ = is_deterministic_;
  return part;
}

void Group::keep(OwnedWork work, std::shared_ptr<const void> memory) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const Kept& kept) { return kept.work->is_done(); });
  try {
    kept_.reserve(kept_.size() + 1);
    kept_.push_back({.work = std::move(work), .memory = std::move(memory)});
  } catch (const std::bad_alloc&) {
    static_cast<void>(work->wait());  // then the memory may go
  }
}

}  // namespace halftone
