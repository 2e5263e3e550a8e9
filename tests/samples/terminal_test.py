#!/usr/bin/env python3
"""Standard output: a progress bar on a terminal, plain lines elsewhere."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import sample_run

ERASE = "\x1b[K"


class TerminalTest(sample_run.SampleTest):
    def start_on_terminal(self, columns, *arguments, kind="xterm"):
        """Returns the process and our side of its terminal."""
        outer, inner = pty.openpty()
        self.addCleanup(os.close, outer)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sample_run.program, "--data", self.data, *arguments]
        process = subprocess.Popen(command, stdout=inner, stderr=inner, env={**os.environ, "TERM": kind})
        self.addCleanup(process.kill)
        os.close(inner)
        return process, outer

    @staticmethod
    def read_chunks(outer):
        while True:
            try:
                yield os.read(outer, 65536).decode()
            except OSError:  # Linux reports in this way that the other side is closed
                return

    def run_to_the_end(self, *arguments, kind="xterm", status=0):
        process, outer = self.start_on_terminal(120, *arguments, kind=kind)
        written = "".join(self.read_chunks(outer)).replace("\r\n", "\n")
        self.assertEqual(process.wait(timeout=60), status, written)
        return written

    def draw_a_while(self, columns):
        """Stops an endless run after it has drawn the bar a few times; returns the drawings and the seconds that they
        took.
        """
        process, outer = self.start_on_terminal(columns, "--epochs", "1000000", "--batch", "4")
        start = time.monotonic()
        written = ""
        for chunk in self.read_chunks(outer):
            written += chunk
            if len(self.drawings(written)) >= 3:
                process.send_signal(signal.SIGTERM)
                break
        seconds = time.monotonic() - start
        drawings = self.drawings(written)
        written = "".join(self.read_chunks(outer))
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM, written)
        self.assertRegex(written, rf"\r{re.escape(ERASE)}stopped by SIGTERM after step \d+ of 64000000\r\n\Z")
        return drawings, seconds

    @staticmethod
    def drawings(written):
        return re.findall(rf"\r([^\r\n]+?){re.escape(ERASE)}", written)

    def test_a_terminal_gets_a_bar(self):
        drawings, seconds = self.draw_a_while(120)
        for drawing in drawings:
            self.assertRegex(drawing, r"\A\[#*\.+\] epoch \d+/1000000 step \d+/64000000 loss \d+\.\d{4} "
                                      r"accuracy [01]\.\d{3} \d+ images/s ETA \d+:\d\d:\d\d\Z")
        self.assertLessEqual(len(drawings), 10 * seconds + 1, "redrawn at most ten times a second")

    def test_a_finished_run_leaves_only_whole_lines(self):
        written = self.run_to_the_end("--epochs", "6", "--batch", "4")
        lasting = [line.rpartition(ERASE)[2] for line in written.split("\n")[:-1]]
        self.assertRegex(lasting[0], r"\Atraining in bf16 on cpu")
        for number, line in enumerate(lasting[1:-1], 1):
            self.assertTrue(line.startswith(f"epoch {number}/6 step {number * 64}/384 "), line)
        self.assertEqual(len(lasting), 8)
        self.assertRegex(lasting[-1], r"\Aaccuracy [01]\.\d{4}\Z")

    def test_a_drawing_never_reaches_the_last_column(self):
        for columns in (2, 20, 100, 125, 300):
            drawings, _ = self.draw_a_while(columns)
            self.assertTrue(all(len(drawing) < columns for drawing in drawings), drawings)
        self.assertLess(max(map(len, drawings)), 200, "the bar does not fill a very wide terminal")

    def test_a_dumb_terminal_gets_plain_lines(self):
        self.assert_plain(self.run_to_the_end("--steps", "250", "--batch", "2", kind="dumb"))

    def test_a_pipe_gets_plain_lines(self):
        self.assert_plain(self.run_well("--steps", "250", "--batch", "2"))

    def assert_plain(self, written):
        self.assertRegex(written, r"\A[ -~\n]+\n\Z")
        steps = re.findall(r"^epoch \d/2 step (\d+)/250 ", written, re.MULTILINE)
        self.assertEqual(steps, ["100", "128", "200", "250"])
        self.assertRegex(written.splitlines()[-1], r"\Aaccuracy [01]\.\d{4}\Z")

    def test_an_error_clears_the_bar_first(self):
        written = self.run_to_the_end("--log", "/dev/full", status=1)
        self.assertRegex(written, rf"\r{re.escape(ERASE)}error: /dev/full: [^\r\n]+\n")


if __name__ == "__main__":
    sample_run.main()
