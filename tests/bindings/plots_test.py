"""The sample plot_precision.py draws its plots, with and without the records of runs. Run by CTest.

    plots_test.py VENV      installs matplotlib into VENV, from PyPI, if it is not there yet; PYTHONPATH leads to the package
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import venvs

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import chromium  # noqa: E402
import report_records  # noqa: E402

MATPLOTLIB = "matplotlib==3.9.2"
SAMPLE = Path(__file__).resolve().parents[2] / "samples/python/plot_precision.py"
interpreter = None


class Plots(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def draw(self, *records):
        output = self.folder / "plots.png"
        environment = {**os.environ, "MPLCONFIGDIR": str(self.folder)}
        environment.pop("DISPLAY", None)
        done = subprocess.run([str(interpreter), "-W", "error:::__main__", SAMPLE, *records, "-o", output], capture_output=True,
                              text=True, env=environment, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return chromium.pixels_of(output.read_bytes())

    def assert_drawn(self, picture):
        """Each of the two times three plots has a fair number of colours."""
        rows, channels = picture
        height, width = len(rows) // 2, len(rows[0]) // channels // 3
        for y in range(2):
            for x in range(3):
                part = {row[i:i + 3] for row in rows[y * height:(y + 1) * height:3]
                        for i in range(x * width * channels, (x + 1) * width * channels, channels)}
                self.assertGreater(len(part), 20, (x, y))

    def test_six_plots_are_drawn_without_a_record(self):
        self.assert_drawn(self.draw())

    def test_the_losses_of_records_are_drawn(self):
        records = []
        for label in ("fp16", "bf16"):
            records.append(self.folder / f"{label}.jsonl")
            records[-1].write_text(report_records.text(label=label, steps=50) + '{"step": 51, "rec', encoding="utf-8")
        self.assert_drawn(self.draw(*records))
        records[0].write_text(report_records.run_line("empty") + "\n", encoding="utf-8")
        self.draw(records[0])


if __name__ == "__main__":
    interpreter = venvs.install(Path(sys.argv[1]), [MATPLOTLIB], "import matplotlib")
    unittest.main(argv=sys.argv[:1])
