#include "run.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace halftone_run {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

std::string make_folder() {
  const char* base = secure_getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/halftone-run-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) fail("cannot make a folder for the store");
  return path;
}

void remove(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// A process that outlives the launcher, in a session of its own, and removes the folder then. The launcher holds the
// other end of its pipe, which closes with the launcher, however that ends.
pid_t start_keeper(const std::string& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
  const pid_t keeper = fork();
  if (keeper < 0) fail("cannot start a process");
  if (keeper != 0) {
    close(ends[0]);
    return keeper;
  }
  setsid();
  // It keeps no file of the launcher's open: readers of its output wait for the end of that.
  for (int file = 0; file < static_cast<int>(sysconf(_SC_OPEN_MAX)) && file < 1024; ++file) {
    if (file != ends[0]) close(file);
  }
  char byte;
  while (read(ends[0], &byte, 1) < 0 && errno == EINTR) continue;
  remove(folder);
  _exit(0);
}

// Another one for each run, so that processes of different runs cannot meet.
std::string make_secret() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) fail("cannot draw a secret");
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

int open_signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&taken, signal);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  signal(SIGPIPE, SIG_IGN);  // output without a reader does not end the run
  const int file = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file < 0) fail("cannot wait for signals");
  return file;
}

}  // namespace

Run::Run(const Options& options) : options_(options) {
  const char* secret = secure_getenv("HALFTONE_SECRET");
  secret_ = secret != nullptr && *secret != '\0' ? secret : make_secret();
  signals_ = open_signals();
  if (options.machines != 1) return;
  folder_ = make_folder();
  keeper_ = start_keeper(folder_);
}

// Reached with running processes only after an error.
Run::~Run() {
  for (const Process& process : processes_) process.send_signal(SIGKILL);
  if (keeper_ > 0) {
    remove(folder_);
    kill(keeper_, SIGKILL);
    waitpid(keeper_, nullptr, 0);
  }
  close(signals_);
}

int Run::wait() {
  start();
  while (!is_over()) {
    wait_for_events();
    take_signals();
    copy_outputs();
    take_ends();
    kill_late();
  }
  copy_outputs();
  for (Process& process : processes_) {
    for (Output& output : process.outputs()) output.writer.finish();
  }
  return exit_code_;
}

void Run::start() {
  for (int local_rank = 0; local_rank < options_.local_size; ++local_rank) {
    const int rank = options_.machine * options_.local_size + local_rank;
    processes_.emplace_back(rank, options_.command, variables_of(local_rank), options_.prefixes);
  }
}

Variables Run::variables_of(int local_rank) const {
  const int local_size = options_.local_size;
  Variables variables = {{"RANK", std::to_string(options_.machine * local_size + local_rank)},
                         {"WORLD_SIZE", std::to_string(options_.machines * local_size)},
                         {"LOCAL_RANK", std::to_string(local_rank)},
                         {"LOCAL_WORLD_SIZE", std::to_string(local_size)},
                         {"HALFTONE_LAUNCHER", "halftone-run"},
                         {"HALFTONE_GROUP", options_.group},
                         {"HALFTONE_SECRET", secret_}};
  if (folder_.empty()) {
    const size_t colon = options_.rendezvous.rfind(':');
    variables.emplace_back("MASTER_ADDR", options_.rendezvous.substr(0, colon));
    variables.emplace_back("MASTER_PORT", options_.rendezvous.substr(colon + 1));
  } else {
    variables.emplace_back("HALFTONE_STORE", folder_ + "/store");
  }
  if (getenv("HALFTONE_NUM_THREADS") == nullptr) {
    variables.emplace_back("HALFTONE_NUM_THREADS", std::to_string(std::max(1, processors() / local_size)));
  }
  return variables;
}

void Run::copy_outputs() {
  for (Process& process : processes_) {
    for (Output& output : process.outputs()) {
      if (output.pipe >= 0) copy_output(output);
    }
  }
}

void Run::wait_for_events() {
  std::vector<pollfd> files = {{.fd = signals_, .events = POLLIN, .revents = 0}};
  for (Process& process : processes_) {
    for (const Output& output : process.outputs()) {
      if (output.pipe >= 0) files.push_back({.fd = output.pipe, .events = POLLIN, .revents = 0});
    }
  }
  if (poll(files.data(), files.size(), milliseconds_to_kill()) < 0 && errno != EINTR) fail("cannot wait");
}

// A second interrupt kills.
void Run::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (is_stopping_) {
      stop_time_ = 0;
      continue;
    }
    exit_code_ = 128 + signal;
    // A terminal has sent its interrupt to the processes as well.
    const bool is_from_terminal = signal == SIGINT && info.ssi_code == SI_KERNEL;
    stop(is_from_terminal ? 0 : signal);
  }
}

void Run::take_ends() {
  for (Process& process : processes_) {
    int status = 0;
    if (!process.has_ended() && waitpid(process.id(), &status, WNOHANG) == process.id()) note_end(process, status);
  }
}

void Run::note_end(Process& process, int status) {
  process.end(status);
  if (!process.has_failed() || is_stopping_) return;
  exit_code_ = process.exit_code();
  const auto still_runs = [](const Process& other) { return !other.has_ended(); };
  const auto others = std::count_if(processes_.begin(), processes_.end(), still_runs);
  std::fprintf(stderr, "halftone-run: rank %d (process %d) %s", process.rank(), static_cast<int>(process.id()),
               process.end_text().c_str());
  std::fprintf(stderr, others > 0 ? "; stopping the other %d\n" : "\n", static_cast<int>(others));
  // The others learn of it in their next operation, and end with messages of their own.
  stop(0);
}

void Run::stop(int signal) {
  is_stopping_ = true;
  stop_time_ = now();
  if (signal == 0) return;
  for (const Process& process : processes_) process.send_signal(signal);
}

// Asks first: half of the time is for processes that wait for nothing of the others.
void Run::kill_late() {
  if (!is_stopping_ || now() - stop_time_ < options_.grace_seconds / 2) return;
  const bool is_late = now() - stop_time_ >= options_.grace_seconds;
  if (is_killing_ && !is_late) return;
  for (const Process& process : processes_) process.send_signal(is_late ? SIGKILL : SIGTERM);
  is_killing_ = true;
}

// A pipe may stay open in a process that a rank has started and left behind: it is not waited for.
bool Run::is_over() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const Process& process) { return process.has_ended(); });
}

int Run::milliseconds_to_kill() const {
  if (!is_stopping_) return -1;
  const double limit = is_killing_ ? options_.grace_seconds : options_.grace_seconds / 2;
  return static_cast<int>(std::clamp((stop_time_ + limit - now()) * 1000 + 1, 1.0, 1000.0));
}

}  // namespace halftone_run
