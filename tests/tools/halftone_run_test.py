#!/usr/bin/python3
"""Runs small programs under halftone-run: halftone_run_test.py PATH/TO/halftone-run"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAUNCHER = ""


def run(*arguments, script=None, **settings):
    command = [LAUNCHER, *arguments] + (["sh", "-c", script] if script else [])
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **settings)


class HalftoneRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {**os.environ, "TMPDIR": self.folder.name}
        self.environment.pop("HALFTONE_NUM_THREADS", None)
        self.environment.pop("HALFTONE_SECRET", None)
        self.environment.pop("HALFTONE_GROUP", None)

    def tearDown(self):
        self.assertEqual(os.listdir(self.folder.name), [], "the folder of the store is left behind")
        self.folder.cleanup()

    def test_each_process_gets_its_place(self):
        result = run("-n", "3", "--no-prefix", env=self.environment,
                     script='echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $HALFTONE_GROUP"')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"{r}/3 {r}/3 shared_memory" for r in range(3)])

    def test_the_kind_of_group_is_the_options_or_the_callers(self):
        wishes = {(): "shared_memory", ("--group", "gloo"): "gloo", ("--group", "shared_memory"): "shared_memory"}
        for options, kind in wishes.items():
            result = run("-n", "1", *options, env=self.environment, script="echo $HALFTONE_GROUP")
            self.assertEqual(result.stdout, f"[0] {kind}\n")
            result = run("-n", "1", *options, env={**self.environment, "HALFTONE_GROUP": "gloo"},
                         script="echo $HALFTONE_GROUP")
            self.assertEqual(result.stdout, f"[0] {kind if options else 'gloo'}\n")

    def test_processes_share_a_store_and_a_secret_of_their_run(self):
        lines = {run("-n", "2", "--no-prefix", env=self.environment,
                     script='echo "$HALFTONE_STORE $HALFTONE_SECRET"').stdout for _ in range(2)}
        self.assertEqual(len(lines), 2, "two runs must differ")
        for output in lines:
            first, second = output.splitlines()
            self.assertEqual(first, second)
            self.assertTrue(first.startswith(self.folder.name))
            self.assertRegex(first, r" [0-9a-f]{32}$")

    def test_processors_are_shared_unless_the_user_says_otherwise(self):
        count = max(1, len(os.sched_getaffinity(0)) // 2)
        result = run("-n", "2", "--no-prefix", env=self.environment, script="echo $HALFTONE_NUM_THREADS")
        self.assertEqual(result.stdout, f"{count}\n{count}\n")
        result = run("-n", "2", "--no-prefix", env={**self.environment, "HALFTONE_NUM_THREADS": "7"},
                     script="echo $HALFTONE_NUM_THREADS")
        self.assertEqual(result.stdout, "7\n7\n")

    def test_lines_have_the_rank_and_stay_whole(self):
        result = run("-n", "2", env=self.environment,
                     script='for i in 1 2 3; do printf a; sleep 0.01; echo b; done; printf "no end" >&2')
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] ab"] * 3 + ["[1] ab"] * 3)
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] no end", "[1] no end"])

    def test_rank_0_has_the_standard_input(self):
        result = run("-n", "2", env=self.environment, script="cat", input="text\n")
        self.assertEqual(result.stdout, "[0] text\n")

    def test_a_failure_stops_the_others_and_is_told_once(self):
        begin = time.monotonic()
        result = run("-n", "3", "--grace", "1", env=self.environment,
                     script="if [ $RANK = 1 ]; then exit 3; fi; exec sleep 50")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr,
                         r"^halftone-run: rank 1 \(process \d+\) exited with status 3; stopping the other 2\n$")

    def test_a_process_that_is_killed_gives_the_status_of_its_signal(self):
        result = run("-n", "2", "--grace", "1", env=self.environment,
                     script="if [ $RANK = 0 ]; then kill -9 $$; fi; exec sleep 50")
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 0", result.stderr)
        self.assertIn("was killed by signal 9", result.stderr)

    def test_a_process_that_ignores_the_request_is_killed(self):
        result = run("-n", "2", "--grace", "0.5", env=self.environment,
                     script="if [ $RANK = 0 ]; then exit 4; fi; trap '' TERM; while :; do sleep 0.1; done")
        self.assertEqual(result.returncode, 4)

    def test_others_may_end_by_themselves(self):
        result = run("-n", "2", "--grace", "20", env=self.environment,
                     script="if [ $RANK = 0 ]; then exit 4; fi; sleep 0.3; echo saved")
        self.assertEqual(result.stdout, "[1] saved\n")
        self.assertEqual(result.returncode, 4)

    def test_a_request_to_end_goes_to_every_process(self):
        script = "trap 'echo ended; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
        launcher = subprocess.Popen([LAUNCHER, "-n", "2", "sh", "-c", script], env=self.environment,
                                    stdout=subprocess.PIPE, text=True)
        self.assertEqual(sorted(launcher.stdout.readline() for _ in range(2)), ["[0] ready\n", "[1] ready\n"])
        launcher.send_signal(signal.SIGTERM)
        output, _ = launcher.communicate(timeout=30)
        self.assertEqual(sorted(output.splitlines()), ["[0] ended", "[1] ended"])
        self.assertEqual(launcher.returncode, 128 + signal.SIGTERM)

    def test_a_launcher_that_is_killed_takes_its_processes_along(self):
        script = "echo $$; exec sleep 50"
        launcher = subprocess.Popen([LAUNCHER, "-n", "1", "sh", "-c", script], env=self.environment,
                                    stdout=subprocess.PIPE, text=True)
        process = int(launcher.stdout.readline().removeprefix("[0] "))
        launcher.kill()
        launcher.communicate(timeout=30)
        deadline = time.monotonic() + 20
        while Path(f"/proc/{process}/stat").exists() and time.monotonic() < deadline:
            if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                break
            time.sleep(0.02)
        self.assertLess(time.monotonic(), deadline, "the process lives on")
        while os.listdir(self.folder.name) and time.monotonic() < deadline:  # tearDown expects that the folder is gone
            time.sleep(0.02)

    def test_several_machines_take_their_part_of_the_ranks(self):
        environment = {**self.environment, "HALFTONE_SECRET": "word"}
        result = run("-n", "2", "--nnodes", "3", "--node-rank", "1", "--rendezvous", "[::1]:29500", "--no-prefix",
                     env=environment,
                     script='echo "$RANK/$WORLD_SIZE $LOCAL_RANK $HALFTONE_GROUP $MASTER_ADDR $MASTER_PORT $HALFTONE_SECRET"')
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["2/6 0 gloo [::1] 29500 word", "3/6 1 gloo [::1] 29500 word"])

    def test_shared_memory_reaches_no_other_machine(self):
        machines = ("-n", "1", "--nnodes", "2", "--rendezvous", "a:1")
        environment = {**self.environment, "HALFTONE_SECRET": "word"}
        for result in (run(*machines, "--group", "shared_memory", "sh", env=environment),
                       run(*machines, "sh", env={**environment, "HALFTONE_GROUP": "shared_memory"})):
            self.assertEqual(result.returncode, 2)
            self.assertIn("the group shared_memory is for one machine", result.stderr)

    def test_a_program_that_is_not_there_is_named(self):
        result = run("-n", "1", "/nowhere/program", env=self.environment)
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot run /nowhere/program: No such file", result.stderr)

    def test_wrong_arguments_are_refused(self):
        wrong = {("sh",): "-n is missing", ("-n", "0", "sh"): "-n 0", ("-n", "two", "sh"): "-n two",
                 ("-n",): "-n needs a value", ("-n", "1"): "the program is missing",
                 ("-n", "1", "--nnodes", "2", "sh"): "--rendezvous", ("--what", "sh"): "--what",
                 ("-n", "1", "--node-rank", "1", "sh"): "--nnodes", ("--no-prefix=1", "-n", "1", "sh"): "no value",
                 ("-n", "1", "--nnodes", "2", "--rendezvous", "a:1", "sh"): "HALFTONE_SECRET"}
        for arguments, part in wrong.items():
            result = run(*arguments, env=self.environment)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(part, result.stderr)

    def test_help_and_version(self):
        self.assertIn("--rendezvous MACHINE:PORT", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^halftone-run \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    LAUNCHER = sys.argv.pop(1)
    unittest.main()
