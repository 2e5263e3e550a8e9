#!/usr/bin/python3
"""Opens pages of halftone-report in a headless Chromium: in light and dark, on wide and narrow screens, and as print.

  report_in_browser_test.py PATH/TO/halftone-report [FOLDER]     pictures of the pages are left in FOLDER
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chromium
import report_records
from halftone_report_test import PANELS

PROGRAM, FOLDER = "", None
SCREENS = (("light", 1280, "screen"), ("dark", 1280, "screen"), ("light", 360, "screen"), ("dark", 360, "screen"),
           ("dark", 800, "print"))
# The boxes of charts in a panel.
CHARTS = "[...document.querySelectorAll('#%s svg:not(.key)')].map(one => {const box = one.getBoundingClientRect();" \
         "return [box.x + scrollX, box.y + scrollY, box.width, box.height]})"
# The texts of a chart that overlap another text of it or leave their panel; a text may touch another one a little.
COLLISIONS = """[...document.querySelectorAll('.panel svg:not(.key)')].flatMap(chart => {
  const panel = chart.closest('.panel').getBoundingClientRect();
  const texts = [...chart.querySelectorAll('text')].map(one => [one.lastChild.textContent, one.getBoundingClientRect()]);
  const found = texts.filter(([, a]) => a.left < panel.left || a.right > panel.right).map(([text]) => 'outside: ' + text);
  texts.forEach(([text, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (width > 1 && height > 0.4 * Math.min(a.height, b.height)) found.push(text + ' on ' + other);
  }));
  return found;
})"""


class InBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.browser = chromium.Browser()
        cls.addClassCleanup(cls.browser.close)

    def write(self, name, *records):
        paths = []
        for i, record in enumerate(records):
            paths.append(self.folder / f"{name}{i}.jsonl")
            paths[-1].write_text(record, encoding="utf-8")
        subprocess.run([PROGRAM, *paths, "-o", self.folder / f"{name}.html"], check=True, timeout=60)
        return self.folder / f"{name}.html"

    def opened(self, path):
        """Opens a page on each screen, and looks for what is wrong with any page."""
        for scheme, width, media in SCREENS:
            with self.subTest(page=path.stem, scheme=scheme, width=width, media=media):
                self.browser.messages.clear()
                self.browser.open(path, width, scheme, media)
                if FOLDER:
                    picture = FOLDER / f"{path.stem}-{scheme}-{width}-{media}.png"
                    picture.write_bytes(self.browser.picture())
                self.assertEqual(self.browser.messages, [])
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.browser.value(COLLISIONS), [])
                self.assertEqual(self.browser.value("[...document.querySelectorAll('.panel')].map(one => one.id)"), list(PANELS))
                yield scheme, width

    def assert_drawn(self, panel, background):
        """Pixels of each chart differ from the panel's background."""
        for box in self.browser.value(CHARTS % panel):
            rows, channels = chromium.pixels_of(self.browser.picture(box))
            counts = {}
            for row in rows:
                for i in range(0, len(row), channels):
                    colour = row[i:i + 3]
                    counts[colour] = counts.get(colour, 0) + 1
            most = max(counts, key=counts.get)
            self.assertEqual(most, bytes(background), panel)
            self.assertGreater(sum(counts.values()) - counts[most], 0.01 * sum(counts.values()), panel)
            self.assertGreater(len(counts), 8, panel)

    def test_every_panel_is_drawn_on_every_screen(self):
        backgrounds = {("light", 1280): (255, 255, 255), ("dark", 360): (22, 27, 33)}
        for screen in self.opened(self.write("one", report_records.text(steps=600))):
            for panel in set(PANELS) - {"events", "heat"}:  # cells cover most of a heat map
                self.assertTrue(self.browser.value(CHARTS % panel), panel)
                if screen in backgrounds:
                    self.assert_drawn(panel, backgrounds[screen])
            cells = self.browser.value("new Set([...document.querySelectorAll('#heat .heat')].map(one => getComputedStyle(one).stroke)).size")
            self.assertGreater(cells, 5)

    def test_many_steps_and_layers_are_readable(self):
        for _ in self.opened(self.write("many", report_records.text(steps=4000, layers=200, every=200))):
            pass

    def test_several_runs_are_readable(self):
        records = [report_records.text(label=f"run {i}", steps=100 + i, layers=3, seed=i) for i in range(9)]
        for _ in self.opened(self.write("several", *records)):
            colours = self.browser.value("new Set([...document.querySelectorAll('#loss .line')].map(one => {"
                                         "const style = getComputedStyle(one); return style.stroke + style.strokeDasharray})).size")
            self.assertEqual(colours, 9)

    def test_runs_with_little_are_readable(self):
        for _ in self.opened(self.write("empty", report_records.run_line("nothing") + "\n")):
            pass
        for _ in self.opened(self.write("little", report_records.text(steps=1, layers=1, every=1))):
            pass


if __name__ == "__main__":
    if not chromium.PROGRAM:
        print("skipped: Chromium is not installed (Debian: chromium)")
        sys.exit(77)
    PROGRAM = sys.argv[1]
    FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    unittest.main(argv=sys.argv[:1])
