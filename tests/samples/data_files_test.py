#!/usr/bin/env python3
"""Broken data files: one clear line and exit status 1 for every kind of damage, before training begins."""

import gzip

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
        return self.run_sample("--data", self.folder, "--steps", "1", "--log", self.log)

    def assert_refused(self, name, raw, *parts):
        """With these bytes in the place of a file; None: without the file."""
        path, whole = self.folder / name, (self.data / name).read_bytes()
        path.unlink()
        if raw is not None:
            path.write_bytes(raw)
        result = self.run_on_folder()
        self.assert_fails(result, 1, *(parts or (f"{path}: is no gzip-compressed IDX file",)))
        self.assertEqual(result.stdout, "")
        self.assertFalse(self.log.exists(), "a run that does not start leaves an older log alone")
        path.write_bytes(whole)

    def test_whole_files_are_accepted(self):
        self.assertEqual(self.run_on_folder().returncode, 0)

    def test_any_missing_file_is_named(self):
        for path in sorted(self.data.iterdir()):
            self.assert_refused(path.name, None, f"{self.folder / path.name}: No such file")

    def test_every_truncation_of_a_file_is_refused(self):
        whole = (self.data / LABELS).read_bytes()
        for length in range(len(whole)):
            self.assert_refused(LABELS, whole[:length])

    def test_a_wrong_checksum_is_refused(self):
        whole = (self.data / IMAGES).read_bytes()
        self.assert_refused(IMAGES, whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])

    def test_files_of_another_kind_are_refused(self):
        labels, images = bytes(TRAIN_COUNT), bytes(TRAIN_COUNT * SIDE * SIDE)
        for name, content in ((IMAGES, idx((TRAIN_COUNT,), labels)), (LABELS, idx((TRAIN_COUNT, SIDE, SIDE), images)),
                              (IMAGES, idx((TRAIN_COUNT, SIDE, SIDE), images, kind=0x0D)), (IMAGES, b"no IDX file")):
            self.assert_refused(name, gzip.compress(content))

    def test_sizes_that_differ_from_the_content_are_refused(self):
        largest = 2**32 - 1
        for shape in ((0, SIDE, SIDE), (largest, largest, largest), (2**30 + 1, 1, 1), (TRAIN_COUNT + 1, SIDE, SIDE),
                      (TRAIN_COUNT - 1, SIDE, SIDE)):
            self.assert_refused(IMAGES, gzip.compress(idx(shape, bytes(TRAIN_COUNT * SIDE * SIDE))))

    def test_images_of_another_size_or_number_are_refused(self):
        self.assert_refused(IMAGES, gzip.compress(idx((TRAIN_COUNT, 27, 28), bytes(TRAIN_COUNT * 27 * 28))), "27 x 28")
        self.assert_refused(LABELS, gzip.compress(idx((1,), b"\0")), f"{TRAIN_COUNT} images", "1 labels")

    def test_a_label_beyond_the_classes_is_refused(self):
        labels = bytes(TRAIN_COUNT - 1) + b"\x0a"
        (self.folder / LABELS).write_bytes(gzip.compress(idx((TRAIN_COUNT,), labels)))
        result = self.run_sample("--data", self.folder, "--epochs", "1", "--batch", str(TRAIN_COUNT))
        self.assert_fails(result, 1, "htone_cross_entropy", "10")

    def test_a_path_that_is_too_long_is_refused(self):
        self.assert_fails(self.run_sample("--data", "x" * 5000), 1, "too long")


if __name__ == "__main__":
    sample_run.main()
