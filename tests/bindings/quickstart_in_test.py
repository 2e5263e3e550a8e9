"""The command that installs the package of a language and runs its sample from the installation. Run by CTest.

    quickstart_in_test.py LANGUAGE...
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

QUICKSTART = Path(__file__).resolve().parents[2] / "samples/quickstart_in"
languages = []


class QuickstartIn(unittest.TestCase):
    def test_runs_the_same_sample_in_every_language(self):
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "text"
            text.write_text("the old king saw the moon.\n" * 300, encoding="utf-8")
            environment = {**os.environ, "HALFTONE_PREFIX": str(Path(folder) / "prefix")}
            outputs = set()
            for language in languages:
                done = subprocess.run([QUICKSTART, language, "--text", text, "--steps", "3"], capture_output=True,
                                      env=environment, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                outputs.add(done.stdout[done.stdout.index(b"validation loss"):].split(b"\n")[0])
            self.assertEqual(len(outputs), 1, outputs)

    def test_refuses_another_language(self):
        done = subprocess.run([QUICKSTART, "cobol"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("samples/quickstart_in python", done.stderr)


if __name__ == "__main__":
    languages = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
