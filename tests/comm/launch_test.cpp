#include "comm/launch/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace halftone {
namespace {

using Environment = std::map<std::string, std::string>;

Launch launch_of(const Environment& environment) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found != environment.end() ? found->second.c_str() : nullptr;
  });
}

void expect_place(const Launch& launch, int rank, int size, int local_rank, int local_size) {
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.size, size);
  EXPECT_EQ(launch.local_rank, local_rank);
  EXPECT_EQ(launch.local_size, local_size);
}

TEST(Launch, AProcessWithoutALauncherIsTheOnlyRank) {
  const Launch launch = launch_of({});
  EXPECT_EQ(launch.launcher, "none");
  expect_place(launch, 0, 1, 0, 1);
  EXPECT_EQ(launch.address, "");
  EXPECT_EQ(launch.group, "");
}

TEST(Launch, ReadsHalftoneRunsVariables) {
  const Launch launch = launch_of({{"RANK", "3"},
                                   {"WORLD_SIZE", "4"},
                                   {"LOCAL_RANK", "1"},
                                   {"LOCAL_WORLD_SIZE", "2"},
                                   {"MASTER_ADDR", "10.0.0.1"},
                                   {"MASTER_PORT", "29500"},
                                   {"HALFTONE_LAUNCHER", "halftone-run"},
                                   {"HALFTONE_GROUP", "gloo"},
                                   {"HALFTONE_STORE", "/tmp/store"},
                                   {"HALFTONE_SECRET", "abc"}});
  EXPECT_EQ(launch.launcher, "halftone-run");
  expect_place(launch, 3, 4, 1, 2);
  EXPECT_EQ(launch.address, "10.0.0.1:29500");
  EXPECT_EQ(launch.group, "gloo");
  EXPECT_EQ(launch.path, "/tmp/store");
  EXPECT_EQ(launch.secret, "abc");
}

TEST(Launch, TakesThePortBesideTorchrunsOwnStore) {
  const Launch launch = launch_of({{"RANK", "0"},
                                   {"WORLD_SIZE", "2"},
                                   {"LOCAL_RANK", "0"},
                                   {"MASTER_ADDR", "::1"},
                                   {"MASTER_PORT", "29500"},
                                   {"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.address, "[::1]:29501");
  expect_place(launch, 0, 2, 0, 2);
}

TEST(Launch, ReadsOpenMpisAndMpichsVariables) {
  const Launch open_mpi = launch_of({{"OMPI_COMM_WORLD_RANK", "5"},
                                     {"OMPI_COMM_WORLD_SIZE", "8"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                     {"MASTER_PORT", "1000"}});
  EXPECT_EQ(open_mpi.launcher, "mpirun");
  expect_place(open_mpi, 5, 8, 1, 4);
  EXPECT_EQ(open_mpi.address, "") << "the ranks are on several machines, and none was named";
  const Launch mpich = launch_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MASTER_PORT", "1000"}});
  expect_place(mpich, 1, 2, 1, 2);
  EXPECT_EQ(mpich.address, "127.0.0.1:1000");
}

TEST(Launch, ReadsSlurmsVariables) {
  const Launch launch = launch_of({{"SLURM_PROCID", "2"},
                                   {"SLURM_NTASKS", "4"},
                                   {"SLURM_LOCALID", "0"},
                                   {"SLURM_NTASKS_PER_NODE", "2"},
                                   {"SLURM_JOB_ID", "1234567"},
                                   {"SLURM_JOB_NODELIST", "node[07-09,12],gpu1"}});
  EXPECT_EQ(launch.launcher, "srun");
  expect_place(launch, 2, 4, 0, 2);
  EXPECT_EQ(launch.address, "node07:24567");
}

// Three tasks on two machines, without --ntasks-per-node: Slurm then sets no SLURM_NTASKS_PER_NODE.
TEST(Launch, CountsTheTasksOfItsOwnMachineAmongSlurms) {
  Environment step = {{"SLURM_PROCID", "2"},
                      {"SLURM_NTASKS", "3"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_TASKS_PER_NODE", "8"},  // of the job, of which the step takes a part
                      {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                      {"SLURM_JOB_ID", "7"},
                      {"SLURM_STEP_NODELIST", "a,b"}};
  expect_place(launch_of(step), 2, 3, 0, 1);
  step["SLURM_NODEID"] = "0";
  step["SLURM_PROCID"] = "1";
  step["SLURM_LOCALID"] = "1";
  expect_place(launch_of(step), 1, 3, 1, 2);
}

TEST(Launch, ReadsSlurmsListsOfTasks) {
  EXPECT_EQ(tasks_on_machine("4", 0), 4);
  EXPECT_EQ(tasks_on_machine("2(x3),1", 2), 2);
  EXPECT_EQ(tasks_on_machine("2(x3),1", 3), 1);
  for (const char* list : {"", "x", "2(x", "2(x)", "2(xy)", ",", "-1", "2(x3"}) {
    EXPECT_EQ(tasks_on_machine(list, 0), 0) << list;
  }
  EXPECT_EQ(tasks_on_machine("2(x3)", 3), 0);
}

TEST(Launch, FindsTheFirstMachineOfSlurmsLists) {
  EXPECT_EQ(first_machine("node1"), "node1");
  EXPECT_EQ(first_machine("a,b,c"), "a");
  EXPECT_EQ(first_machine("node[3,5]"), "node3");
  EXPECT_EQ(first_machine("node[003-010]"), "node003");
  EXPECT_EQ(first_machine(""), "");
}

TEST(Launch, AWrongVariableIsNamed) {
  const Environment good = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_NO_THROW(launch_of(good));
  const std::pair<const char*, const char*> wrong[] = {
      {"RANK", "2"},        {"RANK", "one"},         {"RANK", ""}, {"WORLD_SIZE", "0"}, {"WORLD_SIZE", ""},
      {"LOCAL_RANK", "-1"}, {"MASTER_PORT", "65536"}};
  for (const auto& [name, value] : wrong) {
    Environment environment = good;
    environment[name] = value;
    try {
      launch_of(environment);
      ADD_FAILURE() << name << "=" << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace halftone
