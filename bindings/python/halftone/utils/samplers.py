"""Orders of samples, with PyTorch's names. A sampler gives numbers of samples one after another, anew for each pass."""

import math

from .. import halftone as _generated
from ..devices import default_device
from ..generators import Generator, draws_of

_c = _generated._halftone


def drawn_seed(generator):
    """A seed for an order: a number that is given, or one of the random numbers that manual_seed determines."""
    if generator is None:
        return int(_c.rand(default_device(), "f64", [1]).item() * 2**53)
    seed = generator.draw() if isinstance(generator, Generator) else generator
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TypeError(f"generator must be a Generator, a seed or None, got {type(generator).__name__}")
    return seed.__index__()


def _count(kind, name, value, least=1):
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise ValueError(f"{kind}: {name} must be an int of at least {least}, got {value!r}")
    return value.__index__()


class Sampler:
    """A class of a program has __iter__(), which gives the numbers of one pass, and may have __len__()."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler):
    """All samples in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self)))

    def __len__(self):
        return len(self.data_source)


class _Random(Sampler):
    """Draws by a seed, which changes from pass to pass if it is a number that is given."""

    def __init__(self, generator):
        self.generator, self._drawn = generator, None

    def _draws(self):
        if self._drawn is None or self.generator is None:
            self._drawn = draws_of(drawn_seed(self.generator))
        return self._drawn


class RandomSampler(_Random):
    """All samples at random, or num_samples of them; with replacement a sample may come again."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(generator)
        self.data_source, self.replacement = data_source, replacement
        self._num_samples = None if num_samples is None else _count("RandomSampler", "num_samples", num_samples)

    @property
    def num_samples(self):
        """The number of samples of a pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        draws, count, wanted = self._draws(), len(self.data_source), self.num_samples
        if self.replacement:
            yield from (draws.randrange(count) for _ in range(wanted))
            return
        while wanted > 0:  # more than there are: whole passes, and a part of the last
            yield from draws.sample(range(count), min(count, wanted))
            wanted -= count

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(_Random):
    """The samples of a list of numbers at random."""

    def __init__(self, indices, generator=None):
        super().__init__(generator)
        self.indices = indices

    def __iter__(self):
        return (self.indices[place] for place in self._draws().sample(range(len(self)), len(self)))

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(_Random):
    """Draws samples with probabilities in proportion to weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        super().__init__(generator)
        self.weights = [float(weight) for weight in weights]
        self.num_samples = _count("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement = replacement
        possible = sum(weight > 0 for weight in self.weights)
        if any(not 0 <= weight < math.inf for weight in self.weights) or not possible:
            raise ValueError("WeightedRandomSampler: weights must be finite and not negative, and one must be above 0")
        if not replacement and self.num_samples > possible:
            raise ValueError(f"WeightedRandomSampler: num_samples is {num_samples}, but only {possible} weights are "
                             "above 0")

    def __iter__(self):
        draws, places = self._draws(), range(len(self.weights))
        if self.replacement:
            return iter(draws.choices(places, self.weights, k=self.num_samples))
        # The first arrivals of independent processes whose rates are the weights come in this order.
        times = [(draws.expovariate(weight), place) for place, weight in enumerate(self.weights) if weight > 0]
        return iter([place for _, place in sorted(times)[:self.num_samples]])

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers of another sampler."""

    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.batch_size = sampler, _count("BatchSampler", "batch_size", batch_size)
        self.drop_last = drop_last

    def __iter__(self):
        return rows_of(self.sampler, self.batch_size, self.drop_last)

    def __len__(self):
        return rows_in(len(self.sampler), self.batch_size, self.drop_last)


def rows_of(items, size, drop_last):
    """Lists of `size` items; the last one may be shorter, unless it is dropped."""
    row = []
    for item in items:
        row.append(item)
        if len(row) == size:
            yield row
            row = []
    if row and not drop_last:
        yield row


def rows_in(count, size, drop_last):
    """The number of these lists."""
    return count // size if drop_last else -(-count // size)


class DistributedSampler(Sampler):
    """The share of one rank. Ranks have equally many samples: some come twice, or drop_last leaves some out."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise ValueError("DistributedSampler: give num_replicas and rank, such as group.size and group.rank")
        self.num_replicas = _count("DistributedSampler", "num_replicas", num_replicas)
        self.rank = _count("DistributedSampler", "rank", rank, 0)
        if self.rank >= self.num_replicas:
            raise ValueError(f"DistributedSampler: rank must be below {num_replicas}, got {rank}")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    def set_epoch(self, epoch):
        """Chooses another order: every rank calls it before each pass."""
        self.epoch = epoch

    def __iter__(self):
        count, total = len(self.dataset), len(self) * self.num_replicas
        order = list(range(count))
        if self.shuffle:
            draws_of(self.seed + self.epoch).shuffle(order)
        return (order[place % count] for place in range(self.rank, total, self.num_replicas))

    def __len__(self):
        return rows_in(len(self.dataset), self.num_replicas, self.drop_last)


__all__ = ["BatchSampler", "DistributedSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
           "WeightedRandomSampler"]
