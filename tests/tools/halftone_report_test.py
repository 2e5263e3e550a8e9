#!/usr/bin/python3
"""Reads the pages and the summaries that halftone-report writes of records.

  halftone_report_test.py PATH/TO/halftone-report
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from html.parser import HTMLParser
from pathlib import Path

import report_records
from report_records import line, run_line, tensor_line

PROGRAM = ""
PANELS = ("loss", "scale", "norm", "rate", "time", "memory", "events", "errors", "underflow", "range", "heat", "updates")
VOID = {"meta", "br", "hr", "img", "input", "link"}
MARKS = {"path", "rect", "circle"}
HOSTILE = '</title><script>alert("1")</script>&amp;\x1b[2J\u202e<b>\'"'


class Page(HTMLParser):
    """The panels of a page: their words, and the classes of the marks in their charts. Every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.panel, self.words, self.marks, self.charts = [], set(), "head", {}, {}, {}
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        if tag == "section":
            self.panel = attributes["id"]
        if tag not in VOID:
            self.open.append((tag, attributes.get("class", "")))
        if tag == "svg" and "key" not in attributes.get("class", ""):
            self.charts.setdefault(self.panel, []).append(attributes["aria-label"])
        if tag in MARKS and ("g", "marks") in self.open:
            self.marks.setdefault(self.panel, []).append(attributes)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, (self.open, tag)
        self.open.pop()
        if tag in ("td", "p", "li"):
            self.handle_data(" ")

    def handle_data(self, data):
        if self.open and self.open[-1][0] not in ("style", "title"):
            self.words[self.panel] = self.words.get(self.panel, "") + data


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_program(self, *arguments, **settings):
        return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              encoding="utf-8", timeout=120, **settings)

    def page_text(self, *texts):
        paths = [self.file(f"{i}.jsonl", text) for i, text in enumerate(texts)]
        done = self.run_program(*paths, "-o", self.folder / "page.html")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return (self.folder / "page.html").read_text(encoding="utf-8")

    def page(self, *texts):
        return Page(self.page_text(*texts))

    def refused(self, message, *arguments, status=1):
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), arguments)
        self.assertRegex(done.stderr, r"^halftone-report: [^\n]*\n" + (r"[^\n]*--help\n$" if status == 2 else "$"))
        self.assertIn(message, done.stderr)

    def test_a_record_has_every_panel_with_marks(self):
        page = self.page(report_records.text())
        self.assertEqual(set(page.charts), set(PANELS) - {"events"})
        for panel in set(PANELS) - {"events"}:
            self.assertTrue(page.marks[panel], panel)
            self.assertTrue(all(mark["class"] for mark in page.marks[panel]), panel)
            self.assertNotIn("has no", page.words[panel])

    def test_the_page_needs_nothing_from_outside(self):
        text = self.page_text(report_records.text())
        self.assertFalse(Page(text).tags & {"script", "img", "link", "iframe", "object", "image", "use"})
        self.assertNotRegex(text, r"https?:|url\(|@import|javascript:| on\w+=")
        for rule in ("prefers-color-scheme:dark", "@media print", "default-src 'none'"):
            self.assertIn(rule, text)

    def test_ten_thousand_steps_of_200_layers_fit_into_two_megabytes(self):
        text = self.page_text(report_records.text(steps=10000, layers=200, every=100))
        self.assertLess(len(text.encode()), 2 << 20)

    def test_a_spike_of_one_step_is_drawn(self):
        losses = [2.0] * 9000
        losses[4321] = 9.5
        page = self.page(run_line("spike") + "\n" + "".join(
            line(step=i + 1, record="step", loss=loss) + "\n" for i, loss in enumerate(losses)))
        # The axis ends at 10, so the line climbs by three quarters of the height: over 120 units.
        heights = [abs(float(number)) for mark in page.marks["loss"] for number in
                   re.findall(r"-?(?:\d+\.?\d*|\.\d+)", re.sub(r"^m\S+ \S+", "", mark["d"]))]
        self.assertGreater(max(heights), 120)

    def test_a_run_without_tensors_and_scale_says_so(self):
        page = self.page(report_records.text(plain=True))
        for panel, words in {"scale": "No run of the record scales its loss.", "norm": "no norms of gradients",
                             "rate": "no rates", "memory": "no memory", "events": "no events", "errors": "no samples of gradients",
                             "underflow": "no samples of gradients", "range": "no samples of tensors",
                             "heat": "no samples of gradients", "updates": "no samples of updates"}.items():
            self.assertIn(words, page.words[panel])
            self.assertNotIn(panel, page.charts)
        self.assertTrue(page.marks["loss"] and page.marks["time"])

    def test_a_run_that_has_not_begun_says_so(self):
        page = self.page(run_line("nothing") + "\n")
        self.assertEqual(set(page.words), {"head", *PANELS})
        self.assertEqual(page.charts, {})
        for panel in PANELS:
            self.assertRegex(page.words[panel], r"The record has no|No run of the record")

    def test_one_step_is_drawn(self):
        page = self.page(report_records.text(steps=1, layers=1, every=1))
        for panel in set(PANELS) - {"events"}:
            self.assertTrue(page.marks.get(panel), panel)
        self.assertIn("1 fallback", page.words["events"])

    def test_losses_that_are_not_finite_are_marked_and_counted(self):
        def record(losses):
            return run_line("broken") + "\n" + "".join(
                line(step=i + 1, record="step", outcome="stepped") [:-1] + f', "loss": {loss}}}\n' for i, loss in enumerate(losses))

        page = self.page(record([2, 1.5, "null", "null", 1.25]))
        self.assertIn("the loss was not finite in 2 of 5 steps", page.words["loss"])
        page = self.page(record(["null"] * 3))
        self.assertIn("finite in no step", page.words["loss"])
        self.assertNotIn("loss", page.charts)

    def test_tensors_that_are_zero_or_not_finite_are_shown(self):
        lines = [run_line("odd"), tensor_line(1, "gradient", "zero", -4, elements=0, scale=1.0),
                 tensor_line(1, "gradient", "broken", -4, nans=3, infinities=1, norm=math.nan, scale=1.0),
                 tensor_line(1, "parameter", "still", -4, lost=0, still=4096, update_norm=0.0, ratio_first=0, ratio_counts=[])]
        page = self.page("\n".join(lines) + "\n")
        for panel in ("range", "heat"):
            self.assertTrue([mark for mark in page.marks[panel] if mark["class"] == "bad"], panel)
        self.assertIn("No weight lost its update", page.words["updates"])

    def test_skipped_steps_name_their_tensors(self):
        steps = [(1, "skipped", "0.weight"), (2, "skipped", "1.bias"), (3, "skipped", "0.weight"), (4, "stepped", None)]
        page = self.page("\n".join([run_line("skips"), *(
            line(step=step, record="step", loss_scale=2.0 ** (17 - step), outcome=outcome, overflow=tensor)
            for step, outcome, tensor in steps)]) + "\n")
        self.assertIn("3 of 4 steps were skipped (75 %); most often for 0.weight (2) and 1.bias (1).", page.words["scale"])

    def test_lost_and_recommended_numbers_are_those_of_the_histogram(self):
        # 2^-30 and 2^-20 with the scale 2^4; without it 2^-34 and 2^-24. FP16 loses below 2^-25.
        sample = {"step": 5, "record": "tensor", "kind": "gradient", "name": "w", "dtype": "f32", "elements": 10, "zeros": 2,
                  "infinities": 0, "nans": 0, "largest": 2.0 ** -20, "least": 2.0 ** -30, "norm": 1, "scale": 16,
                  "first": 97, "counts": [2] + [0] * 9 + [6]}
        page = self.page(run_line("counts") + "\n" + json.dumps(sample) + "\n")
        self.assertIn("In step 5, FP16 loses 25 % of the gradients at the scale 2⁴, and would lose 25 % without one. "
                      "The scale could be 2³⁹.", page.words["underflow"])

    def test_the_share_of_lost_updates_leaves_out_weights_without_gradient(self):
        page = self.page(run_line("lost") + "\n" + tensor_line(7, "parameter", "a<b", -4, lost=30, still=500, update_norm=0.1,
                                                               ratio_first=3, ratio_counts=[60, 10]) + "\n")
        self.assertIn("Weights that lost their update: a<b 30 %.", page.words["updates"])

    def test_runs_are_named_in_legends(self):
        page = self.page(report_records.text(label="first"), report_records.text(label="second", steps=90, seed=2))
        for panel in PANELS:
            self.assertRegex(page.words[panel], r"first[\s\S]*second", panel)
        classes = {mark["class"] for mark in page.marks["loss"]}
        self.assertTrue({"line c0", "line c1"} <= classes, classes)

    def test_runs_of_one_label_are_told_apart_by_their_files(self):
        page = self.page(report_records.text(plain=True), report_records.text(plain=True))
        self.assertRegex(page.words["loss"], r"fp16 \(\S*0\.jsonl\)[\s\S]*fp16 \(\S*1\.jsonl\)")

    def test_texts_of_a_record_are_no_markup(self):
        lines = [run_line(HOSTILE), line(step=1, record="step", loss=1.0, loss_scale=2.0, outcome="skipped", overflow=HOSTILE,
                                         parts={HOSTILE: 1.0}, memory={HOSTILE: 1}),
                 line(step=1, record="event", event="fallback", module=HOSTILE, **{"from": HOSTILE, "to": HOSTILE}),
                 line(step=1, record="event", event="spike", quantity=HOSTILE, value=1.0),
                 *(tensor_line(1, kind, HOSTILE, -4, op=HOSTILE, scale=2.0, lost=1, still=0, update_norm=1.0, ratio_first=1,
                               ratio_counts=[1]) for kind in ("parameter", "gradient", "activation"))]
        text = self.page_text("\n".join(lines) + "\n")
        page = Page(text)
        self.assertFalse(page.tags & {"script", "b"})
        self.assertNotRegex(text, "[\x1b\u202e]")
        shown = '</title><script>alert("1")</script>&amp;\ufffd[2J\ufffd<b>\'"'
        for panel in ("head", "scale", "time", "memory", "events", "updates"):
            self.assertIn(shown, page.words[panel], panel)

    def test_a_run_that_goes_on_forgets_the_steps_after_its_checkpoint(self):
        lines = [run_line("again")] + [line(step=i, record="step", loss=1.0, outcome="stepped") for i in range(1, 8)]
        lines += [tensor_line(7, "gradient", "w", -4, scale=1.0), line(step=7, record="event", event="checkpoint")]
        lines += [run_line("again", step=5)] + [line(step=i, record="step", loss=0.5, outcome="stepped") for i in (6, 7)]
        page = self.page("\n".join(lines) + "\n")
        self.assertRegex(page.words["head"], r"2 threads 7 ")  # steps
        self.assertIn("no samples of gradients", page.words["underflow"])
        self.assertIn("no events", page.words["events"])

    def test_a_last_line_that_is_cut_is_left_out(self):
        page = self.page(report_records.text(steps=9, plain=True) + '{"step": 10, "record": "st')
        self.assertRegex(page.words["head"], r"2 threads 9 ")

    def test_a_file_that_is_no_record_is_an_error(self):
        first = run_line("x") + "\n"
        for text, message in ((first + "{}\n", ":2: step: expected a whole number"), (first + "{\n", ":2: expected"),
                              ("null\n", ":1: expected { at column 1"), (first + '{"step": 1}\n', ":2: expected a member record"),
                              (line(step=1, record="step") + "\n", ":1: a record begins with a line of the run"),
                              (run_line("x", version=2) + "\n", ":1: version: the record is of a newer version"),
                              (run_line("x", version=None) + "\n", ":1: version: expected"),
                              (first + '{"step": 1, "record": "step", "loss": "1"}\n', ":2: expected a number at column 39"),
                              (first + line(step=2, record="step") + "\n" + line(step=2, record="step") + "\n", ":3: step: is not"),
                              (first + tensor_line(1, "gradient", "w", 0).replace('"first": 1', '"first": 9') + "\n", ":2: first: expected 0"),
                              (first + tensor_line(1, "gradient", "w", 0).replace('"counts": [', '"counts": [-1, ') + "\n", ":2: expected counts"),
                              (first + '{"step": 1, "record": "x", "y": ' + "[" * 99 + "\n", ":2: expected less depth")):
            path = self.file("bad.jsonl", text)
            self.refused(f"{path}{message}", path, "-o", self.folder / "page.html")
            self.refused(f"{path}{message}", path, "--once")
            self.assertFalse((self.folder / "page.html").exists())
        self.refused("gone.jsonl: No such file", self.folder / "gone.jsonl", "-o", "-")
        self.refused(f"{self.folder}: is a folder", self.folder, "-o", "-")

    def test_a_page_that_cannot_be_written_is_an_error(self):
        path = self.file("run.jsonl", report_records.text(plain=True))
        self.refused("-o " + str(self.folder / "gone/page.html"), path, "-o", self.folder / "gone/page.html")
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in ([path, "-o", "-"], [path, "--once"]):
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (1, "halftone-report: cannot write the output\n"))

    def test_the_summary_has_what_a_run_does_now(self):
        path = self.file("run.jsonl", report_records.text(steps=300))
        done = self.run_program("--once", path, env={**os.environ, "LC_ALL": "C"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(len(lines), 24)
        self.assertTrue(all(len(one) <= 80 for one in lines))
        names = [one.split()[0] for one in lines[1:] if not one.startswith(" ")]
        self.assertEqual(names, ["step", "loss", "skipped", "loss", "norm", "rate", "time", "memory", "tensors"])
        self.assertEqual(lines[1].split(), ["step", "300"])
        self.assertIn("forward", done.stdout)
        path.write_text(run_line("\u00b5" * 200) + "\n", encoding="utf-8")
        self.assertEqual(self.run_program("--once", path).stdout.splitlines()[0], "\u00b5" * 80)
        path.write_text(report_records.text(steps=300), encoding="utf-8")
        self.assertRegex(done.stdout, r"parameter blocks\S*: \d+(\.\d+)? % of the updates are lost")
        self.assertIn("\u2581", self.run_program("--once", path, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout)

    def test_the_summary_of_little_says_so(self):
        path = self.file("run.jsonl", run_line("new \x1b[2J") + "\n")
        done = self.run_program("--once", path)
        self.assertIn("the record has no steps yet", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        path.write_text(report_records.text(steps=1, plain=True), encoding="utf-8")
        done = self.run_program("--once", path)
        self.assertIn("the record has no samples yet", done.stdout)
        self.assertIn("loss scale  none", done.stdout)

    def test_following_prints_again_when_the_file_grows(self):
        path = self.file("run.jsonl", run_line("live") + "\n")
        with subprocess.Popen([PROGRAM, "--follow", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.read_until(process, "no steps yet")
            for text, wanted in ((line(step=1, record="step", loss=4.5) + "\n", "4.5"), ('{"step": 2, "record": "st', None),
                                 ('ep", "loss": 3.25}\n', "3.25")):
                with open(path, "a", encoding="utf-8") as file:
                    file.write(text)
                if wanted:
                    self.read_until(process, f"loss        {wanted}")
            path.unlink()
            self.file("run.jsonl", run_line("another") + "\n" + line(step=9, record="step", loss=1.75) + "\n")
            self.read_until(process, "another")
            self.read_until(process, "1.75")
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def test_following_ends_when_its_reader_does(self):
        path = self.file("run.jsonl", run_line("live") + "\n")
        with subprocess.Popen([PROGRAM, "--follow", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.read_until(process, "no steps yet")
            process.stdout.close()
            self.assertEqual(process.wait(timeout=60), 0)

    def read_until(self, process, wanted):
        deadline = time.monotonic() + 60
        while wanted not in (text := process.stdout.readline()):
            self.assertTrue(text and time.monotonic() < deadline, wanted)

    def test_a_wrong_command_line_names_the_flag(self):
        for message, arguments in {"RECORD is missing": ["-o", "x"], "-o is missing": ["a"], "-o needs a value": ["a", "-o"],
                                   "there is no option --speed": ["a", "--speed=1"], "-o is an empty text": ["a", "--output="],
                                   "--follow takes no value": ["a", "--follow=1"], "RECORD is an empty text": ["", "-o", "x"],
                                   "RECORD b: expected one record": ["--once", "a", "b"],
                                   "-o writes a page: expected no --follow": ["--follow", "a", "-o", "x"],
                                   "expected one output": ["a", "-o", "x", "-o", "y"]}.items():
            self.refused(message, *arguments, status=2)

    def test_help_and_version_are_printed(self):
        self.assertTrue(self.run_program("--help").stdout.startswith("usage: halftone-report RECORD... -o FILE"))
        self.assertRegex(self.run_program("--version").stdout, r"^halftone-report \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
