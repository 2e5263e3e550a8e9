#!/usr/bin/env python3
"""The byte pairs of the GPT sample: decoding gives every text back, the pairs are those of a plain reference, and a
damaged file is named with its line."""

import collections
import random
import re
import subprocess

import sample_run

def words(text):
    """Cuts a text as samples/c/common/words.h tells: byte by byte, for no word here has more than 64 bytes."""
    def kind(byte):
        if byte in b" \t\n\v\f\r":
            return "space"
        if 65 <= byte <= 90 or 97 <= byte <= 122 or byte >= 128:
            return "letter"
        return "digit" if 48 <= byte <= 57 else "other"

    result, begin = [], 0
    while begin < len(text):
        end = begin
        if text[begin] == 32 and begin + 1 < len(text) and kind(text[begin + 1]) != "space":
            end += 1
        first = end
        while end < len(text) and kind(text[end]) == kind(text[first]):
            end += 1
        is_space = kind(text[first]) == "space"
        if is_space and end < len(text) and end - begin > 1 and text[end - 1] == 32:
            end -= 1
        result.append(text[begin:end])
        begin = end
    return result


def neighbours(tokens):
    return zip(tokens, tokens[1:])


def joined(tokens, pair, token):
    result, i = [], 0
    while i < len(tokens):
        is_pair = tuple(tokens[i:i + 2]) == pair
        result.append(token if is_pair else tokens[i])
        i += 2 if is_pair else 1
    return result


def learnt_pairs(text, count):
    """Returns the pairs of a vocabulary of `count` tokens, counted anew for each."""
    parts, pairs = [list(word) for word in words(text)], []
    while 256 + len(pairs) < count:
        counts = collections.Counter(pair for part in parts for pair in neighbours(part))
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        parts = [joined(part, best, 256 + len(pairs)) for part in parts]
        pairs.append(best)
    return pairs, [token for part in parts for token in part]


def sentences(seed, length):
    rng = random.Random(seed)
    vocabulary = ["the", "and", "there", "therefore", "12", "1234", "(a", "b);", "\n", "  ", "caf\u00e9", "the", "the"]
    text = ""
    while len(text) < length:
        text += rng.choice(vocabulary) + rng.choice([" ", " ", "", "\n", "   "])
    return text.encode()


class BytePairsTest(sample_run.ProgramTest):
    encoding = "latin-1"

    def setUp(self):
        super().setUp()
        self.vocabulary = self.folder / "vocabulary"

    def call(self, command, count, data):
        """Runs the program on a file with these bytes; returns its output."""
        path = self.folder / "data"
        path.write_bytes(data)
        return self.run_well(command, str(count), path, self.vocabulary)

    def encoded(self, count, text):
        return [int(line) for line in self.call("encode", count, text).split()]

    def decoded(self, count, tokens):
        # No translation of line ends: the output is read as it is.
        path = self.folder / "tokens"
        path.write_text("".join(f"{token}\n" for token in tokens))
        command = [sample_run.program, "decode", str(count), path, self.vocabulary]
        return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout

    def pairs(self):
        """The pairs of the file."""
        lines = self.vocabulary.read_text().splitlines()[1:]
        return [tuple(int(number) for number in re.match(r"\d+ = (\d+) \+ (\d+) ", line).groups()) for line in lines]

    def test_the_pairs_are_those_of_a_plain_reference(self):
        for seed, count in ((1, 300), (2, 400), (3, 257)):
            text = sentences(seed, 2000)
            self.call("train", count, text)
            pairs, tokens = learnt_pairs(text, count)
            self.assertEqual(self.pairs(), pairs)
            self.assertEqual(self.encoded(count, text), tokens)

    def test_of_equally_frequent_pairs_the_smallest_is_taken(self):
        self.call("train", 258, b"xy\nab\nxy\nab")
        self.assertEqual(self.pairs(), [(97, 98), (120, 121)])

    def test_no_token_crosses_a_word(self):
        text = b"in the in the in the in the 1 2 1 2 1 2\n\n\n\nthe\n\n\n\nthe"
        self.call("train", 1000, text)
        self.assertLess(len(self.pairs()), 1000 - 256)  # no further pair is there twice
        shown = self.vocabulary.read_text()
        self.assertIn('" the"', shown)
        self.assertIn(r'"\x0A\x0A\x0A\x0A"', shown)
        self.assertNotIn("in the", shown)
        self.assertNotIn(r'\x0At', shown)

    def test_decoding_gives_every_text_back(self):
        rng = random.Random(4)
        texts = [b"", b"\0", bytes(range(256)) * 3, b" " * 200, b"a" * 500, b"a \n b" * 50, "\u00e9\u4e2d".encode() * 40]
        texts += [rng.randbytes(rng.randrange(1, 400)) for _ in range(20)]
        texts += [bytes(rng.choice(b"ab \n1.") for _ in range(rng.randrange(1, 300))) for _ in range(20)]
        self.call("train", 600, sentences(5, 3000) + b"".join(texts))
        for text in texts + [sentences(6, 500)]:
            tokens = self.encoded(600, text)
            self.assertEqual(self.decoded(600, tokens), text)
            self.assertLessEqual(len(tokens), len(text))

    def test_text_without_pairs_stays_bytes(self):
        self.call("train", 300, b"abc")
        self.assertEqual(self.vocabulary.read_text(), "byte pairs: 256 tokens of 300\n")
        self.assertEqual(self.encoded(300, b"abc"), [97, 98, 99])

    def test_a_damaged_file_is_named_with_its_line(self):
        self.call("train", 260, b"the the then them then")
        good = self.vocabulary.read_text()
        self.assertTrue(good.startswith("byte pairs: 260 tokens of 260\n"))
        data = self.folder / "data"
        damages = {
            "": "line 1 is no header",
            "x" + good: "line 1 is no header",
            good.replace("of 260", "of 261"): "was made for 261 tokens; --vocab asks for 260",
            good.replace("256 = ", "259 = ", 1): "line 2 is no token",
            good.replace('"he"', '"ha"'): "is no token",
            good[:-3]: "line 5 is no token",
            good + "260 = 1 + 2 \"\\x01\\x02\"\n": "has more than the 260 tokens",
            re.sub(r"257 = \d+", "257 = 257", good): "line 3 is no token",
            re.sub(r"257 = \d+", "257 = -1", good): "line 3 is no token",
            re.sub(r"257 = .*", good.splitlines()[1].replace("256 =", "257 ="), good): "line 3 is no token",
        }
        for text, expected in damages.items():
            self.assertNotEqual(text, good)
            with self.subTest(expected=expected):
                self.vocabulary.write_text(text)
                self.assert_fails(self.run_sample("encode", "260", data, self.vocabulary), 1, self.vocabulary, expected)
        self.vocabulary.unlink()
        self.assert_fails(self.run_sample("encode", "260", data, self.vocabulary), 1, self.vocabulary, "No such file")


if __name__ == "__main__":
    sample_run.main()
