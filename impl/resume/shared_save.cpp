#include "resume/shared_save.h"

#include <utility>

#include "checkpoint/save_plan.h"
#include "comm/group/text_exchange.h"

namespace halftone::resume {

namespace {

constexpr size_t kIdLength = 32;  // of Directory::Save::id()

std::vector<checkpoint::Index> indexes_of(const std::vector<std::string>& texts) {
  std::vector<checkpoint::Index> indexes;
  for (const std::string& text : texts) indexes.push_back(checkpoint::parse_rank_index(text));
  return indexes;
}

}  // namespace

void SharedSave::run() {
  const std::vector<std::string> held_by_all = gather_texts(group_, [&] { return held(); });
  std::vector<std::string> orders;
  agree_on(group_, [&] {
    if (is_first()) orders = begin(held_by_all);
    return Numbers{};
  });
  scatter_texts(group_, orders, order_);
  const std::vector<std::string> written = gather_texts(group_, [&] { return write(); });
  agree_on(group_, [&] {
    if (is_first()) save_->finish(indexes_of(written));
    return Numbers{};
  });
}

checkpoint::SaveRank SharedSave::save_rank(std::string id) const {
  return {.step = step_, .save_id = std::move(id), .rank = group_->rank(), .world_size = group_->size()};
}

std::string SharedSave::held() {
  order_.resize(kIdLength + state_.tensors().size());
  return serialize(checkpoint::unwritten_index(save_rank(""), state_));
}

// The plan comes first: ranges that do not fit change nothing in the directory.
std::vector<std::string> SharedSave::begin(const std::vector<std::string>& held) {
  std::vector<std::string> orders = checkpoint::plan_save(indexes_of(held));
  save_ = directory_.begin_save(step_, group_->size());
  for (std::string& order : orders) order.insert(0, save_->id());
  return orders;
}

std::string SharedSave::write() const {
  return serialize(directory_.write_rank(save_rank(order_.substr(0, kIdLength)), own_part()));
}

StateDict SharedSave::own_part() const {
  StateDict own;
  for (size_t i = 0; i < state_.tensors().size(); ++i) {
    const StateTensor& entry = state_.tensors()[i];
    if (order_[kIdLength + i] == checkpoint::kWritten) own.add_entry(entry.name, entry);
  }
  if (!is_first()) return own;
  for (const NamedScalar& scalar : state_.scalars()) own.add(scalar.name, scalar.value);
  return own;
}

}  // namespace halftone::resume
