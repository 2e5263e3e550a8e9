// Kills a process at random moments while it saves one checkpoint after another, and lets the next process continue:
// P4(a), S1. Each process must load the newest checkpoint that the one before had committed, or the one that it was
// saving, complete and bitwise equal. Prints one line; the exit status is 1 if anything is wrong.
//   kill_exhaustive [--sample N]       N kills; 1,000 by default
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/directory.h"
#include "core/error.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone {
namespace {

constexpr int64_t kElements = 20000;

// Shared between the processes, in memory that outlives a kill.
struct Board {
  std::atomic<int64_t> committed;  // the newest step whose save has returned
  std::atomic<int64_t> saving;     // the newest step whose save has begun
  std::atomic<int64_t> loads;
  std::atomic<int64_t> fallbacks;  // loads that skipped a later step
  std::atomic<int64_t> wrong;
};

ContextOptions one_thread() {
  ContextOptions options;
  options.num_threads = 1;
  return options;
}

// Every element of every tensor holds the step.
StateDict state_of(ContextDevice& device, int64_t step) {
  StateDict state;
  const std::vector<int64_t> values(kElements, step);
  state.add("first", from_host(device, DType::kI64, {kElements}, values.data()));
  state.add("second", from_host(device, DType::kI64, {kElements / 4, 4}, values.data()));
  state.add("step", step);
  return state;
}

bool is_state_of(const StateDict& state, int64_t step) {
  const std::vector<int64_t> expected(kElements, step);
  for (const char* name : {"first", "second"}) {
    std::vector<int64_t> values(kElements);
    if (state.find(name) == nullptr || state.find(name)->numel() != kElements) return false;
    read_to_host(in_memory(*state.find(name)), DType::kI64, values.data());
    if (values != expected) return false;
  }
  return std::get<int64_t>(*state.find_scalar("step")) == step;
}

// Returns the step after which the next save follows.
int64_t check_what_is_left(checkpoint::Directory& directory, ContextDevice& device, Board& board) {
  const int64_t committed = board.committed, saving = board.saving;
  const auto loaded = directory.load_latest(device);
  const int64_t step = loaded ? loaded->step : 0;
  const bool is_whole = !loaded || is_state_of(loaded->state, step);
  if (!is_whole || step < committed || step > saving) {
    std::printf("loaded step %lld, %s; %lld was committed, %lld was being saved\n", static_cast<long long>(step),
                is_whole ? "whole" : "a mixture", static_cast<long long>(committed), static_cast<long long>(saving));
    ++board.wrong;
  }
  if (loaded && !loaded->damaged.empty()) ++board.fallbacks;
  board.committed = step;
  ++board.loads;
  return step;
}

void run_process(const std::string& path, Board& board, int64_t saves) {
  const Ref<Context> context = make_ref<Context>(one_thread());
  ContextDevice& device = context->device("cpu");
  checkpoint::Directory directory(system_io(), system_clock(), path);
  int64_t step = check_what_is_left(directory, device, board);
  for (; saves > 0; --saves) {
    const StateDict state = state_of(device, ++step);
    board.saving = step;
    directory.save(step, state);
    board.committed = step;
  }
}

pid_t start_process(const std::string& path, Board& board, int64_t saves) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    run_process(path, board, saves);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    std::fflush(nullptr);
    ++board.wrong;
  }
  _exit(0);
}

void wait_for(pid_t child) { waitpid(child, nullptr, 0); }

int64_t now_ns() { return system_clock().monotonic_ns(nullptr); }

void sleep_ns(int64_t duration) {
  const timespec delay = {.tv_sec = duration / 1'000'000'000, .tv_nsec = duration % 1'000'000'000};
  nanosleep(&delay, nullptr);
}

bool survives_kills(const std::string& path, int64_t kills) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  Board& board = *new (memory) Board{};
  const int64_t begin = now_ns();
  wait_for(start_process(path, board, 5));
  // The moments cover the time from a process's first system call to its fifth save, on a fast or a slow disk. If the
  // machine is busy and few processes reach a save, the moments become later.
  int64_t latest = now_ns() - begin;
  std::mt19937 random(1);
  for (int64_t i = 0; i < kills && board.wrong == 0; ++i) {
    const pid_t child = start_process(path, board, INT64_MAX);
    sleep_ns(std::uniform_int_distribution<int64_t>(0, latest)(random));
    kill(child, SIGKILL);
    wait_for(child);
    if (board.committed < 2 * i) latest += latest / 16;
  }
  wait_for(start_process(path, board, 0));
  const int64_t wrong = board.wrong;
  std::printf("%lld kills, %lld loads, %lld fell back to the checkpoint before, %lld checkpoints, %lld wrong\n",
              static_cast<long long>(kills), static_cast<long long>(board.loads),
              static_cast<long long>(board.fallbacks), static_cast<long long>(board.committed),
              static_cast<long long>(wrong));
  const bool has_run = board.loads > kills / 4 && board.committed > kills;
  if (!has_run) std::printf("too few processes came to save anything\n");
  munmap(memory, sizeof(Board));
  return wrong == 0 && has_run;
}

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  const bool is_sample = argc == 3 && std::strcmp(argv[1], "--sample") == 0;
  const int64_t kills = is_sample ? std::strtoll(argv[2], nullptr, 10) : 1000;
  // A kill does not affect the system's caches, so files in memory show the same faults, and faster.
  const bool has_memory_files = access("/dev/shm", W_OK) == 0;
  const std::filesystem::path parent = has_memory_files ? "/dev/shm" : std::filesystem::temp_directory_path();
  std::string folder = parent / "halftone-kill-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return EXIT_FAILURE;
  const bool is_right = halftone::survives_kills(folder + "/run", kills);
  std::filesystem::remove_all(folder);
  return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
