"""Runs the conformance vectors through the Python binding: operations, conversions, scalers and optimizers.

    vectors_test.py FOLDER      the vectors
"""

import inspect
import json
import math
import struct
import sys
import unittest
from pathlib import Path

import halftone as ht
from halftone import nn

folder = Path()
FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2")
TABLES = ("promote_table", "dtype_table", "dtype_table_of_one")


class Mismatch(Exception):
    pass


def number(value):
    return float(value) if isinstance(value, str) else value


def flat(nested):
    return [item for entry in nested for item in flat(entry)] if isinstance(nested, list) else [number(nested)]


def shape_of(nested):
    return [len(nested), *(shape_of(nested[0]) if nested else [])] if isinstance(nested, list) else []


def described(given):
    """dtype, shape and numbers."""
    dtype = next(key for key in given if key not in ("shape", "grad"))
    return dtype, given.get("shape", shape_of(given[dtype])), flat(given[dtype])


def make_tensor(dtype, shape, numbers):
    wide = "f64" if dtype in FLOATS else "i64"
    if not numbers:
        return ht.Tensor.zeros(ht.default_device(), dtype, shape)
    return ht.tensor(numbers, dtype=wide).reshape(shape).to(dtype)


def input_of(given):
    if given is None:
        return None
    made = make_tensor(*described(given))
    if given.get("grad"):
        made.requires_grad = True
    return made


def numbers_of(tensor):
    return flat(tensor.to("f64").tolist()) if tensor.numel() else []


class Tolerance:
    def __init__(self, vector):
        self.relative, self.absolute = vector.get("tolerance", 0.0), vector.get("absolute", 0.0)

    def allows(self, actual, expected, sees_signs):
        if math.isnan(expected):
            return math.isnan(actual)
        if math.isinf(expected) or math.isinf(actual):
            return actual == expected
        is_exact = self.relative == self.absolute == 0
        if sees_signs and is_exact and expected == 0 and math.copysign(1, actual) != math.copysign(1, expected):
            return False
        return abs(actual - expected) <= self.absolute + self.relative * abs(expected)


def as_float32(value):
    return value if math.isinf(value) or math.isnan(value) else struct.unpack("f", struct.pack("f", value))[0]


def compare_floats(tensor, expected, tolerance, sees_signs):
    wanted = flat(expected)
    if str(tensor.dtype.name).lower() != "f64":
        wanted = [as_float32(float(one)) for one in wanted]
    actual = numbers_of(tensor)
    if len(actual) != len(wanted) or not all(tolerance.allows(a, w, sees_signs) for a, w in zip(actual, wanted)):
        raise Mismatch(f"is {actual}, expected {wanted}")


def compare_tensor(tensor, expected, tolerance):
    dtype, shape, numbers = described(expected)
    found = tensor.dtype.name.lower()
    if found != dtype or list(tensor.shape) != shape:
        raise Mismatch(f"is {found} {tensor.shape}, expected {dtype} {shape}")
    if dtype in FLOATS:
        compare_floats(tensor, expected[dtype], tolerance, True)
    else:
        actual = flat(tensor.to("i64").tolist()) if tensor.numel() else []
        if actual != [int(one) for one in numbers]:
            raise Mismatch(f"is {actual}, expected {numbers}")


# A list of the vectors is one argument for each side; and one name differs.
SIDES = {"kernel_h": ("kernel", 0), "kernel_w": ("kernel", -1), "kernel": ("kernel", 0), "result_h": ("result", 0),
         "result_w": ("result", -1), "result": ("result", 0), "normalized_shape": ("shape", None)}
# Inputs in the order of C, where Python's is another.
INPUTS = {"linear_cross_entropy": ("input", "weight", "bias", "targets", "class_weight")}


def setting(attributes, name):
    key, side = SIDES.get(name, (name, None))
    value = attributes[key]
    if side is not None:
        return value[side]
    return value if name in ("form", "reduction", "dtype", "equation") else number(value)


