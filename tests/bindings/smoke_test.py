"""The Python binding: create, fill, add, read and release tensors, and errors that become exceptions. Run by CTest."""

import gc
import sys
from array import array

import halftone
from halftone import Device, Dtype, Status, Tensor


def floats(tensor):
    values = array("f", bytes(4 * tensor.numel()))
    tensor.read(values)
    return list(values)


def raised(kinds, status, text, call):
    """Expects an exception of all these kinds, with the status and the text in its message."""
    try:
        call()
    except Exception as error:
        for kind in kinds:
            assert isinstance(error, kind), f"{error!r} is no {kind.__name__}"
        assert error.status == status, error.status
        assert text in str(error), str(error)
        return
    raise AssertionError("nothing was raised")


def test_values_are_right(device):
    for dtype in (Dtype.F32, Dtype.F64, Dtype.BF16):
        with Tensor(device, dtype, [2, 3]) as a, Tensor(device, dtype, (2, 3)) as b:
            a.fill(1.5)
            b.fill(-0.25)
            with a.add(b) as c:
                assert floats(c) == [1.25] * 6
                assert c.shape == (2, 3) and c.numel() == 6
                assert c.dtype is dtype


def test_scalar_and_empty_tensors(device):
    with Tensor(device, Dtype.F32, []) as scalar, Tensor(device, Dtype.F32, [0, 3]) as empty:
        scalar.fill(7)
        assert floats(scalar) == [7.0] and scalar.shape == ()
        assert floats(empty) == [] and empty.shape == (0, 3)


def test_read_writes_nothing_behind_the_tensor(device):
    with Tensor(device, Dtype.F32, [3]) as tensor:
        tensor.fill(2)
        values = array("f", [9.0] * 5)
        tensor.read(values)
        assert list(values) == [2.0, 2.0, 2.0, 9.0, 9.0]


def test_read_wants_a_writable_buffer_of_floats(device):
    with Tensor(device, Dtype.F32, [2]) as tensor:
        for wrong in (array("u", "ab"), bytes(8), [0.0, 0.0], memoryview(array("f", [0] * 4))[::2]):
            try:
                tensor.read(wrong)
            except (TypeError, BufferError):
                continue
            raise AssertionError(f"{wrong!r} was accepted")
        short = array("f", [0])
        kinds = [halftone.HalftoneException]
        raised(kinds, Status.BUFFER_TOO_SMALL, "read: ", lambda: tensor.read(short))


def test_shape_mismatch_names_function_and_argument(device):
    with Tensor(device, Dtype.F32, [2, 3]) as a, Tensor(device, Dtype.F32, [2, 4]) as b:
        a.fill(0)
        b.fill(0)
        kinds = [halftone.ShapeMismatchError, halftone.HalftoneException, ValueError]
        raised(kinds, Status.SHAPE_MISMATCH, "add: ", lambda: a.add(b))
        raised(kinds, Status.SHAPE_MISMATCH, "b [2, 4]", lambda: a.add(b))


def test_each_status_has_its_kind(device):
    invalid = [halftone.InvalidArgumentError, ValueError]
    raised(invalid, Status.INVALID_ARGUMENT, "Tensor: ", lambda: Tensor(device, Dtype.F32, [-1]))
    raised(invalid, Status.INVALID_ARGUMENT, "ndim", lambda: Tensor(device, Dtype.F32, [1] * 9))
    memory = [halftone.OutOfMemoryError, MemoryError]
    raised(memory, Status.OUT_OF_MEMORY, "Tensor: ", lambda: Tensor(device, Dtype.F32, [1 << 50]))
    raised([halftone.HalftoneException], Status.DEVICE, "Device: ", lambda: Device("no such device"))
    dtype = halftone.errors.from_status(int(Status.DTYPE_MISMATCH), "text", 0, "relu")
    assert isinstance(dtype, halftone.DtypeMismatchError) and isinstance(dtype, ValueError)
    assert halftone.errors.from_status(4711, "of a newer library", 0, "relu").status == 4711


def test_a_message_cut_within_a_character_survives(device):
    for shift in ("", "x"):
        name = shift + "\u00e9" * 600
        raised([halftone.HalftoneException], Status.DEVICE, "Device: ", lambda: Device(name))


def test_wrong_python_types_are_type_errors(device):
    calls = [
        lambda: Tensor(device, Dtype.F32, 3.5),
        lambda: Tensor(device, Dtype.F32, [1, "x", 2]),
        lambda: Device(3),
        lambda: Device("\udcff"),
        lambda: Tensor(device, Dtype.F32, [1]).add(None),
    ]
    for call in calls:
        try:
            call()
        except TypeError:
            continue
        raise AssertionError("nothing was raised")


def test_closing_twice_is_harmless_and_use_after_close_is_an_error(device):
    closed, alive = Tensor(device, Dtype.F32, [2]), Tensor(device, Dtype.F32, [2])
    before = halftone.live_handles()
    closed.close()
    closed.close()
    assert halftone.live_handles() == before - 1
    kinds = [halftone.InvalidHandleError, ValueError]
    raised(kinds, Status.INVALID_HANDLE, "fill: ", lambda: closed.fill(1))
    raised(kinds, Status.INVALID_HANDLE, "add: ", lambda: alive.add(closed))
    alive.close()


def test_leaked_objects_are_collected(device):
    before = halftone.live_handles()
    for _ in range(1000):
        cycle = [Tensor(device, Dtype.F32, [16])]
        cycle.append(cycle)
    del cycle
    gc.collect()
    assert halftone.live_handles() == before, halftone.live_handles()


def test_enumerations_are_those_of_the_headers(device):
    assert Status.OK == 0 and Status.NOT_FINITE == 18 and len(Status) == 19
    assert Dtype.F64 == 1 and Dtype.BOOL == 12 and len(Dtype) == 12


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    failed = 0
    with Device("cpu") as device:
        for name, test in tests:
            try:
                test(device)
            except Exception as error:
                failed += 1
                print(f"FAILED {name}: {error!r}")
    gc.collect()
    if halftone.live_handles() != 0:
        failed += 1
        print(f"FAILED {halftone.live_handles()} handles are alive at the end")
    print(f"{len(tests) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
