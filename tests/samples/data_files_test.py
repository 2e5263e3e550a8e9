#!/usr/bin/env python3
"""Broken data files: one clear line and exit status 1 for every kind of damage."""

import gzip
import os

import sample_run
from sample_run import SIDE, TRAIN_COUNT, idx

IMAGES = "train-images-idx3-ubyte.gz"
LABELS = "train-labels-idx1-ubyte.gz"


class DataFilesTest(sample_run.SampleTest):
    def setUp(self):
        super().setUp()
        for path in self.data.iterdir():
            (self.folder / path.name).write_bytes(path.read_bytes())

    def run_on_folder(self):
        return self.run_sample("--data", self.folder, "--steps", "1", "--log", self.folder / "log")

    def assert_refused(self, name, *parts):
        result = self.run_on_folder()
        self.assert_fails(result, 1, f"{self.folder / name}: ", *parts)
        self.assertEqual(result.stdout, "")
        self.assertFalse((self.folder / "log").exists(), "a run that does not start leaves an older log alone")

    def replace(self, name, raw):
        (self.folder / name).write_bytes(raw)

    def test_whole_files_are_accepted(self):
        self.assertEqual(self.run_on_folder().returncode, 0)

    def test_any_missing_file_is_named(self):
        for path in sorted(self.data.iterdir()):
            (self.folder / path.name).unlink()
            self.assert_refused(path.name, "No such file", "expected")
            self.replace(path.name, path.read_bytes())

    def test_what_is_no_regular_file_is_refused_without_waiting(self):
        (self.folder / IMAGES).unlink()
        (self.folder / IMAGES).mkdir()
        self.assert_refused(IMAGES, "a directory", "expected")
        (self.folder / IMAGES).rmdir()
        os.mkfifo(self.folder / IMAGES)
        self.assert_refused(IMAGES, "no regular file", "expected")

    def test_an_empty_file_is_refused(self):
        self.replace(IMAGES, b"")
        self.assert_refused(IMAGES, "is empty", "expected")

    def test_what_is_not_gzip_is_refused(self):
        for raw in (b"\x1f", b"hello", gzip.decompress((self.data / IMAGES).read_bytes())):
            self.replace(IMAGES, raw)
            self.assert_refused(IMAGES, "not gzip-compressed", "expected")

    def test_every_truncation_of_a_file_is_refused(self):
        whole = (self.data / LABELS).read_bytes()
        for length in range(2, len(whole)):
            self.replace(LABELS, whole[:length])
            self.assert_refused(LABELS)

    def test_truncated_images_are_refused(self):
        whole = (self.data / IMAGES).read_bytes()
        for length in (11, len(whole) // 2, len(whole) - 9, len(whole) - 1):
            self.replace(IMAGES, whole[:length])
            self.assert_refused(IMAGES, "ends ")

    def test_garbled_bytes_never_go_unnoticed(self):
        """A change to most bytes must be found; only a few bytes of gzip's header do not affect the data."""
        whole = (self.data / LABELS).read_bytes()
        for position in range(len(whole)):
            self.replace(LABELS, whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1:])
            if position in range(4, 10):
                self.assertIn(self.run_on_folder().returncode, (0, 1))
                (self.folder / "log").unlink(missing_ok=True)
            else:
                self.assert_refused(LABELS)

    def test_a_wrong_checksum_is_refused(self):
        for name in (IMAGES, LABELS):
            whole = (self.data / name).read_bytes()
            self.replace(name, whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
            self.assert_refused(name, "cannot be unpacked")
            self.replace(name, whole)

    def test_files_of_another_kind_are_refused(self):
        labels, images = bytes(TRAIN_COUNT), bytes(TRAIN_COUNT * SIDE * SIDE)
        for name, content in ((IMAGES, idx((TRAIN_COUNT,), labels)), (LABELS, idx((TRAIN_COUNT, SIDE, SIDE), images)),
                              (IMAGES, idx((TRAIN_COUNT, SIDE, SIDE), images, kind=0x0D)), (IMAGES, b"no IDX file")):
            self.replace(name, gzip.compress(content))
            self.assert_refused(name, "begins with 0x", "expected 0x")
            self.replace(name, (self.data / name).read_bytes())

    def test_a_header_alone_is_refused(self):
        header = idx((TRAIN_COUNT, SIDE, SIDE), b"")
        for length in range(len(header) + 1):
            self.replace(IMAGES, gzip.compress(header[:length]))
            self.assert_refused(IMAGES, "ends after", "expected")

    def test_sizes_out_of_range_are_refused(self):
        largest = 2**32 - 1
        for shape in ((0, SIDE, SIDE), (1, 0, SIDE), (1, SIDE, 0), (largest, largest, largest), (2**31, 2, 1),
                      (2**30, 2**30, 16), (2**30 + 1, 1, 1), (2**16, 2**16, 2**32 - 2**16)):
            self.replace(IMAGES, gzip.compress(idx(shape, b"")))
            self.assert_refused(IMAGES, "out of range", "expected 1 to")

    def test_sizes_beyond_the_content_are_refused(self):
        self.replace(IMAGES, gzip.compress(idx((2**20, SIDE, SIDE), b"x" * 1000)))
        self.assert_refused(IMAGES, "ends after 1000 bytes", f"expected {2**20 * SIDE * SIDE}")

    def test_content_beyond_the_sizes_is_refused(self):
        self.replace(LABELS, gzip.compress(idx((TRAIN_COUNT,), bytes(TRAIN_COUNT + 1))))
        self.assert_refused(LABELS, "goes on after")

    def test_what_follows_the_packed_data_is_refused(self):
        whole = (self.data / LABELS).read_bytes()
        for rest in (b"\0", b"x" * 100000, whole):
            self.replace(LABELS, whole + rest)
            self.assert_refused(LABELS, "goes on after")

    def test_images_of_another_size_are_refused(self):
        for height, width in ((27, 28), (28, 29), (784, 1)):
            self.replace(IMAGES, gzip.compress(idx((1, height, width), bytes(height * width))))
            self.assert_refused(IMAGES, f"{height} x {width}", "expected 28 x 28")

    def test_images_and_labels_must_be_as_many(self):
        for count in (1, TRAIN_COUNT - 1, TRAIN_COUNT + 1):
            self.replace(LABELS, gzip.compress(idx((count,), bytes(count))))
            self.assert_refused(LABELS, f"{count} labels", f"expected {TRAIN_COUNT}")

    def test_a_label_beyond_the_classes_is_refused(self):
        for position, label in ((0, 10), (TRAIN_COUNT - 1, 255)):
            labels = bytearray(TRAIN_COUNT)
            labels[position] = label
            self.replace(LABELS, gzip.compress(idx((TRAIN_COUNT,), bytes(labels))))
            self.assert_refused(LABELS, f"label {position} is {label}", "expected 0 to 9")

    def test_test_files_are_checked_before_training(self):
        name = "t10k-labels-idx1-ubyte.gz"
        self.replace(name, b"hello")
        self.assert_refused(name, "not gzip-compressed")

    def test_a_path_that_is_too_long_is_refused(self):
        self.assert_fails(self.run_sample("--data", "x" * 5000), 1, "too long", "expected")


if __name__ == "__main__":
    sample_run.main()