def call(name, inputs, attributes):
    """Each parameter is an attribute of its name, or else the next input."""
    if name.endswith("_in_place") or name == "copy_from":
        getattr(inputs[0], name)(inputs[1])
        return inputs[0].clone()
    function, left, arguments = getattr(ht, name), list(inputs), {}
    if name in INPUTS:
        arguments, left = dict(zip(INPUTS[name], inputs)), []
    for parameter, row in inspect.signature(function).parameters.items():
        if parameter == "tensors":
            arguments[parameter], left = left, []
        elif parameter == "device":
            arguments[parameter] = ht.default_device()
        elif SIDES.get(parameter, (parameter, None))[0] in attributes:
            arguments[parameter] = setting(attributes, parameter)
        elif left and row.default in (row.empty, None):
            arguments[parameter] = left.pop(0)
    return function(**arguments)


def results_of(name, inputs, attributes):
    made = call(name, inputs, attributes)
    outputs = list(made) if isinstance(made, (tuple, list)) else [made]
    if name == "batch_norm":
        outputs += [running for running in inputs[1:3] if running is not None]
    return outputs


def operation_of(vector):
    return vector.get("operation", vector["name"].split("/")[0])


class Answer:
    """The result of the library: its outputs, or the stage that failed."""

    def __init__(self, vector):
        self.error, self.status, self.outputs = "", None, []
        self.inputs = [input_of(given) for given in vector["inputs"]]
        stage = "operation"
        try:
            self.outputs = results_of(operation_of(vector), self.inputs, vector.get("attributes", {}))
            stage = "backward"
            if any(given and given.get("grad") for given in vector["inputs"]):
                self.backward(vector)
        except ht.HalftoneException as refused:
            self.error, self.status = stage, refused.status.name

    def backward(self, vector):
        first = self.outputs[0]
        upstream = flat(vector["upstream"]) if "upstream" in vector else [1.0] * first.numel()
        first.backward(make_tensor(first.dtype.name.lower(), list(first.shape), upstream))

    def compare(self, expected, tolerance):
        if self.error != expected.get("error", ""):
            raise Mismatch(f"error of {self.error or 'nothing'}: {self.status}")
        if expected.get("status", self.status) != self.status:
            raise Mismatch(f"another status: {self.status}")
        if "outputs" in expected:
            if len(self.outputs) != len(expected["outputs"]):
                raise Mismatch(f"{len(self.outputs)} outputs")
            for tensor, wanted in zip(self.outputs, expected["outputs"]):
                compare_tensor(tensor, wanted, tolerance)
        for tensor, wanted in zip(self.inputs, expected.get("gradients", [])):
            gradient = gradient_of(tensor)
            if (gradient is None) != (wanted is None):
                raise Mismatch("a gradient is there" if gradient else "a gradient is not there")
            if gradient is not None:
                compare_floats(gradient, wanted, tolerance, False)


def gradient_of(tensor):
    """None if it has none."""
    try:
        return None if tensor is None else tensor.grad
    except ht.HalftoneException:
        return None


def hold(vector, compare_with):
    """If a vector declares a difference, the result must be the documented one and not PyTorch's."""
    if "differs" not in vector:
        compare_with(vector["pytorch"])
        return
    compare_with(vector["halftone"])
    try:
        compare_with(vector["pytorch"])
    except Mismatch:
        return
    raise Mismatch("is documented as a difference, and is none")


def one(dtype, ndim):
    return make_tensor(dtype, [1] * ndim, [1])


def dtype_of_result(name, inputs, attributes):
    try:
        return results_of(name, inputs, attributes)[0].dtype.name.lower()
    except ht.HalftoneException:
        return "error"


def promoted(a, b):
    try:
        return ht.dtype_promote(a, b).name.lower()
    except ht.HalftoneException:
        return "error"


def of_two(attributes, a, b):
    inputs = [one(a, attributes["ndims"][0]), one(b, attributes["ndims"][1])]
    condition = [one("bool", 0)] if attributes["of"] == "where" else []
    return dtype_of_result(attributes["of"], condition + inputs, {})


