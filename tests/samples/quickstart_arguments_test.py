#!/usr/bin/env python3
"""Runs samples/quickstart with arguments, in a copy of the samples: checks what it prints before it installs or builds
anything, and the command that it runs at last, where programs that do nothing stand for the build.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import flags_test
import gpt_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHER_USER = 65534 if os.getuid() == 0 else None  # root could write anywhere


class QuickstartArgumentsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "with a blank"
        shutil.copytree(ROOT / "samples", self.root / "samples")

    def open_to_all(self):
        """Gives other users read permission, whatever the umask was at the checkout. Folders above the checkout stay
        unchanged.
        """
        for path in (self.root.parent, self.root, *self.root.rglob("*")):
            if path != self.root / "build/quickstart":
                path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))
        if subprocess.run(["test", "-r", self.root], user=OTHER_USER).returncode != 0:
            print(f"skipped: {self.root.parent.parent} is closed to other users")
            self.skipTest("a closed folder")

    def run_quickstart(self, *arguments, user=None):
        command = [self.root / "samples/quickstart", *arguments]
        return subprocess.run(command, capture_output=True, text=True, user=user)

    def write_program(self, path, script):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def last_command(self, *arguments):
        """The arguments of the program that quickstart becomes, its own name first."""
        tell = 'printf "%s\\n" "${0##*/}" "$@"'
        for name in ("tools/install_for_library.sh", "samples/data/make_text", "stand-ins/cmake"):
            self.write_program(self.root / name, "exit 0")
        (self.root / "build/install/include").mkdir(parents=True, exist_ok=True)
        (self.root / "build/install/lib").mkdir(parents=True, exist_ok=True)
        self.write_program(self.root / "build/install/bin/halftone-run", tell)
        for name in ("train_fashion_mnist", "train_gpt"):
            self.write_program(self.root / "build/quickstart" / name, tell)
        done = subprocess.run([self.root / "samples/quickstart", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.root / 'stand-ins'}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()[1 if "Building" in done.stdout else 0:]

    def test_ranks_and_sharding_choose_the_launcher_and_its_flags(self):
        mnist = str(self.root / "build/quickstart/train_fashion_mnist")
        launched = ["halftone-run", "-n", "2", "--", mnist, "--precision", "bf16"]
        self.assertEqual(self.last_command("--steps", "3"), ["train_fashion_mnist", "--precision", "bf16", "--steps", "3"])
        self.assertEqual(self.last_command("--ranks", "2"), [*launched, "--sharding", "ddp"])
        for kind in ("ddp", "optimizer", "gradients", "full", "hybrid"):
            self.assertEqual(self.last_command("--ranks=2", "--sharding", kind), [*launched, "--sharding", kind])
            self.assertEqual(self.last_command(f"--sharding={kind}", "--ranks", "2"), [*launched, f"--sharding={kind}"])
        gpt = self.last_command("--model", "gpt", "--ranks", "4", "--sharding", "full", "--steps=3")
        self.assertEqual(gpt[:3], ["halftone-run", "-n", "4"])
        self.assertEqual(gpt[-3:], ["--sharding", "full", "--steps=3"])

    def assert_nothing_was_begun(self):
        self.assertEqual([path.name for path in self.root.iterdir()], ["samples"])

    def test_the_help_names_every_flag_of_the_chosen_sample(self):
        gpt = ["--model", "gpt"]
        for arguments, flags in (
            (["--help"], flags_test.DEFAULTS),
            (["--steps", "3", "--help"], flags_test.DEFAULTS),
            ([*gpt, "--help"], gpt_test.DEFAULTS),
            (["--help", "--model=gpt"], gpt_test.DEFAULTS),
        ):
            done = self.run_quickstart(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            told = re.findall(r"--[\w-]+", done.stdout.partition("these flags")[2])
            self.assertEqual(sorted(told), sorted(flags))
        self.assert_nothing_was_begun()

    def test_what_is_no_flag_is_refused_at_once(self):
        for argument in ("--step", "--stepsx", "--step=3", "--", "--.*"):
            done = self.run_quickstart("--seed=1", "--resume", argument)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"quickstart: {argument}: no such flag; --help lists all\n")
        for ranks in ("0", "-1", "two", ""):
            done = self.run_quickstart("--ranks", ranks)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr, f"quickstart: --ranks '{ranks}': expected a number of processes\n")
        for arguments in (["--model", "gpt", "--data", "x"], ["--preset", "tiny"], ["--model", "cnn", "--text", "x"]):
            done = self.run_quickstart(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assert_nothing_was_begun()

    def test_a_folder_that_another_user_made_is_named(self):
        build = self.root / "build/quickstart"
        (build / "tmp").mkdir(parents=True)
        build.chmod(0o555)
        self.addCleanup(build.chmod, 0o755)
        self.open_to_all()
        done = self.run_quickstart(user=OTHER_USER)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^quickstart: {re.escape(str(build))} belongs to \S+, and .* cannot write there\n$")


if __name__ == "__main__":
    unittest.main()
