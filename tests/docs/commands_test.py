#!/usr/bin/python3
"""Runs the commands of the documents: each line of a block in `sh`, as a user would, with the programs of a built tree.

RULES says how a line runs here: a long one with few steps, a build as its configuration, paths of the user's folders as
those of a scratch folder. Blocks run as one script each. A line that no rule knows fails, as does a rule without a line.
NOT_RUN gives the reasons for the others.

  tests/docs/commands_test.py cmake build/release
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests/package"), str(REPOSITORY / "tests/samples")]
from installed_prefix import run  # noqa: E402
from sample_run import write_data  # noqa: E402

DOCUMENTS = ("*.md", "docs/**/*.md", "samples/**/README*", "tests/**/*.md", "bindings/**/*.md")
BLOCK = re.compile(r"^```(?:sh|bash|shell|console)\n(.*?)^```$", re.S | re.M)
COMMENT = re.compile(r"\s+#.*$")

FASHION = "$build/samples/train_fashion_mnist --data data"
GPT = "$build/samples/train_gpt"
LAUNCHER = "$build/tools/halftone_run/halftone-run"
ANALYZER = "$build/tools/halftone_analyze/halftone-analyze"
REPORT = "$build/tools/halftone_report/halftone-report"
RECORD = "$root/tests/tools/report_records.py"
PASSES = r" 2>&1 | tee output && grep -qE '^\[  PASSED  \] [1-9]' output"

# A pattern of whole lines, and the script in its place. Later flags win, so the last ones make a run short.
RULES = [
    (r"samples/quickstart --model gpt --steps 3000 (.*)", rf"{GPT} \1 --steps 2"),
    (r"samples/quickstart --ranks (\d) (.*)", rf"{LAUNCHER} -n \1 -- {FASHION} \2 --steps 2"),
    (r"samples/quickstart --ranks (\d)", rf"{LAUNCHER} -n \1 -- {FASHION} --sharding ddp --steps 2"),
    (r"samples/quickstart(.*)", rf"{FASHION} \1 --steps 2"),
    (r"build/install/bin/halftone-run (.*) build/quickstart/train_fashion_mnist (.*)",
     rf"build/install/bin/halftone-run \1 {FASHION} \2 --steps 2"),
    (r"halftone-run (.*) train_gpt (.*) --steps 14 (.*)", rf"{LAUNCHER} \1 {GPT} \2 --steps 2 \3 && grep -q items full-2"),
    (r"halftone-run (.*) \./train (--epochs 3)", rf"{LAUNCHER} \1 {FASHION} \2 --sharding ddp"),
    (r"halftone-analyze file model\.safetensors (.*)", rf"{ANALYZER} file $root/tests/vectors/gpt/before.safetensors \1"),
    (r"halftone-analyze log run\.jsonl(.*)", rf"{ANALYZER} log $root/tests/tools/run.jsonl\1"),
    (r"halftone-analyze (.*)", rf"{ANALYZER} \1"),
    (r"halftone-report run\.jsonl -o (\S+)", rf"{RECORD} > run.jsonl && {REPORT} run.jsonl -o \1 && grep -q Loss \1"),
    (r"halftone-report bf16\.jsonl fp16\.jsonl -o (\S+)",
     rf"for name in bf16 fp16; do {RECORD} --label $name > $name.jsonl; done; {REPORT} bf16.jsonl fp16.jsonl -o \1"),
    (r"halftone-report --once run\.jsonl", rf"{RECORD} > run.jsonl && {REPORT} --once run.jsonl | grep -q '^loss'"),
    (r"halftone-report --follow run\.jsonl", rf"{RECORD} > run.jsonl && {REPORT} --follow run.jsonl <&- | grep -q '^loss'"),
    (r"(?:prefix=|export PKG_CONFIG_PATH=|cc program\.c ).*", r"\g<0>"),
    (r"cmake --preset release (-DCMAKE_INSTALL_PREFIX.*)", r"cmake -S $root --preset release -B $PWD/configured \1"),
    (r"cmake --install build/release", r"cmake --install $build --prefix $PWD/build/again"),
    (r"cmake --preset debug && .*", r"cmake -S $root --preset debug -B $PWD/configured-debug"),
    (r"ctest --preset release (-R .*)", r"ctest --test-dir $build \1 -N | tee output && grep -q 'Total Tests: [1-9]' output"),
    (r"build/release/(tests/test_core .*|tests/capi/\w+ .*)", rf"$build/\1{PASSES}"),
    (r"tools/check_docs\.py", r"$root/\g<0>"),
    (r"tests/vectors/generate\.py", r"$root/\g<0> --check"),
    (r"build/release/(tests/vectors/run_vectors) (.*)", r"$build/\1 $root/\2"),
]
NOT_RUN = {
    r"rustc .*|\./train_(rust|go|fortran)|GO111MODULE=.*|gfortran .*|cc -E .*|luajit .*|cc -O2 -shared .*|sqlite3 .*":
        "docs.other_languages runs it where the language is",
    r"tests/run.*": "it would run this test, too",
    r"cmake --preset release -DHALFTONE_CUDA=ON": "cuda.rooms runs it where nvcc is",
    r"build/quickstart/train_gpt --device cuda .*": "it needs a GPU; tests/gpu/run trains there",
    r"export HALFTONE_SECRET=.*|halftone-run .*--rendezvous 10\.0\.0\.1:.*":
        "it needs two machines; samples.launchers starts both parts on one",
    r"tools/install_for_library\.sh": "it installs packages; tools.install_packages tests it",
    r"cmake --build --preset release": "this test runs in such a build",
    r"python3 -m venv .*|env/bin/(python|pip) .*": "it needs PyTorch from PyPI; vectors.are_what_generate_writes checks the files",
}


def blocks() -> list[tuple[str, list[str]]]:
    """The name of each block with its commands, without comments."""
    found = []
    for path in sorted({path for pattern in DOCUMENTS for path in REPOSITORY.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            name = f"{path.relative_to(REPOSITORY)}:{text.count(chr(10), 0, block.start()) + 1}"
            lines = [COMMENT.sub("", line) for line in block[1].replace("\\\n", " ").splitlines()]
            found.append((name, [line.strip() for line in lines if line.strip()]))
    return found


def pattern_of(command: str) -> str | None:
    return next((pattern for pattern in [*NOT_RUN, *dict(RULES)] if re.fullmatch(pattern, command)), None)


class Commands(unittest.TestCase):
    cmake, build = "cmake", Path("build/release")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        run(cls.cmake, "--install", cls.build, "--prefix", cls.folder / "build/install")
        readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
        (cls.folder / "program.c").write_text(re.search(r"```c\n(.*?)```", readme, re.S)[1], encoding="utf-8")
        for name in ("data", "build/data"):
            (cls.folder / name).mkdir()
        (cls.folder / "build/data/bible-kjv.txt").write_text("the old king saw the moon.\n" * 3000, encoding="utf-8")
        write_data(cls.folder / "data")

    def script_of(self, commands: list[str]) -> str:
        lines = ["set -euo pipefail"]
        for command in commands:
            pattern = pattern_of(command)
            self.assertIsNotNone(pattern, f"no rule knows this command: {command}")
            if pattern in NOT_RUN:
                print(f"skipped: {command}: {NOT_RUN[pattern]}")
            else:
                lines.append(re.sub(pattern, dict(RULES)[pattern], command))
        return "\n".join(lines)

    def test_each_command_runs(self):
        environment = {**os.environ, "build": str(self.build), "root": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
        for name, commands in blocks():
            with self.subTest(block=name):
                script = self.script_of(commands)
                done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
                self.assertEqual(done.returncode, 0, f"{script}\n{done.stdout}")

    def test_each_rule_has_a_command(self):
        used = {pattern_of(command) for _, commands in blocks() for command in commands}
        self.assertEqual([pattern for pattern in [*NOT_RUN, *dict(RULES)] if pattern not in used], [])

    def test_a_command_that_is_new_or_fails_is_found(self):
        self.assertIsNone(pattern_of("samples/quickstop"))
        with self.assertRaisesRegex(AssertionError, "no rule knows this command: make all"):
            self.script_of(["make all"])


if __name__ == "__main__":
    Commands.cmake, Commands.build = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
