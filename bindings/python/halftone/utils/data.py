"""Data sets over Python's objects, and loaders that make batches of them, with PyTorch's names and defaults."""

import bisect
import collections
import concurrent.futures
import itertools

from .. import halftone as _generated
from ..buffers import tensor
from ..halftone import Sampler as _NativeSampler
from ..halftone import Tensor
from . import samplers
from .samplers import *  # noqa: F403
from .samplers import drawn_seed, rows_in, rows_of


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


class DataLoader:
    """The batches of a data set.

        for images, labels in DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True):

    A data set is any object with a length and samples by number, or one to iterate over. num_workers threads make
    batches ahead; they end with the iteration. rank and world_size share the samples among processes. `sampler` is the
    library's, for a checkpoint: after a load the first pass goes on where the saved one was.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor=None, persistent_workers=False,
                 pin_memory_device="", in_order=True, rank=0, world_size=1):
        if isinstance(dataset, Tensor):
            raise TypeError("DataLoader: dataset must be a data set, got Tensor; use TensorDataset(...)")
        if not hasattr(dataset, "__getitem__") and not hasattr(dataset, "__iter__"):
            raise TypeError(f"DataLoader: dataset must have samples, got {type(dataset).__name__}")
        prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        for name, value, least in (("num_workers", num_workers, 0), ("timeout", timeout, 0),
                                   ("prefetch_factor", prefetch_factor, 1)):
            if value < least:
                raise ValueError(f"DataLoader: {name} must be at least {least}, got {value}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be at least 1 or None, got {batch_size}")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("DataLoader: with a batch_sampler, batch_size, shuffle, sampler and drop_last have no "
                             "effect; leave them out")
        if batch_size is None and drop_last:
            raise ValueError("DataLoader: drop_last=True needs a batch_size")
        if multiprocessing_context is not None:
            raise NotImplementedError("DataLoader: workers are threads; leave multiprocessing_context out")
        self.generator, self.pin_memory, self.timeout = generator, pin_memory, timeout
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.worker_init_fn = worker_init_fn
        self.collate_fn = collate_fn
        self.batch_sampler, self.sampler = batch_sampler, sampler
        self._is_iterable = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__")
        self._has_own = sampler is None and batch_sampler is None and not self._is_iterable
        if (self._is_iterable or sampler is not None) and shuffle:
            raise ValueError("DataLoader: shuffle=True needs a data set with a length, and no sampler")
        if self._is_iterable and (sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: a sampler needs a data set with a length")
        self._is_open = False
        if self._has_own:
            self.sampler = self._make_sampler(shuffle, generator, rank, world_size)

    def _make_sampler(self, shuffle, generator, rank, world_size):
        count, batch = len(self.dataset), self.batch_size or 1
        if count == 0 or (self.drop_last and count // world_size < batch):
            return None
        seed = drawn_seed(generator) if shuffle or generator is not None else 0
        return _NativeSampler(count, min(batch, max(1, count)), shuffle=shuffle, seed=seed, drop_last=self.drop_last,
                       rank=rank, world_size=world_size)

    def __len__(self):
        if self._is_iterable:
            if not hasattr(self.dataset, "__len__"):
                raise TypeError(f"DataLoader: {type(self.dataset).__name__} has no length")
            return rows_in(len(self.dataset), self.batch_size or 1, self.drop_last)
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self._has_own:
            return 0 if self.sampler is None else self.sampler.batches_per_epoch()
        return rows_in(len(self.sampler), self.batch_size or 1, self.drop_last)

    def __iter__(self):
        jobs = self._jobs()
        return self._in_threads(jobs) if self.num_workers else (job() for job in jobs)

    def _jobs(self):
        """A function for each batch, in order."""
        if self._is_iterable:
            return (lambda samples=samples: self._collated(samples) for samples in self._rows(iter(self.dataset)))
        return (lambda indices=indices: self._loaded(indices) for indices in self._batches())

    def _batches(self):
        if self.batch_sampler is not None:
            return iter(self.batch_sampler)
        return self._own_batches() if self._has_own else self._rows(iter(self.sampler))

    def _own_batches(self):
        """One epoch. After an iteration that was left early the next one begins a new epoch."""
        if self.sampler is None:
            return
        if self._is_open:
            while self.sampler.position()[1] != 0:
                self.sampler.next()
        self._is_open = True
        for _ in range(len(self) - self.sampler.position()[1]):
            yield self.sampler.next()
        self._is_open = False

    def _rows(self, items):
        return rows_of(items, self.batch_size or 1, self.drop_last)

    def _loaded(self, indices):
        if type(self.dataset) is TensorDataset and self.collate_fn is None and self.batch_size is not None:
            return self.dataset.rows(indices)
        return self._collated([self.dataset[index] for index in indices])

    def _collated(self, samples):
        if self.batch_size is None and self.batch_sampler is None:
            return samples[0] if self.collate_fn is None else self.collate_fn(samples[0])
        return (self.collate_fn or default_collate)(samples)

    def _in_threads(self, jobs):
        """Batches in order, made ahead. A left iteration, an error and Ctrl-C end the threads."""
        begin = None if self.worker_init_fn is None else _Beginning(self.worker_init_fn)
        pool = concurrent.futures.ThreadPoolExecutor(self.num_workers, "DataLoader", initializer=begin)
        waiting = collections.deque()
        try:
            for job in jobs:
                waiting.append(pool.submit(job if begin is None else begin.checked(job)))
                if len(waiting) >= self.num_workers * self.prefetch_factor:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def get_worker_info():
    """None: a data set is not copied for workers, which are threads, so that none of them needs to know its share."""
    return None


class _Beginning:
    """Calls a function with the number of each worker, when it begins. Batches raise what it raised."""

    def __init__(self, function):
        self.function, self.numbers, self.error = function, iter(range(1 << 30)), None

    def __call__(self):
        try:
            self.function(next(self.numbers))
        except BaseException as error:
            self.error = error

    def checked(self, job):
        def run():
            if self.error is not None:
                raise self.error
            return job()

        return run


__all__ = ["ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "StackDataset", "Subset",
           "TensorDataset", "default_collate", "get_worker_info", "random_split", *samplers.__all__]
