"""Data sets and loaders over Python's objects. Run by CTest."""

import threading
import unittest

import halftone as ht
from callbacks import Broken, Counted, wall
from halftone.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)


class Squares(Dataset):
    def __init__(self, count=10):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"x": [float(index), 1.0], "y": index * index, "name": str(index)}


def numbers(loader):
    return [value for batch in loader for value in batch["y"].tolist()]


class Loaders(Counted):
    def test_take_samples_in_order_and_all_of_them_by_default(self):
        self.assertEqual(numbers(DataLoader(Squares(), batch_size=4)), [i * i for i in range(10)])
        self.assertEqual([len(batch["y"].tolist()) for batch in DataLoader(Squares(), 4, drop_last=True)], [4, 4])
        self.assertEqual((len(DataLoader(Squares(), 4)), len(DataLoader(Squares(0), 4))), (3, 0))
        self.assertEqual(list(DataLoader(Squares(0), 4)), [])
        self.assertEqual(len(list(DataLoader(Squares(3), 8))), 1)

    def test_collate_into_tensors(self):
        batch = next(iter(DataLoader(Squares(), 2)))
        self.assertEqual((batch["y"].tolist(), batch["name"]), ([0, 1], ["0", "1"]))
        self.assertEqual([item.tolist() for item in batch["x"]], [[0.0, 1.0], [1.0, 1.0]])
        found = default_collate([(ht.tensor([1.0]), [2, None]), (ht.tensor([3.0]), [4, None])])
        self.assertEqual((found[0].tolist(), found[1][0].tolist(), found[1][1]), ([[1.0], [3.0]], [2, 4], [None, None]))
        with self.assertRaisesRegex(TypeError, "default_collate: .* got set; give a collate_fn"):
            default_collate([{1}])
        self.assertEqual(list(DataLoader(Squares(2), 2, collate_fn=len)), [2])
        self.assertEqual([sample["y"] for sample in DataLoader(Squares(2), None)], [0, 1])

    def test_numpy_arrays_become_tensors(self):
        try:
            import numpy as np
        except ImportError as error:
            self.skipTest(f"skipped: {error} (Debian: python3-numpy)")
        rows = [(np.float32([1, 2]), np.int64(3)), (np.float32([4, 5]), np.int64(6))]
        x, y = next(iter(DataLoader(rows, batch_size=2)))
        self.assertEqual((x.tolist(), y.tolist()), ([[1.0, 2.0], [4.0, 5.0]], [3, 6]))

    def test_shuffle_anew_in_each_epoch_by_a_seed(self):
        loader = DataLoader(Squares(50), 7, shuffle=True, generator=3)
        first, second = numbers(loader), numbers(loader)
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), sorted(second))
        self.assertEqual(numbers(DataLoader(Squares(50), 7, shuffle=True, generator=3)), first)
        orders = [numbers(DataLoader(Squares(50), 7, shuffle=True, generator=ht.Generator().manual_seed(seed)))
                  for seed in (1, 1, 2)]
        self.assertEqual((orders[0] == orders[1], orders[0] == orders[2]), (True, False))

    def test_an_iteration_that_was_left_begins_anew(self):
        loader = DataLoader(Squares(), 3)
        for batch in loader:
            break
        self.assertEqual(numbers(loader), [i * i for i in range(10)])

    def test_rows_of_tensors(self):
        x = ht.tensor([[float(i), -float(i)] for i in range(5)])
        loader = DataLoader(TensorDataset(x, ht.tensor(list(range(5)))), batch_size=2, shuffle=True)
        for rows, labels in loader:
            self.assertEqual([row[0] for row in rows.tolist()], [float(label) for label in labels.tolist()])
        self.assertEqual(len(loader), 3)

    def test_a_sampler_resumes_where_it_was(self):
        first = DataLoader(Squares(), 2, shuffle=True, generator=1)
        whole = numbers(first)
        second = DataLoader(Squares(), 2, shuffle=True, generator=1)
        second.sampler.next()
        self.assertEqual(numbers(second), whole[2:])

    def test_threads_make_batches_in_order_and_end(self):
        self.assertEqual(numbers(DataLoader(Squares(40), 3, num_workers=3)), [i * i for i in range(40)])
        begun = []
        loader = DataLoader(Squares(1000), 1, num_workers=2, worker_init_fn=begun.append)
        for batch in loader:
            break
        del batch
        self.assertEqual([thread.name for thread in threading.enumerate() if thread.name.startswith("DataLoader")], [])
        self.assertIn(0, begun)

    def test_errors_and_interrupts_end_the_threads(self):
        class Bad(Squares):
            def __getitem__(self, index):
                if index == 3:
                    raise self.error
                return {"y": index}

        for error in (KeyError("three"), KeyboardInterrupt()):
            data = Bad()
            data.error = error
            with self.assertRaises(type(error)):
                list(DataLoader(data, 1, num_workers=2))
            names = [thread.name for thread in threading.enumerate()]
            self.assertEqual([name for name in names if name.startswith("DataLoader")], [])

    def test_an_error_of_the_beginning_of_a_worker_arrives(self):
        with self.assertRaisesRegex(Broken, "wall"):
            list(DataLoader(Squares(), 1, num_workers=2, worker_init_fn=wall))

    def test_a_batch_that_does_not_come_in_time_is_an_error(self):
        class Stuck(Squares):
            come = threading.Event()

            def __getitem__(self, index):
                self.come.wait()
                return index

        with self.assertRaisesRegex(RuntimeError, "no batch came within 0.01 seconds"):
            list(DataLoader(Stuck(), 1, num_workers=1, timeout=0.01))
        Stuck.come.set()
        for thread in threading.enumerate():
            if thread.name.startswith("DataLoader"):
                thread.join()

    def test_streams_have_no_length(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(5))

        self.assertEqual([batch.tolist() for batch in DataLoader(Stream(), 2)], [[0, 1], [2, 3], [4]])
        self.assertEqual([batch.tolist() for batch in DataLoader(Stream(), 2, num_workers=2)], [[0, 1], [2, 3], [4]])
        with self.assertRaisesRegex(TypeError, "Stream has no length"):
            len(DataLoader(Stream(), 2))
        self.assertEqual([batch.tolist() for batch in DataLoader(ChainDataset([Stream(), [7]]), 4)],
                         [[0, 1, 2, 3], [4, 7]])

    def test_wrong_arguments_say_what_is_taken(self):
        for make, error, text in ((lambda: DataLoader(ht.tensor([1.0]), 2), TypeError, "use TensorDataset"),
                                  (lambda: DataLoader(3), TypeError, "dataset must have samples, got int"),
                                  (lambda: DataLoader(Squares(), 0), ValueError, "batch_size must be at least 1"),
                                  (lambda: DataLoader(Squares(), 2, batch_sampler=[[1]]), ValueError, "batch_sampler"),
                                  (lambda: DataLoader(Squares(), None, drop_last=True), ValueError, "a batch_size"),
                                  (lambda: DataLoader(Squares(), timeout=-1), ValueError, "timeout must be at least 0"),
                                  (lambda: DataLoader(Squares(), sampler=[1], shuffle=True), ValueError, "no sampler"),
                                  (lambda: TensorDataset(ht.tensor([1.0]), ht.tensor([1, 2])), ValueError,
                                   "expected one first size"),
                                  (lambda: random_split(Squares(), [3, 3]), ValueError, "sum 6, expected 10")):
            with self.assertRaisesRegex(error, text):
                make()


