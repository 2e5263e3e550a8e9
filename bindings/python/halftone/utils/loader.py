"""Loaders, which make batches of data sets, with PyTorch's names and defaults."""

import collections
import concurrent.futures

from ..halftone import Sampler as _NativeSampler
from ..halftone import Tensor
from .datasets import IterableDataset, TensorDataset, default_collate
from .samplers import drawn_seed, rows_in, rows_of


class _Late(RuntimeError):
    """A worker takes longer than the timeout. It ends when its batch is made."""


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
        _require_samples(dataset)
        prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        _require_counts(num_workers=(num_workers, 0), timeout=(timeout, 0), prefetch_factor=(prefetch_factor, 1),
                        batch_size=(1 if batch_size is None else batch_size, 1))
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
        self.worker_init_fn, self.collate_fn = worker_init_fn, collate_fn
        self.batch_sampler, self.sampler = batch_sampler, sampler
        self._is_iterable = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__")
        self._has_own = sampler is None and batch_sampler is None and not self._is_iterable
        self._require_order(shuffle)
        self._is_open = False
        if self._has_own:
            self.sampler = self._make_sampler(shuffle, generator, rank, world_size)

    def _require_order(self, shuffle):
        if shuffle and (self._is_iterable or self.sampler is not None):
            raise ValueError("DataLoader: shuffle=True needs a data set with a length, and no sampler")
        if self._is_iterable and (self.sampler is not None or self.batch_sampler is not None):
            raise ValueError("DataLoader: a sampler needs a data set with a length")

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
        waiting, has_ended = collections.deque(), True
        try:
            for job in jobs:
                waiting.append(pool.submit(job if begin is None else begin.checked(job)))
                if len(waiting) >= self.num_workers * self.prefetch_factor:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        except _Late:
            has_ended = False
            raise
        finally:
            pool.shutdown(wait=has_ended, cancel_futures=True)

    def _result(self, batch):
        try:
            return batch.result(self.timeout or None)
        except concurrent.futures.TimeoutError:
            if batch.done():  # meanwhile, or the data set raised the error
                return batch.result()
            raise _Late(f"DataLoader: no batch came within {self.timeout} seconds") from None


def _require_samples(dataset):
    if isinstance(dataset, Tensor):
        raise TypeError("DataLoader: dataset must be a data set, got Tensor; use TensorDataset(...)")
    if not hasattr(dataset, "__getitem__") and not hasattr(dataset, "__iter__"):
        raise TypeError(f"DataLoader: dataset must have samples, got {type(dataset).__name__}")


def _require_counts(**counts):
    for name, (value, least) in counts.items():
        if value < least:
            raise ValueError(f"DataLoader: {name} must be at least {least}, got {value}")


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


__all__ = ["DataLoader", "get_worker_info"]
