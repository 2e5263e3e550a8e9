#!/usr/bin/python3
"""Tests which packages tools/install_packages.sh installs and its messages, on a made-up system without any package."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"

DPKG_QUERY = """#!/bin/sh
for package in "$@"; do :; done
case " $INSTALLED " in *" $package "*) printf installed ;; *) exit 1 ;; esac
"""
APT_GET = """#!/bin/sh
echo "$@" >>"$APT_LOG"
"""
ID = """#!/bin/sh
echo "$USER_ID"
"""


class InstallPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "apt.log"
        self.log.touch()
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("id", ID)):
            self.add_command(name, text)
        for name in ("bash", "dirname", "env", "ls"):
            (self.folder / name).symlink_to(shutil.which(name))

    def add_command(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def run_tool(self, *arguments, tool="install_packages.sh", user=0, installed=""):
        environment = {"PATH": str(self.folder), "APT_LOG": str(self.log), "USER_ID": str(user), "INSTALLED": installed}
        return subprocess.run([TOOLS / tool, *arguments], env=environment, capture_output=True, text=True)

    def installations(self):
        return [line.split(" install ")[1] for line in self.log.read_text().splitlines() if " install " in line]

    def test_what_is_missing_from_all_groups_is_installed_at_once(self):
        done = self.run_tool("to build", "cc", "make", "--", "to test", "check", installed="make")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.installations(), ["--yes --no-install-recommends cc check"])
        self.assertTrue(done.stdout.startswith("Installing cc (to build)\nInstalling check (to test)\n"), done.stdout)

    def test_nothing_is_said_or_asked_of_apt_where_all_is_there(self):
        done = self.run_tool("to build", "cc", "--", "to test", "check", installed="cc check", user=1000)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.log.read_text(), "")

    def test_a_user_without_sudo_is_told_one_command_for_all_of_it(self):
        done = self.run_tool("to build", "cc", "--", "to test", "check", user=1000)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Missing: cc (to build)\nMissing: check (to test)\n", done.stderr)
        self.assertIn("apt-get install --no-install-recommends cc check\n", done.stderr)
        self.assertEqual(self.log.read_text(), "")

    def test_a_user_with_sudo_installs_by_it(self):
        self.add_command("sudo", '#!/bin/sh\necho "sudo $1" >>"$APT_LOG"\n"$@"\n')
        done = self.run_tool("to build", "cc", user=1000)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("sudo env\n", self.log.read_text())
        self.assertEqual(self.installations(), ["--yes --no-install-recommends cc"])

    def test_a_failure_is_tried_once_more_with_new_lists_and_then_answered(self):
        self.add_command("apt-get", APT_GET + 'case "$*" in *" install "*) exit 100 ;; esac\n')
        self.assertEqual(self.run_tool("to build", "cc").returncode, 100)
        self.assertEqual(len(self.installations()), 2)
        self.assertIn(" update\n", self.log.read_text())

    def test_a_group_without_a_package_is_refused(self):
        for arguments in ((), ("to build",), ("to build", "cc", "--"), ("to build", "cc", "--", "to test")):
            done = self.run_tool(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("usage:", done.stderr)
        self.assertEqual(self.log.read_text(), "")

    def test_what_the_library_needs_comes_with_what_the_caller_needs(self):
        done = self.run_tool("--", "for the sample", "zlib1g-dev", tool="install_for_library.sh", installed="g++ cmake")
        self.assertEqual(done.returncode, 0, done.stderr)
        packages = self.installations()[0].split()
        self.assertTrue({"ninja-build", "libhwy-dev", "zlib1g-dev"} < set(packages), packages)
        self.assertNotIn("cmake", packages)


if __name__ == "__main__":
    unittest.main()