def dtype_table(kind, attributes):
    dtypes, rows = attributes["dtypes"], attributes["of"] if kind == "dtype_table_of_one" else attributes["dtypes"]
    cells = {"promote_table": promoted, "dtype_table": lambda a, b: of_two(attributes, a, b),
             "dtype_table_of_one": lambda name, dtype: dtype_of_result(name, [one(dtype, 1)],
                                                                       attributes["settings"].get(name) or {})}
    return [[cells[kind](row, column) for column in dtypes] for row in rows]


def run_table(vector):
    table = dtype_table(operation_of(vector), vector["attributes"])

    def compare(expected):
        if table != expected["table"]:
            raise Mismatch(f"is {table}, expected {expected['table']}")

    hold(vector, compare)
    return ""


def run_operation(vector):
    if operation_of(vector) in TABLES:
        return run_table(vector)
    answer, tolerance = Answer(vector), Tolerance(vector)
    hold(vector, lambda expected: answer.compare(expected, tolerance))
    return ""


def is_nan(code, dtype):
    least = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80, "f8e4m3": 0x7E, "f8e5m2": 0x7C}[dtype]
    mask = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF}.get(dtype, 0x7F)
    return code & mask > least


def run_cast(vector):
    if vector["to"] == "f8e4m3" and vector["overflow"] != "saturate":
        return "cast to f8e4m3 always saturates"
    sizes = {"f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1}
    width = sizes[vector["to"]]
    given = b"".join(int(code, 16).to_bytes(sizes[vector["from"]], "little") for code in vector["input"])
    source = ht.Tensor.from_bytes(ht.default_device(), vector["from"], [len(vector["input"])], given)
    codes = bytearray(len(vector["input"]) * width)
    source.to(vector["to"]).read(codes, vector["to"])
    for index, expected in enumerate(vector["expected"]):
        code = int.from_bytes(codes[index * width : (index + 1) * width], "little")
        if not (is_nan(code, vector["to"]) if expected == "nan" else code == int(expected, 16)):
            raise Mismatch(f"{vector['input'][index]} became {code:#x}, expected {expected}")
    return ""


class Weights:
    """One weight matrix, as in a layer without bias, with functions that set its gradients."""

    def __init__(self, values, rows=1):
        self.rows, self.size = rows, len(values)
        self.module = nn.Linear(self.size // rows, rows, bias=False)
        self.module.parameter(0).tensor.write("f32", struct.pack(f"{self.size}f", *values))

    def read(self):
        return flat(self.module.parameter(0).read("f32").tolist())

    def backward(self, scaler, gradient):
        """`gradient` is that of sum(weights * gradient)."""
        leaf = self.module.parameter(0).tensor
        dtype = leaf.dtype.name.lower()
        loss = (leaf * make_tensor(dtype, [self.rows, self.size // self.rows], gradient)).sum()
        (scaler.scale(loss) if scaler else loss).backward()


def scaler_settings(vector):
    """A preset with the trace's changes must give the trace's settings."""
    options = dict(ht.grad_scaler_options_preset(vector["preset"])) if "preset" in vector else {}
    given = {**options, **vector.get("changes", {} if options else vector["settings"])}
    for name, wanted in vector["settings"].items():
        found = given[name]
        if name == "at_minimum" and not isinstance(found, str):
            found = ht.AtMinimum(found).name.lower()
        if found != wanted:
            raise Mismatch(f"{name} is {found}, expected {wanted}")
    return {key: value for key, value in given.items() if key in vector["settings"]}


def run_scaler(vector):
    count = max(len(run["gradients"]) for run in vector["runs"])
    weights, scaler = Weights([0.0] * count), ht.GradScaler(ht.default_device(), **scaler_settings(vector))
    optimizer = ht.Optimizer.sgd(weights.module, lr=0.0)
    if "saved" in vector:
        state = scaler.state()
        for name, value in vector["saved"].items():
            setattr(state, name, value)
        scaler.set_state(state)
    for run in vector["runs"]:
        gradients = flat(run["gradients"])
        gradients += [0.0] * (count - len(gradients))
        if run["step"] == "overflow":
            gradients = [math.inf] * count
        for _ in range(run["count"]):
            error = scaler_step(weights, scaler, optimizer, gradients)
        compare_scaler(scaler, optimizer, run["expected"], error)
    return ""


def scaler_step(weights, scaler, optimizer, gradients):
    """Returns whether the update reported that the scale is at its minimum."""
    optimizer.zero_grad()
    weights.backward(scaler, gradients)
    scaler.step(optimizer)
    try:
        scaler.update()
    except ht.HalftoneException as refused:
        if refused.status != ht.Status.STATE:
            raise
        return True
    return False


def compare_scaler(scaler, optimizer, expected, error):
    state = scaler.state()
    actual = {"scale": state.scale, "growth_tracker": state.growth_tracker, "hysteresis_left": state.hysteresis_left,
              "skipped": bool(optimizer.outcome().skipped), "error": error}
    if "ceiling" in expected:
        actual["ceiling"] = state.ceiling
    if actual != expected:
        raise Mismatch(f"{actual}, expected {expected}")


def optimizer_settings(vector, storage):
    names = ["compute_dtype", "grad_dtype"]
    if vector["optimizer"] != "adafactor":
        names += ["moment1_dtype", "min_8bit_size"]
    if vector["optimizer"] in ("adam", "adamw", "rmsprop"):
        names.append("moment2_dtype")
    master = "split" if storage["master"] == "split" else "full"
    return {**vector["options"], **{name: storage[name] for name in names}, "master_storage": master}


def schedule_of(given):
    after = (ht.Schedule.cosine(given["total_steps"], given["final_factor"]) if given["kind"] == "cosine"
             else ht.Schedule.step(given["step_size"], given["gamma"]))
    return ht.Schedule.warmup(given["warmup_steps"], given["start_factor"], after) if "warmup_steps" in given else after


def run_storage(vector, storage):
    weights = Weights(flat(vector["weights"]), vector.get("rows", 1))
    optimizer = getattr(ht.Optimizer, vector["optimizer"])(weights.module, **optimizer_settings(vector, storage))
    scale = vector["initial_scale"]
    scaler = None if scale is None else ht.GradScaler(ht.default_device(), initial_scale=scale)
    if vector["schedule"] is not None:
        optimizer.set_schedule(schedule_of(vector["schedule"]))
    for step, gradient in enumerate(vector["gradients"]):
        optimizer.zero_grad()
        weights.backward(scaler, flat(gradient))
        if scaler:
            scaler.unscale(optimizer)
        if vector["clip_norm"] is not None:
            optimizer.clip_grad_norm(vector["clip_norm"])
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        expected, tolerance = vector["expected"][step], storage["tolerance"][step]
        pairs = zip(weights.read(), flat(expected["weights"]))
        if optimizer.step_count != expected["steps_taken"] or any(abs(a - b) > tolerance for a, b in pairs):
            raise Mismatch(f"stored as {storage['name']}, step {step + 1}: {weights.read()}, expected {expected}")


def run_optimizer(vector):
    for storage in vector["storages"]:
        run_storage(vector, storage)
    return ""


class Vectors(unittest.TestCase):
    def run_file(self, name, run):
        vectors = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["vectors"]
        failed, skipped = [], 0
        for vector in vectors:
            try:
                with ht.scope():
                    skipped += run(vector) != ""
            except Exception as error:  # every vector is run, and named if it fails
                failed.append(f"{vector['name']}: {type(error).__name__}: {error}"[:300])
        print(f"{name}: {len(vectors) - len(failed) - skipped} vectors passed, {skipped} skipped, {len(failed)} failed")
        self.assertEqual(failed, [], "\n" + "\n".join(failed))

    def test_casts(self):
        self.run_file("casts", run_cast)

    def test_scalers(self):
        self.run_file("scalers", run_scaler)

    def test_optimizers(self):
        self.run_file("optimizers", run_optimizer)

    def test_operations(self):
        self.run_file("operations", run_operation)

    def test_transformers(self):
        self.run_file("transformers", run_operation)


if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    unittest.main()
