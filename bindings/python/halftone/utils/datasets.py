"""Data sets over Python's objects, and batches of their samples, with PyTorch's names and defaults."""

import bisect
import itertools

from .. import halftone as _generated
from ..buffers import tensor
from ..halftone import Sampler as _NativeSampler
from ..halftone import Tensor
from .samplers import drawn_seed


class Dataset:
    """Samples by number: a class has __getitem__(index), and __len__()."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another: a class has __iter__()."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class TensorDataset(Dataset):
    """Sample i is the row i of each tensor."""

    def __init__(self, *tensors):
        if not tensors:
            raise TypeError("TensorDataset: give at least one tensor")
        for item in tensors:
            if not isinstance(item, Tensor):
                raise TypeError(f"TensorDataset: tensors must be Tensors, got {type(item).__name__}")
            if not item.shape or item.shape[0] != tensors[0].shape[0]:
                raise ValueError(f"TensorDataset: tensors have {[list(each.shape) for each in tensors]}, expected one "
                                 "first size")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(item[index] for item in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]

    def rows(self, indices):
        """The rows of a batch."""
        chosen = tensor(list(indices), dtype="i64", device=self.tensors[0].device)
        return [_generated.index_select(item, 0, chosen) for item in self.tensors]


class ConcatDataset(Dataset):
    """Data sets one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        self.ends, end = [], 0
        for dataset in self.datasets:
            end += len(dataset)
            self.ends.append(end)

    def __getitem__(self, index):
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"ConcatDataset: index {index} is out of range for {len(self)} samples")
        which = bisect.bisect_right(self.ends, position)
        return self.datasets[which][position - (self.ends[which - 1] if which else 0)]

    def __len__(self):
        return self.ends[-1] if self.ends else 0


class ChainDataset(IterableDataset):
    """Data sets to iterate over, one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class StackDataset(Dataset):
    """Sample i is the sample i of each data set: a tuple, or a dictionary of data sets that are given by name."""

    def __init__(self, *datasets, **named):
        if bool(datasets) == bool(named):
            raise ValueError("StackDataset: give data sets, or data sets by name")
        self.datasets = named or datasets
        lengths = [len(dataset) for dataset in (named.values() if named else datasets)]
        if any(length != lengths[0] for length in lengths):
            raise ValueError(f"StackDataset: the data sets have {lengths} samples, expected one number")
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self):
        return self._length


class Subset(Dataset):
    """The samples of a data set with some numbers."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Splits a data set at random, into subsets of some lengths or shares."""
    count = len(dataset)
    sizes = list(lengths)
    if any(isinstance(size, float) for size in sizes):
        if abs(sum(sizes) - 1.0) > 1e-6:
            raise ValueError(f"random_split: lengths are shares with the sum {sum(sizes)}, expected 1")
        sizes = [int(count * share) for share in sizes]
        for index in range(count - sum(sizes)):
            sizes[index % len(sizes)] += 1
    if sum(sizes) != count:
        raise ValueError(f"random_split: lengths have the sum {sum(sizes)}, expected {count}, the data set's length")
    order = _order(count, drawn_seed(generator))
    ends = [sum(sizes[:index + 1]) for index in range(len(sizes))]
    return [Subset(dataset, order[end - size:end]) for end, size in zip(ends, sizes)]


def _order(count, seed):
    return list(_NativeSampler(count, count, shuffle=True, seed=seed).next()) if count else []


def default_collate(samples):
    """A batch of samples: numbers and arrays become a tensor, and tuples, lists and dictionaries one of batches."""
    first = samples[0]
    if isinstance(first, Tensor):
        return _generated.stack(samples, 0)
    if isinstance(first, (bool, int, float)):
        return tensor(list(samples))
    if isinstance(first, (str, bytes)) or first is None:
        return list(samples)
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in samples):
            raise ValueError("default_collate: the samples of a batch have different lengths")
        batches = [default_collate(list(column)) for column in zip(*samples)]
        return type(first)(*batches) if hasattr(first, "_fields") else type(first)(batches)
    if hasattr(first, "shape") or hasattr(first, "__array__"):
        return _generated.stack([tensor(sample) for sample in samples], 0)
    raise TypeError(f"default_collate: a sample must consist of tensors, arrays, numbers, strings, tuples, lists and "
                    f"dictionaries, got {type(first).__name__}; give a collate_fn")


__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
           "default_collate", "random_split"]
