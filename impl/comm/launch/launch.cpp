#include "comm/launch/launch.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "core/error.h"

namespace halftone {
namespace {

constexpr int64_t kMaxRanks = int64_t{1} << 20;
constexpr int64_t kMaxPort = 65535;
// Slurm gives a job no port. Those of jobs side by side differ, and lie below the ports that systems hand out.
constexpr int64_t kFirstJobPort = 20000;
constexpr int64_t kJobPorts = 10000;

// The variables in which a launcher tells a process its place.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;  // null for Slurm, which tells the numbers of all machines
};

constexpr Names kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
};

std::string text_of(const Variables& variables, const char* name) {
  const char* value = variables(name);
  return value != nullptr ? value : "";
}

std::optional<int64_t> number_in(const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) return std::nullopt;
  return value;
}

// `otherwise` where the variable is not set; without one it must be.
int32_t number_of(const Variables& variables, const char* name, int64_t least, int64_t most,
                  std::optional<int32_t> otherwise = std::nullopt) {
  const std::string text = text_of(variables, name);
  if (text.empty() && otherwise) return *otherwise;
  const std::optional<int64_t> value = number_in(text, least, most);
  if (!value) {
    fail(Code::kInvalidArgument, "", "the variable %s is \"%.64s\", expected a number from %lld to %lld", name,
         text.c_str(), static_cast<long long>(least), static_cast<long long>(most));
  }
  return static_cast<int32_t>(*value);
}

// Slurm's SLURM_NTASKS_PER_NODE is there only if the user asked for a number; the list of the step always is.
int32_t slurm_local_size(const Variables& variables, int32_t size) {
  const int32_t machine = number_of(variables, "SLURM_NODEID", 0, kMaxRanks, 0);
  const int64_t tasks = tasks_on_machine(text_of(variables, "SLURM_STEP_TASKS_PER_NODE"), machine);
  return tasks >= 1 && tasks <= size ? static_cast<int32_t>(tasks)
                                     : number_of(variables, "SLURM_NTASKS_PER_NODE", 1, kMaxRanks, size);
}

void read_place(const Variables& variables, const Names& names, Launch& launch) {
  launch.launcher = names.launcher;
  launch.size = number_of(variables, names.size, 1, kMaxRanks);
  launch.rank = number_of(variables, names.rank, 0, launch.size - 1);
  launch.local_rank = number_of(variables, names.local_rank, 0, launch.size - 1, launch.rank);
  launch.local_size = names.local_size != nullptr ? number_of(variables, names.local_size, 1, kMaxRanks, launch.size)
                                                  : slurm_local_size(variables, launch.size);
}

std::string address_of_machine(const Variables& variables, const Launch& launch) {
  std::string machine = text_of(variables, "MASTER_ADDR");
  if (machine.empty()) machine = first_machine(text_of(variables, "SLURM_STEP_NODELIST"));
  if (machine.empty()) machine = first_machine(text_of(variables, "SLURM_JOB_NODELIST"));
  if (machine.empty() && launch.local_size == launch.size) machine = "127.0.0.1";
  const bool is_bare_ipv6 = machine.find(':') != std::string::npos && machine.front() != '[';
  return is_bare_ipv6 ? "[" + machine + "]" : machine;
}

// Torchrun's own store is at MASTER_PORT, so that of a group is beside it.
int64_t port_of(const Variables& variables) {
  const bool has_agent = variables("TORCHELASTIC_RUN_ID") != nullptr;
  if (variables("MASTER_PORT") != nullptr) {
    return number_of(variables, "MASTER_PORT", 0, kMaxPort - (has_agent ? 1 : 0)) + (has_agent ? 1 : 0);
  }
  const std::optional<int64_t> job = number_in(text_of(variables, "SLURM_JOB_ID"), 0, INT64_MAX);
  return job ? kFirstJobPort + *job % kJobPorts : -1;
}

}  // namespace

Launch read_launch(const Variables& variables) {
  Launch launch;
  for (const Names& names : kLaunchers) {
    if (variables(names.rank) == nullptr) continue;
    read_place(variables, names, launch);
    break;
  }
  const std::string launcher = text_of(variables, "HALFTONE_LAUNCHER");
  if (!launcher.empty()) launch.launcher = launcher;
  launch.group = text_of(variables, "HALFTONE_GROUP");
  launch.path = text_of(variables, "HALFTONE_STORE");
  launch.secret = text_of(variables, "HALFTONE_SECRET");
  const std::string machine = address_of_machine(variables, launch);
  const int64_t port = port_of(variables);
  if (!machine.empty() && port >= 0) launch.address = machine + ":" + std::to_string(port);
  return launch;
}

Launch read_launch() { return read_launch(secure_getenv); }

std::string first_machine(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return name;
  const size_t begin = end + 1;
  return name + list.substr(begin, list.find_first_of("-,]", begin) - begin);
}

int64_t tasks_on_machine(const std::string& list, int64_t machine) {
  size_t begin = 0;
  for (int64_t machines = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    const size_t times = entry.find("(x");
    const std::optional<int64_t> tasks = number_in(entry.substr(0, times), 1, kMaxRanks);
    std::optional<int64_t> count = 1;
    if (times != std::string::npos) {
      count = std::nullopt;
      if (entry.back() == ')') count = number_in(entry.substr(times + 2, entry.size() - times - 3), 1, kMaxRanks);
    }
    if (!tasks || !count) return 0;
    machines += *count;
    if (machine < machines) return *tasks;
    begin = end + 1;
  }
  return 0;
}

}  // namespace halftone
