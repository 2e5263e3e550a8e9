#!/usr/bin/env python3
"""A sample in two processes under each launcher, which all give the same losses.

  tests/samples/launchers_test.py PROGRAM PATH/TO/halftone-run [CASE]...

mpirun, mpiexec and torchrun run if they are installed; otherwise those tests say "skipped". The variables of torchrun
and srun are also set here as those programs set them, so that the sample reads them on every machine.
"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import unittest

import gpt_test
import sample_run

launcher = None  # set by main

STEPS = ["--steps", "12", "--precision", "fp32", "--schedule", "constant", "--sharding", "full"]
# Variables of launchers that may be around this test.
FOREIGN = re.compile(r"(HALFTONE|OMPI|PMI|PMIX|SLURM|TORCHELASTIC|MASTER)_|(LOCAL_)?RANK$|(LOCAL_)?WORLD_SIZE$")


def free_port():
    """A port that is free, and the one after it, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                pass


def mapped_files(process):
    return pathlib.Path(f"/proc/{process}/maps").read_text()


def skip(reason):
    print(f"skipped: {reason}")
    raise unittest.SkipTest(reason)


class LaunchersTest(sample_run.ProgramTest):
    encoding = "latin-1"

    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_text(gpt_test.sentences())
        self.environment = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        self.expected = self.losses_of(self.run_launcher([launcher, "-n", "2", "--no-prefix"]))

    def sample(self, *more):
        self.log = self.folder / "log"
        self.log.unlink(missing_ok=True)
        return [sample_run.program, "--text", str(self.text), *gpt_test.SHAPE, *STEPS, "--log", str(self.log), *more]

    def losses_of(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("processes: 2\n", result.stdout)
        return [record["loss"] for record in sample_run.read_log(self.log)]

    def run_launcher(self, command, **variables):
        return subprocess.run([*command, *self.sample()], capture_output=True, text=True, encoding=self.encoding,
                              env={**self.environment, **variables}, timeout=120)

    def run_processes(self, variables_of):
        """Starts both processes without a launcher."""
        sample = self.sample()
        processes = [subprocess.Popen(sample, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      encoding=self.encoding, env={**self.environment, **variables_of(rank)})
                     for rank in range(2)]
        outputs = [process.communicate(timeout=120) for process in processes]
        for process, (_, errors) in zip(processes, outputs):
            self.assertEqual(process.returncode, 0, errors)
        return subprocess.CompletedProcess(sample, 0, *outputs[0])

    def test_only_the_group_that_was_asked_for_is_there(self):
        for kind, other in (("gloo", "memfd:"), ("shared_memory", "libhalftone_gloo.so")):
            running = subprocess.Popen([launcher, "-n", "2", "--group", kind, *self.sample("--steps", "1000000")],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       encoding=self.encoding, env=self.environment)
            self.addCleanup(running.kill)
            self.wait_for_steps(running, 2)
            ranks = sample_run.ranks_of(running)
            self.assertEqual(len(ranks), 2)
            maps = mapped_files(ranks[0])
            running.terminate()
            running.communicate(timeout=60)
            self.assertNotIn(other, maps, kind)
            self.assertIn("libhalftone_gloo.so" if kind == "gloo" else "memfd:", maps, kind)

    def test_mpirun_of_open_mpi(self):
        mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        if mpirun is None or not re.search("Open MPI|OpenRTE", self.version_of(mpirun)):
            skip("no mpirun of Open MPI (Debian: openmpi-bin)")
        result = self.run_launcher([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2"],
                                   MASTER_PORT=str(free_port()))
        self.assertEqual(self.losses_of(result), self.expected)

    def test_mpiexec_of_mpich(self):
        mpiexec = shutil.which("mpiexec.hydra")
        if mpiexec is None:
            skip("no mpiexec of MPICH (Debian: mpich)")
        result = self.run_launcher([mpiexec, "-n", "2"], MASTER_PORT=str(free_port()))
        self.assertEqual(self.losses_of(result), self.expected)

    def version_of(self, mpirun):
        return subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout

    def test_torchrun(self):
        torchrun = shutil.which("torchrun")
        if torchrun is None:
            skip("no torchrun (it comes with PyTorch)")
        # PyTorch 1.13 knows no hyphens in these names, later versions know both forms.
        command = [torchrun, "--no_python", "--nproc_per_node", "2", "--master_port"]
        probe = subprocess.run([*command, str(free_port()), "true"], capture_output=True, text=True)
        if probe.returncode != 0:  # Debian's 1.13 does not work with its Python 3.11
            skip(f"torchrun cannot start a program here: {probe.stderr.strip().splitlines()[-1]}")
        result = self.run_launcher([*command, str(free_port())])
        self.assertEqual(self.losses_of(result), self.expected)

    def test_the_variables_of_torchrun(self):
        """As _start_workers sets them in torch/distributed/elastic/agent/server/local_elastic_agent.py. The agent's own
        store listens at MASTER_PORT."""
        port = free_port()
        with socket.create_server(("127.0.0.1", port)):
            result = self.run_processes(lambda rank: {
                "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2",
                "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1", "ROLE_RANK": str(rank), "ROLE_NAME": "default",
                "ROLE_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_RUN_ID": "none",
                "TORCHELASTIC_USE_AGENT_STORE": "True"})
        self.assertEqual(self.losses_of(result), self.expected)

    def test_the_variables_of_srun(self):
        """As the manual of srun lists them under OUTPUT ENVIRONMENT VARIABLES, for `srun -N 1 -n 2`."""
        job = str(free_port() % 10000)  # from which the port of the store follows
        result = self.run_processes(lambda rank: {
            "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_NPROCS": "2", "SLURM_LOCALID": str(rank),
            "SLURM_NODEID": "0", "SLURM_NNODES": "1", "SLURM_TASKS_PER_NODE": "2", "SLURM_STEP_TASKS_PER_NODE": "2",
            "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2",
            "SLURM_JOB_NODELIST": "localhost", "SLURM_STEP_NODELIST": "localhost", "HALFTONE_SECRET": "of this test"})
        self.assertEqual(self.losses_of(result), self.expected)


if __name__ == "__main__":
    launcher = os.path.abspath(sys.argv.pop(2))
    sample_run.main()
