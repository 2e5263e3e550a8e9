#include "checkpoint/merged_index.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "checkpoint/coverage.h"
#include "core/error.h"

namespace halftone::checkpoint {

namespace {

// Doubles are compared as bits, as they are written, so that a NaN equals itself.
bool is_equal(const StateScalar& a, const StateScalar& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
  return a == b;
}

class Merge {
 public:
  // `rank` is the next rank's index, and is moved from.
  void add(Index& rank, int64_t world_size) {
    require_same_save(rank, world_size);
    whole_.files.push_back(std::move(rank.files[0]));
    for (IndexTensor& tensor : rank.tensors) add(tensor);
    for (NamedScalar& scalar : rank.scalars) add(scalar);
  }

  Index finish() {
    for (IndexTensor& tensor : whole_.tensors) {
      std::sort(tensor.parts.begin(), tensor.parts.end(), comes_before);
      require_coverage(tensor);
    }
    for (const NamedScalar& scalar : whole_.scalars) {
      if (!tensors_.contains(scalar.name)) continue;
      fail(Code::kFormat, "", "%.64s is a tensor on one rank and a scalar on another", scalar.name.c_str());
    }
    return std::move(whole_);
  }

 private:
  void require_same_save(const Index& rank, int64_t world_size) {
    const size_t number = whole_.files.size();
    if (number == 0) {
      whole_.step = rank.step;
      whole_.save_id = rank.save_id;
    }
    const std::string name = file_name(static_cast<int64_t>(number), world_size);
    const bool has_file = rank.files.size() == 1 && rank.files[0].name == name;
    if (has_file && rank.step == whole_.step && rank.save_id == whole_.save_id) return;
    fail(Code::kFormat, "", "rank %zu of %lld wrote a file for another save", number,
         static_cast<long long>(world_size));
  }

  void add(IndexTensor& tensor) {
    TensorPart part = tensor.parts[0];
    part.file = whole_.files.size() - 1;
    IndexTensor& whole = whole_tensor(tensor);
    // A rank without elements needs no part, but a tensor without elements has one.
    const bool is_needed = part.begin < part.end || (numel(whole.shape) == 0 && whole.parts.empty());
    if (is_needed) whole.parts.push_back(part);
  }

  IndexTensor& whole_tensor(IndexTensor& tensor) {
    const auto [place, is_new] = tensors_.try_emplace(tensor.name, whole_.tensors.size());
    if (is_new) {
      tensor.parts.clear();
      return whole_.tensors.emplace_back(std::move(tensor));
    }
    IndexTensor& whole = whole_.tensors[place->second];
    require_alike(whole, tensor);
    return whole;
  }

  void add(NamedScalar& scalar) {
    const auto [place, is_new] = scalars_.try_emplace(scalar.name, whole_.scalars.size());
    if (is_new) {
      whole_.scalars.push_back(std::move(scalar));
    } else if (!is_equal(whole_.scalars[place->second].value, scalar.value)) {
      fail(Code::kFormat, "", "%.64s differs between ranks", scalar.name.c_str());
    }
  }

  Index whole_;
  std::unordered_map<std::string, size_t> tensors_;  // places in whole_, by name
  std::unordered_map<std::string, size_t> scalars_;
};

}  // namespace

Index merged(std::vector<Index> ranks) {
  Merge merge;
  for (Index& rank : ranks) merge.add(rank, static_cast<int64_t>(ranks.size()));
  return merge.finish();
}

}  // namespace halftone::checkpoint
