#include "parallel/shard/flats/flat_weights.h"

#include <exception>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "parallel/shard/flats/flat.h"
#include "parallel/shard/flats/flat_codes.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// A storage has memory while this lives.
class FilledStorage {
 public:
  explicit FilledStorage(Storage& storage) : storage_(storage) { storage_.refill(); }
  ~FilledStorage() { storage_.release_memory(); }
  FilledStorage(const FilledStorage&) = delete;
  FilledStorage& operator=(const FilledStorage&) = delete;

 private:
  Storage& storage_;
};

// The masters that a loop over the slots of a buffer reads: brought page by page, the next one while one is read, and
// dropped behind it.
class FetchedMasters {
 public:
  explicit FetchedMasters(const std::vector<Ref<StatePages>>& pages) : pages_(pages) {}
  ~FetchedMasters() {
    for (const Ref<StatePages>& pages : pages_) pages->drop_masters();
  }

  void need(size_t slot) {
    if (pages_.empty()) return;
    StatePages& pages = *pages_[slot];
    if (&pages == current_) return;
    if (current_ != nullptr) current_->drop_masters();
    current_ = &pages;
    pages.fetch_masters();
    while (++slot < pages_.size()) {
      if (pages_[slot].get() != &pages) return pages_[slot]->start_fetch_masters();
    }
  }

 private:
  const std::vector<Ref<StatePages>>& pages_;
  StatePages* current_ = nullptr;
};

// A shard in FP32.
Tensor wide_weights(const Parameter& parameter) {
  const Weights& weights = parameter.weights();
  return weights.kept().dtype() == DType::kF32 ? weights.kept() : weights.joined(Category::kWorkspace);
}

}  // namespace

FlatWeights::FlatWeights(const std::vector<NamedParameter>& parameters, const FlatPlan& plan, const Exchange& exchange,
                         bool keeps_whole, StorageRestorer* restorer, const Ref<ShardRanks>& ranks,
                         const OffloadPlace& offload)
    : parameters_(parameters),
      plan_(plan),
      exchange_(exchange),
      restorer_(restorer),
      has_one_copy_(keeps_whole && plan.dtype == DType::kF32),
      memory_(FlatSharing(parameters, plan, exchange, has_one_copy_, ranks).share(offload)) {}

FlatWeights::~FlatWeights() {
  work_.reset();  // waits
  end_gather();
}

uint64_t FlatWeights::version() const {
  uint64_t sum = 0;
  for (const auto& slot : plan_.slots) sum += parameter_of(slot).weights().kept().version();
  return sum;
}

int64_t FlatWeights::offloaded_bytes() const noexcept {
  int64_t bytes = 0;
  const auto& pages = memory_.pages;
  for (size_t i = 0; i < pages.size(); ++i) {
    if (i == 0 || pages[i] != pages[i - 1]) bytes += pages[i]->byte_count();
  }
  return bytes;
}

void FlatWeights::measure(const Tensor& magnitudes) const {
  FetchedMasters masters(memory_.pages);
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const Parameter& parameter = parameter_of(plan_.slots[i]);
    const Shard& shard = parameter.placement().shard();
    if (shard.begin == shard.end) continue;
    masters.need(i);
    launch("gather_weights", exchange_.device(), &Kernels::convert, &ConvertKernels::abs_max,
           wide_weights(parameter).view(), element_of(magnitudes, i).view());
  }
}

// The gathered weights have no memory until codes arrive.
void FlatWeights::start_gather(const CallOptions& options) {
  hold_reads();
  if (plan_.is_coded) {
    codes_ = empty(exchange_.device(), DType::kF8E4M3, {plan_.size}, Category::kCommunication);
  } else {
    memory_.gathered.storage()->refill();
  }
  if (copies_masters()) return start_copies();
  write_own();
  work_.emplace(exchange_.start_all_gather(in_sent(memory_.own), sent(), options));
}

