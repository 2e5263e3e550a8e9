#!/usr/bin/python3
"""Checks that comments, documents and error messages are plain English: subject, verb, object, in the field's words.

A comment must not open with a subordinate clause ("What ...", "Where ..."), and some words have a plainer or a more
exact one: a list for all texts, and a further one for those that users read, which are documents and the comments of
public headers. Prints each finding as FILE:LINE: TEXT; exits with 1 where there is one.

  tools/check_english.py [PATH...]     folders or files; all of the tree by default
"""
import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from public_headers import REPOSITORY

OPENING = re.compile(r"(What|Whoever|Whatever|Where|Whether|Whose|The same|Of)\b")
# Each word with what to write instead.
WORDS = [
    (r"answer(s|ed|ing)?\b", "returns, or the exact verb"),
    (r"(give|gives|gave|given|giving) (it |them |that |this )?back\b", "releases, returns"),
    (r"hosts?('s?)?\b(?![ _/-]*(memory|device|code|function|compiler|pointer|buffer|arguments?|copy|and device|_|-))",
     "caller, or embedding program; host stands against device alone"),
    (r"stands? (in|at|on|there|here|beside|under|behind|before|between|alone|still)\b", "is, is defined, lives"),
    (r"to the bit\b", "exactly, bitwise"),
    (r"whoever\b", "callers, readers, the code that"),
    (r"leads? no gradients?\b", "is not differentiable"),
    (r"(random|Philox) streams?\b", "random sequence; a stream is a device queue"),
    (r"leavings\b", "leftover files"),
    (r"verdicts?\b", "result of the check"),
    (r"what is not\b", "name the thing"),
    (r"(some|no)body\b", "name it, or write the passive"),
    (r"sets? out\b", "starts"),
    (r"on (its|their) way\b", "in flight, in transit"),
]
# A task takes time, memory, a lock or a part; it does not take its arguments.
TAKEN = r"(part|places?|turns?|over|locks?|references?|some|long|longer|less|more|time|times|memory|" + \
    r"(micro|milli)?seconds?|minutes?|hours?|steps?|ms|s|\w*bytes?|\w*bits|[KMG]iB)"
# Further words, for texts that users read.
WORDS_FOR_USERS = [
    (r"(tell|tells|telling|told)\b", "reports, returns, says, distinguishes"),
    (rf"takes? (?!(\S+ ){{0,4}}{TAKEN}\b)", "accepts, uses, gets, or the exact verb"),
]


def compiled(words: list[tuple[str, str]]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"\b{pattern}", re.I), instead) for pattern, instead in words]


BANNED = compiled(WORDS)
BANNED_FOR_USERS = compiled(WORDS + WORDS_FOR_USERS)

C_TOKEN = re.compile(r'(?P<string>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])\'|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)', re.S)
C_SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".i", ".java", ".cs", ".cu"}
HASH_SUFFIXES = {".py", ".sh", ".cmake", ".yml", ".awk"}
# This file quotes the words. The vectors and the corpus are data.
LEFT_OUT = re.compile(r"^(tests/vectors/.*\.json|tests/fuzz/corpus/|LICENSE|tools/check_english\.py)")


@dataclass
class Text:
    line: int
    text: str
    is_comment: bool  # else a string literal or a paragraph


def comments_of_c(source: str) -> list[Text]:
    """Comments, a run of // lines as one, and string literals."""
    found: list[Text] = []
    end_of_run = -1
    for match in C_TOKEN.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if match["string"]:
            found.append(Text(line, match["string"][1:-1], False))
        elif match["block"]:
            text = " ".join(re.sub(r"^\s*\*+ ?", "", part) for part in match["block"][2:-2].splitlines())
            found.append(Text(line, re.sub(r"^@file\s+", "", text.strip(" *")), True))
        elif match["line"]:
            text = match["line"].lstrip("/!< ").strip()
            begins_line = source[source.rfind("\n", 0, match.start()) + 1:match.start()].isspace() or (
                match.start() == 0 or source[match.start() - 1] == "\n")
            if begins_line and end_of_run >= 0 and source[end_of_run:match.start()].strip() == "" and (
                    source.count("\n", end_of_run, match.start()) == 1):
                found[-1].text += " " + text
            else:
                found.append(Text(line, text, True))
            end_of_run = match.end()
    return found


def comments_of_script(source: str) -> list[Text]:
    """Runs of # lines, and # behind code where a space precedes it."""
    found: list[Text] = []
    previous = -1
    for number, line in enumerate(source.splitlines(), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)$", line)
        if match:
            if previous == number - 1:
                found[-1].text += " " + match[1].strip()
            else:
                found.append(Text(number, match[1].strip(), True))
            previous = number
            continue
        trailing = re.search(r"\s#\s(?=[A-Za-z])([^\"']*)$", line)
        if trailing:
            found.append(Text(number, trailing[1].strip(), True))
    for match in re.finditer(r'"""(.*?)"""', source, re.S):
        found.append(Text(source.count("\n", 0, match.start()) + 1, " ".join(match[1].split()), True))
    return found


def paragraphs_of(source: str) -> list[Text]:
    """Markdown without code: `code` and fenced blocks are not English."""
    found, fenced = [], False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            found.append(Text(number, re.sub(r"`[^`]*`", "`", line), False))
    return found


def texts_of(path: Path) -> list[Text]:
    source = path.read_text(encoding="utf-8")
    if path.suffix in C_SUFFIXES:
        return comments_of_c(source)
    if path.suffix == ".md":
        return paragraphs_of(source)
    if path.suffix in HASH_SUFFIXES or path.name == "CMakeLists.txt" or source.startswith("#!"):
        return comments_of_script(source)
    return []


def is_for_users(path: Path) -> bool:
    return path.suffix == ".md" or path.is_relative_to(REPOSITORY / "capi/include")


def findings(text: Text, for_users: bool) -> list[str]:
    faults = []
    opening = OPENING.match(text.text) if text.is_comment else None
    if opening:
        faults.append(f'opens with "{opening[0]}"')
    for pattern, instead in BANNED_FOR_USERS if for_users else BANNED:
        match = pattern.search(text.text)
        if match:
            faults.append(f'"{match[0]}": {instead}')
    return faults


def tracked_files(paths: list[str]) -> list[Path]:
    listed = subprocess.run(["git", "-C", REPOSITORY, "ls-files", "-z", "--", *paths], check=True, capture_output=True)
    names = [name for name in listed.stdout.decode().split("\0") if name and not LEFT_OUT.match(name)]
    return [REPOSITORY / name for name in names if (REPOSITORY / name).is_file()]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paths", nargs="*", default=["."])
    comments = faults = 0
    for path in tracked_files(arguments.parse_args().paths):
        try:
            texts = texts_of(path)
        except UnicodeDecodeError:
            continue
        for text in texts:
            comments += text.is_comment
            for fault in findings(text, is_for_users(path)):
                faults += 1
                print(f"{path.relative_to(REPOSITORY)}:{text.line}: {fault}: {text.text[:100]}")
    print(f"{comments} comments, {faults} findings")
    return 1 if faults or not comments else 0


if __name__ == "__main__":
    sys.exit(main())
