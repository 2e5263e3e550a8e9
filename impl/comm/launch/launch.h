// This process's place in a run of many, as its launcher tells it by environment variables: halftone-run and torchrun,
// Open MPI's and MPICH's mpirun, and Slurm's srun. Pure functions, but for read_launch() itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace halftone {

struct Launch {
  std::string launcher = "none";
  int32_t rank = 0;
  int32_t size = 1;
  int32_t local_rank = 0;  // among the processes of this machine
  int32_t local_size = 1;
  std::string group;    // the kind of group that the launcher asks for; empty: the caller chooses
  std::string address;  // of the TCP store, "address:port"; empty without one
  std::string path;     // of the file store; empty without one
  std::string secret;
};

// The value of a variable; null where it is not set.
using Variables = std::function<const char*(const char* name)>;

// Variables win in this order: RANK and WORLD_SIZE (halftone-run, torchrun), Open MPI's, MPICH's, Slurm's. Throws
// INVALID_ARGUMENT naming a variable that is invalid, or missing while others of its launcher are set.
Launch read_launch(const Variables& variables);
// Reads the environment with secure_getenv: setuid programs see no variables.
Launch read_launch();

// The first machine of a list of Slurm's: "node[07-09,12],gpu1" is node07.
std::string first_machine(const std::string& list);
// The number of processes on a machine, counted from 0, by a list of Slurm's: "2(x3),1" is 2, 2, 2 and 1. 0 if the list
// does not tell it.
int64_t tasks_on_machine(const std::string& list, int64_t machine);

}  // namespace halftone