Tensor FlatWeights::in_sent(const Tensor& range) const {
  return sent().as_strided(range.shape(), range.strides(), range.offset());
}

// The optimizer may keep its weights in this very memory.
void FlatWeights::write_own() const {
  clear_gaps();
  FetchedMasters masters(memory_.pages);
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const PlannedBucket::Slot& slot = plan_.slots[i];
    const Parameter& parameter = parameter_of(slot);
    const Shard& shard = parameter.placement().shard();
    if (shard.begin == shard.end) continue;
    masters.need(i);
    const Tensor target = range_of(sent(), slot.begin + shard.begin, slot.begin + shard.end);
    if (plan_.is_coded) {
      encode(wide_weights(parameter), element_of(scales_, i), target);
    } else if (parameter.weights().kept().data() != target.data()) {
      parameter.weights().read_range(0, target);
    }
  }
}

// Counts as no write.
void FlatWeights::clear_gaps() const {
  for (const Tensor& range : memory_.gaps) {
    const Tensor gap = in_sent(range);
    launch("gather_weights", gap.device(), &Kernels::convert, &ConvertKernels::fill, 0.0, gap.view());
  }
}

bool FlatWeights::copies_masters() const noexcept {
  return !memory_.pages.empty() && exchange_.size() == 1 && plan_.dtype == DType::kF32 && !plan_.is_lent &&
         !has_one_copy_;
}

// Pages and buffers round the sizes of parameters up to the same blocks.
void FlatWeights::start_copies() {
  clear_gaps();
  is_copying_ = true;
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    StatePages& pages = *memory_.pages[i];
    if (i > 0 && memory_.pages[i - 1].get() == &pages) continue;
    const int64_t begin = plan_.slots[i].begin;
    pages.start_copy_masters(range_of(memory_.gathered, begin, begin + pages.size()));
  }
}

// Waits for all of them, also if one has failed.
void FlatWeights::finish_copies() {
  if (!std::exchange(is_copying_, false)) return;
  std::exception_ptr error;
  for (const Ref<StatePages>& pages : memory_.pages) {
    try {
      pages->finish_copy_masters();
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

// The memory of the buffer is there only meanwhile.
void FlatWeights::gather_lent(const CallOptions& options) {
  const FilledStorage filled(*memory_.gathered.storage());
  write_own();
  exchange_.start_all_gather(memory_.own, memory_.gathered, options).wait();
  for (const PlannedBucket::Slot& slot : plan_.slots) {
    const Tensor& whole = parameter_of(slot).weights().tensor();
    copy(memory_.gathered.as_strided(whole.shape(), contiguous_strides(whole.shape()), slot.begin), whole);
  }
}

void FlatWeights::wait() {
  std::optional<StartedWork> work = std::exchange(work_, std::nullopt);
  const Tensor codes = std::exchange(codes_, Tensor());
  if (!work) return;
  work->wait();
  if (plan_.is_coded) decode_all(codes);
}

// Counts as no write. Nothing reads the gaps between parameters.
void FlatWeights::decode_all(const Tensor& codes) const {
  memory_.gathered.storage()->refill();
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const int64_t begin = plan_.slots[i].begin, end = begin + numel(parameter_of(plan_.slots[i]).shape());
    decode(range_of(codes, begin, end), element_of(scales_, i), range_of(memory_.gathered, begin, end));
  }
}

void FlatWeights::start_fetch() {
  if (copies_masters()) return;
  for (const Ref<StatePages>& pages : memory_.pages) pages->start_fetch_masters();
}

void FlatWeights::drop_masters() noexcept {
  for (const Ref<StatePages>& pages : memory_.pages) pages->drop_masters();
}

void FlatWeights::release() noexcept {
  work_.reset();  // waits
  codes_ = Tensor();
  hold_reads();
  memory_.gathered.storage()->release_memory();
}

}  // namespace halftone::parallel