class Samplers(Counted):
    def test_give_orders_of_pytorch_s_kinds(self):
        data = Squares(7)
        self.assertEqual(list(SequentialSampler(data)), list(range(7)))
        sampler = RandomSampler(data, generator=5)
        first = list(sampler)
        self.assertEqual((sorted(first), list(RandomSampler(data, generator=5))), (list(range(7)), first))
        self.assertNotEqual(list(sampler), first)
        many = list(RandomSampler(data, num_samples=17, generator=1))
        self.assertEqual([sorted(many[:7]), sorted(many[7:14]), len(set(many[14:]))], [list(range(7))] * 2 + [3])
        self.assertEqual(len(list(RandomSampler(data, replacement=True, num_samples=40))), 40)
        self.assertEqual(sorted(SubsetRandomSampler([5, 3, 9])), [3, 5, 9])
        self.assertEqual(set(WeightedRandomSampler([0.0, 2.0, 0.0, 1.0], 50)), {1, 3})
        self.assertEqual(sorted(WeightedRandomSampler([0.0, 2.0, 5.0], 2, replacement=False)), [1, 2])
        batches = BatchSampler(SequentialSampler(data), 3, drop_last=False)
        self.assertEqual((list(batches), len(batches)), ([[0, 1, 2], [3, 4, 5], [6]], 3))
        self.assertEqual(numbers(DataLoader(data, batch_sampler=batches)), [i * i for i in range(7)])
        self.assertEqual(numbers(DataLoader(data, 2, sampler=SubsetRandomSampler([4]), drop_last=False)), [16])

    def test_ranks_share_the_samples(self):
        shares = [DistributedSampler(Squares(7), 2, rank, seed=3) for rank in range(2)]
        orders = [list(share) for share in shares]
        self.assertEqual(([len(order) for order in orders], set(sum(orders, []))), ([4, 4], set(range(7))))
        shares[0].set_epoch(1)
        self.assertNotEqual(list(shares[0]), orders[0])
        dropped = [list(DistributedSampler(Squares(7), 2, rank, shuffle=False, drop_last=True)) for rank in range(2)]
        self.assertEqual(dropped, [[0, 2, 4], [1, 3, 5]])

    def test_say_what_they_take(self):
        for make, text in ((lambda: RandomSampler([1], num_samples=0), "an int of at least 1, got 0"),
                           (lambda: WeightedRandomSampler([0.0, 1.0], 2, replacement=False), "but only 1 weights are above 0"),
                           (lambda: WeightedRandomSampler([-1.0], 1), "must be finite and not negative"),
                           (lambda: DistributedSampler(Squares()), "give num_replicas and rank"),
                           (lambda: DistributedSampler(Squares(), 2, 2), "rank must be below 2, got 2")):
            with self.assertRaisesRegex(ValueError, text):
                make()


class Splits(Counted):
    def test_have_every_sample_once(self):
        parts = random_split(Squares(), [0.75, 0.25], generator=5)
        self.assertEqual([len(part) for part in parts], [8, 2])
        self.assertEqual(sorted(part[i]["y"] for part in parts for i in range(len(part))), [i * i for i in range(10)])
        both = ConcatDataset([Subset(Squares(), [9, 1]), Squares(2)])
        self.assertEqual([both[i]["y"] for i in range(-4, 4)], [81, 1, 0, 1] * 2)
        self.assertEqual(StackDataset(a=[1, 2], b=[3, 4])[1], {"a": 2, "b": 4})
        with self.assertRaisesRegex(ValueError, r"have \[1, 2\] samples"):
            StackDataset([1], [1, 2])


if __name__ == "__main__":
    unittest.main()
