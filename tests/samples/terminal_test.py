#!/usr/bin/env python3
"""What standard output looks like: a bar on a terminal, plain lines elsewhere."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

import sample_run

ERASE = "\x1b[K"


class TerminalTest(sample_run.SampleTest):
    def run_on_terminal(self, columns, kind="xterm", arguments=("--epochs", "20", "--batch", "4")):
        """Answers what was written and how many seconds it took."""
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sample_run.program, "--data", self.data, *arguments]
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=inner, stderr=inner, env={**os.environ, "TERM": kind})
        self.addCleanup(process.kill)
        os.close(inner)
        written = self.read_all(outer)
        self.assertEqual(process.wait(timeout=60), 0, written)
        return written.replace("\r\n", "\n"), time.monotonic() - start

    @staticmethod
    def read_all(outer):
        chunks = []
        while True:
            try:
                chunk = os.read(outer, 65536)
            except OSError:  # how Linux tells that the other side is closed
                chunk = b""
            if not chunk:
                os.close(outer)
                return b"".join(chunks).decode()
            chunks.append(chunk)

    @staticmethod
    def drawings(written):
        return re.findall(rf"\r([^\r\n]+?){re.escape(ERASE)}", written)

    def test_a_terminal_gets_a_bar(self):
        written, seconds = self.run_on_terminal(120)
        drawings = self.drawings(written)
        self.assertGreater(len(drawings), 0)
        for drawing in drawings:
            self.assertRegex(drawing, r"\A\[#*\.*\] epoch \d+/20 step \d+/1280 loss \d+\.\d{4} accuracy [01]\.\d{3} "
                                      r"\d+ images/s ETA \d+:\d\d:\d\d\Z")
        self.assertLessEqual(len(drawings), 10 * seconds + 1, "redrawn at most ten times a second")

    def test_a_finished_run_leaves_only_whole_lines(self):
        written, _ = self.run_on_terminal(120)
        lasting = [line.rpartition(ERASE)[2] for line in written.split("\n")[:-1]]
        self.assertRegex(lasting[0], r"\Atraining in bf16 on cpu")
        for number, line in enumerate(lasting[1:-1], 1):
            self.assertTrue(line.startswith(f"epoch {number}/20 step {number * 64}/1280 "), line)
        self.assertEqual(len(lasting), 22)
        self.assertRegex(lasting[-1], r"\Aaccuracy [01]\.\d{4}\Z")

    def test_a_drawing_never_reaches_the_last_column(self):
        for columns in (1, 2, 20, 80, 100, 300):
            drawings = self.drawings(self.run_on_terminal(columns, arguments=("--epochs", "4", "--batch", "2"))[0])
            self.assertTrue(columns == 1 or drawings)
            self.assertTrue(all(len(drawing) < columns for drawing in drawings))
        self.assertLess(max(map(len, drawings)), 200, "the bar does not fill a very wide terminal")

    def test_a_dumb_terminal_gets_plain_lines(self):
        self.assert_plain(self.run_on_terminal(80, kind="dumb", arguments=("--steps", "250", "--batch", "2"))[0])

    def test_a_pipe_gets_plain_lines(self):
        self.assert_plain(self.run_well("--steps", "250", "--batch", "2"))

    def assert_plain(self, written):
        self.assertRegex(written, r"\A[ -~\n]+\n\Z")
        steps = re.findall(r"^epoch \d/2 step (\d+)/250 ", written, re.MULTILINE)
        self.assertEqual(steps, ["100", "128", "200", "250"])
        self.assertRegex(written.splitlines()[-1], r"\Aaccuracy [01]\.\d{4}\Z")

    def test_an_error_clears_the_bar_first(self):
        arguments = ("--epochs", "100", "--log", "/dev/full")
        outer, inner = pty.openpty()
        process = subprocess.Popen([sample_run.program, "--data", self.data, *arguments], stdout=inner, stderr=inner)
        os.close(inner)
        written = self.read_all(outer)
        self.assertEqual(process.wait(timeout=60), 1)
        self.assertRegex(written, rf"(\n|{re.escape(ERASE)})error: /dev/full: [^\r\n]+\r\n")


if __name__ == "__main__":
    sample_run.main()
