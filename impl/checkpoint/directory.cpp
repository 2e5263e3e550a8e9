#include "checkpoint/directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "checkpoint/checksum.h"
#include "checkpoint/merged_index.h"
#include "core/error.h"

namespace halftone::checkpoint {

namespace {

constexpr const char kFolderLead[] = "step-";

// The step in a folder's name; -1 for a name that step_path() does not produce.
int64_t step_of(const char* name) noexcept {
  if (std::strncmp(name, kFolderLead, sizeof kFolderLead - 1) != 0) return -1;
  const char* digit = name + sizeof kFolderLead - 1;
  if (*digit == '\0' || (digit[0] == '0' && digit[1] != '\0')) return -1;
  int64_t step = 0;
  for (; *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(step, int64_t{10}, &step) ||
        __builtin_add_overflow(step, int64_t{*digit - '0'}, &step)) {
      return -1;
    }
  }
  return step;
}

std::vector<std::string> names_in(const Io& io, const std::string& path) {
  std::vector<std::string> names;
  const auto take = [](void* taker, const char* name) noexcept -> int64_t {
    if (name == nullptr) return -EINVAL;
    try {
      static_cast<std::vector<std::string>*>(taker)->emplace_back(name);
      return 0;
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
  };
  const int64_t result = uninterrupted([&] {
    names.clear();
    return io.list(io.user, path.c_str(), take, &names);
  });
  if (result == -ENOMEM) throw std::bad_alloc();
  if (result < 0) fail_io("list the directory", path, result);
  return names;
}

// Creates the directory if there is none, and makes its name durable by syncing the parent. The parent of an existing
// directory is synced too, since its creator may have failed before that; unless this process may not do so.
const std::string& prepared(const Io& io, const std::string& path) {
  const bool is_new = make_directory(io, path);
  try {
    sync_directory(io, parent_of(path));
  } catch (const Error& error) {
    const bool may_not_sync = error.native_code() == EACCES || error.native_code() == EROFS;
    if (is_new || !may_not_sync) throw;
  }
  return path;
}

// Errors that forbid writing to a directory, which may be readable nevertheless.
bool is_about_writing(const Error& error) {
  const int number = error.native_code();
  return number == EACCES || number == EPERM || number == EROFS || number == ENOSPC || number == EDQUOT;
}

}  // namespace

Directory::Directory(const Io& io, const Clock& clock, const std::string& path)
    : io_(io),
      clock_(clock),
      path_(prepared(io, path)),
      lock_(io, clock, path),
      fork_hook_({.before = nullptr, .in_parent = nullptr, .in_child = leave_lock}, this) {
  lock_if_writable();
}

Directory::Directory(Reading, const Io& io, const Clock& clock, const std::string& path)
    : io_(io),
      clock_(clock),
      path_(path),
      lock_(io, clock, path),
      fork_hook_({.before = nullptr, .in_parent = nullptr, .in_child = leave_lock}, this) {}

std::unique_ptr<Directory> Directory::for_reading(const Io& io, const Clock& clock, const std::string& path) {
  if (!is_directory(io, path)) fail_io("open the directory", path, -ENOENT);
  return std::unique_ptr<Directory>(new Directory(Reading{}, io, clock, path));
}

// An empty directory is opened to be written to, so there an error is reported at once.
void Directory::lock_if_writable() {
  try {
    lock_.ensure();
  } catch (const Error& error) {
    if (!is_about_writing(error) || steps().empty()) throw;
  }
}

// The lock lasts until the last descriptor of its file is closed: a child that outlives its parent would keep later
// writers out.
void Directory::leave_lock(void* directory) noexcept {
  auto& self = *static_cast<Directory*>(directory);
  self.lock_.forget();
  self.is_in_child_ = true;
}

std::string Directory::step_path(int64_t step) const { return path_ + "/" + kFolderLead + std::to_string(step); }

std::string Directory::index_path(int64_t step) const { return step_path(step) + "/" + kIndexName; }

std::vector<int64_t> Directory::folders() const {
  std::vector<int64_t> found;
  for (const std::string& name : names_in(io_, path_)) {
    const int64_t step = step_of(name.c_str());
    if (step >= 0) found.push_back(step);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int64_t> Directory::steps() const {
  std::vector<int64_t> found = folders();
  std::erase_if(found, [&](int64_t step) { return step == failed_ || !is_file(io_, index_path(step)); });
  return found;
}

void Directory::verify(int64_t step) const { OpenCheckpoint(io_, step_path(step), step).verify(); }

// A checkpoint that cannot be read, or has a newer version, may be complete: then the error is passed on.
bool Directory::is_whole(int64_t step) const {
  try {
    verify(step);
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::kFormat) throw;
    return false;
  }
}

// A save must not replace a complete checkpoint, nor make one that no load would choose.
void Directory::require_latest(int64_t step) const {
  for (int64_t later : steps()) {
    if (later < step || !is_whole(later)) continue;
    fail(Code::kState, "step", "step=%lld: %s holds the checkpoint of step %lld already", static_cast<long long>(step),
         path_.c_str(), static_cast<long long>(later));
  }
}

void Directory::save(int64_t step, const StateDict& state) {
  const std::unique_ptr<Save> save = begin_save(step, 1);
  save->finish({write_rank({.step = step, .save_id = save->id()}, state)});
}

std::unique_ptr<Directory::Save> Directory::begin_save(int64_t step, int64_t world_size) {
  if (is_in_child_) {
    fail(Code::kState, "checkpoint", "%s was opened by the process that forked this one; open it anew", path_.c_str());
  }
  if (lock_.ensure()) forget_steps();
  require_latest(step);
  clear_way(step);
  std::unique_ptr<Save> save(new Save(*this, step, world_size));
  make_directory(io_, step_path(step));
  return save;
}

Directory::Save::Save(Directory& directory, int64_t step, int64_t world_size)
    : directory_(directory),
      step_(step),
      id_(directory.next_save_id(step)),
      leftovers_(paths_in(directory.step_path(step), world_size)) {}

Directory::Save::~Save() {
  if (is_finished_) return;
  for (const std::string& path : leftovers_) remove_quietly(directory_.io_, path);
  // The first is the index, which alone makes the folder a checkpoint.
  if (!remove_quietly(directory_.io_, leftovers_.front())) directory_.failed_ = step_;
}

Index Directory::write_rank(const SaveRank& save, const StateDict& state) const {
  return write_tensors(io_, step_path(save.step), save, state);
}

void Directory::Save::finish(std::vector<Index> ranks) {
  write_index(directory_.io_, directory_.step_path(step_), merged(std::move(ranks)));
  sync_directory(directory_.io_, directory_.path_);
  is_finished_ = true;
  directory_.remove_before(step_);
  directory_.last_whole_ = step_;
}

// Called when the directory was replaced: drops what is cached about its steps.
void Directory::forget_steps() noexcept {
  last_whole_.reset();
  failed_.reset();
}

// Removes a damaged checkpoint of this step, and the files that a failed save could not remove, as on a disk that was
// unavailable for a while: those may look complete without being durable, and their index could hide the checkpoint
// that is saved now. A link in the place of the step's folder is left alone, and the save is refused.
void Directory::clear_way(int64_t step) {
  for (int64_t old : folders()) {
    if (old == step && !is_directory(io_, step_path(old))) fail_io("write into", step_path(old), -ENOTDIR);
    const bool has_failed = old == failed_ && is_directory(io_, step_path(old)) && is_file(io_, index_path(old));
    if (has_failed) remove(io_, index_path(old));
    if (old == failed_ || old == step) remove_step(old);
  }
  if (last_whole_ == step) last_whole_.reset();
  failed_.reset();
}

// The checkpoint to keep beside `step`: preferably one that this object has verified and that still exists.
std::optional<int64_t> Directory::before(int64_t step) const {
  if (last_whole_ && *last_whole_ < step && is_file(io_, index_path(*last_whole_))) return last_whole_;
  const std::vector<int64_t> known = steps();
  const auto end = std::lower_bound(known.begin(), known.end(), step);
  if (end == known.begin()) return std::nullopt;
  return *std::prev(end);
}

// Differs between saves if one of the two clocks advances. Files of different saves also have different checksums.
std::string Directory::next_save_id(int64_t step) const {
  const int64_t parts[] = {clock_.wall_ns(clock_.user), clock_.monotonic_ns(clock_.user), step};
  return checksum_of_text(reinterpret_cast<const char*>(parts), sizeof parts);
}

StateDict Directory::load_share(int64_t step, ContextDevice& device, const Share& share) const {
  const auto checkpoint = make_ref<OpenCheckpoint>(io_, step_path(step), step);
  checkpoint->verify(share);
  return state_of(checkpoint, device);
}

StateDict Directory::load_step(int64_t step, ContextDevice& device) {
  StateDict state = load_share(step, device, {});
  last_whole_ = step;
  return state;
}

std::optional<Directory::Loaded> Directory::load_latest(ContextDevice& device) {
  const std::vector<int64_t> candidates = steps();
  std::vector<int64_t> damaged;
  for (auto step = candidates.rbegin(); step != candidates.rend(); ++step) {
    try {
      return Loaded{.step = *step, .state = load_step(*step, device), .damaged = std::move(damaged)};
    } catch (const Error& error) {
      const bool is_last = std::next(step) == candidates.rend();
      if (error.code() != Code::kFormat || is_last) throw;
      damaged.push_back(*step);
    }
  }
  return std::nullopt;
}

// Removes the index first, so that an interrupted removal leaves no checkpoint. Files that no save has written stay. A
// link is not followed: in a directory that others may write to, it could point anywhere.
void Directory::remove_step(int64_t step) const {
  const std::string folder = step_path(step);
  if (!is_directory(io_, folder)) return;
  remove_quietly(io_, index_path(step));
  for (const std::string& name : names_in(io_, folder)) {
    if (is_file_of_checkpoint(name)) remove_quietly(io_, folder + "/" + name);
  }
  remove_quietly(io_, folder);
}

// Keeps one complete checkpoint before `step` and removes the others. Errors are ignored: the save has succeeded.
void Directory::remove_before(int64_t step) const noexcept {
  try {
    const std::optional<int64_t> kept = before(step);
    for (int64_t old : folders()) {
      if (old != step && old != kept) remove_if_possible(old);
    }
  } catch (...) {
  }
}

// An error in the removal of one step must not stop the removal of the others.
void Directory::remove_if_possible(int64_t step) const noexcept {
  try {
    remove_step(step);
  } catch (...) {
  }
}

}  // namespace halftone::checkpoint
