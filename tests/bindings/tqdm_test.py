"""The Python sample shows its progress with tqdm on a terminal, and by lines elsewhere. Run by CTest.

    tqdm_test.py VENV      installs tqdm into VENV, from PyPI, if it is not there yet; PYTHONPATH leads to the package
"""

import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import venvs

SAMPLE = Path(__file__).resolve().parents[2] / "samples/python/train_gpt.py"
FLAGS = ["--layers", "1", "--width", "32", "--heads", "2", "--context", "16", "--batch", "4", "--steps", "6",
         "--generate", "0"]
interpreter = None


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        text = Path(folder.name) / "text"
        text.write_text("the old king saw the moon. " * 300, encoding="utf-8")
        self.command = [interpreter, SAMPLE, "--text", text, *FLAGS]

    def on_a_terminal(self):
        """Returns what the sample writes to a terminal as standard error."""
        terminal, side = pty.openpty()
        process = subprocess.Popen(list(map(str, self.command)), stdout=subprocess.DEVNULL, stderr=side,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(side)
        output = b""
        with open(terminal, "rb", buffering=0) as reader:
            try:
                while chunk := reader.read(4096):
                    output += chunk
            except OSError:  # the program has closed its side
                pass
        self.assertEqual(process.wait(timeout=60), 0, output.decode())
        return output.decode()

    def test_is_a_bar_on_a_terminal(self):
        shown = self.on_a_terminal()
        self.assertRegex(shown, r"100%.* 6/6 \[")
        self.assertRegex(shown, r"loss=\d\.\d{4}")

    def test_is_lines_elsewhere(self):
        done = subprocess.run(list(map(str, self.command)), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"step 6 of 6: loss \d\.\d{4}, \d+ bytes/s")


if __name__ == "__main__":
    interpreter = venvs.install(Path(sys.argv.pop(1)), ["tqdm==4.67.1"], "import tqdm")
    unittest.main()
