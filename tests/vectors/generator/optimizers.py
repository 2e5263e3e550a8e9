"""Traces of optimizers in double precision, with an error bound for each way of storing their state.

The bound follows the formulas beside the values: every rounding adds its largest error, and every factor multiplies the
earlier errors. A trace that exceeds its bound is wrong, not unlucky.
"""
import math
import random

F32, BF16 = 2.0 ** -24, 2.0 ** -8  # largest relative error of one rounding
FULL = {"name": "full", "master": "full", "compute_dtype": "f32", "grad_dtype": "f32", "moment1_dtype": "f32",
        "moment2_dtype": "f32", "min_8bit_size": 0}
STORAGES = [
    FULL,
    dict(FULL, name="bf16-copy", compute_dtype="bf16"),
    dict(FULL, name="f16-gradients", compute_dtype="f16", grad_dtype="f16"),
    dict(FULL, name="bf16-gradients-and-moment", compute_dtype="bf16", grad_dtype="bf16", moment1_dtype="bf16"),
    dict(FULL, name="split", master="split", compute_dtype="bf16", grad_dtype="bf16"),
    dict(FULL, name="split-bf16-moment", master="split", compute_dtype="bf16", grad_dtype="bf16", moment1_dtype="bf16"),
    dict(FULL, name="8-bit-moment1", moment1_dtype="i8"),
]
ADAM_STORAGES = STORAGES + [dict(FULL, name="8-bit-moments", moment1_dtype="i8", moment2_dtype="u8")]
RMSPROP_STORAGES = ADAM_STORAGES + [dict(FULL, name="8-bit-moment2", moment2_dtype="u8")]
# For centered RMSprop, since the bound of a mean in few bits says nothing about the distance from it, and Adafactor.
F32_MOMENTS = [storage for storage in STORAGES if storage["moment1_dtype"] == "f32"]
ADAFACTOR = {"lr": 1e-2, "beta2_decay": -0.8, "epsilon1": 2.0 ** -23, "epsilon2": 1e-3, "clip_threshold": 1.0,
             "weight_decay": 0.0}
ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01}
ADAM = dict(ADAMW, weight_decay=0.0)
LION = {"lr": 1e-4, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0}
RMSPROP = {"lr": 1e-2, "alpha": 0.99, "epsilon": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False}
SGD = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}


class Element:
    """One weight with its moments, and the largest error of each stored one."""

    def __init__(self, weight):
        self.w, self.m, self.v, self.mean = weight, 0.0, 0.0, 0.0
        self.w_off, self.m_off, self.v_off, self.mean_off = 0.0, 0.0, 0.0, 0.0
        self.v_least = 0.0  # the stored v is at least this, which after many steps is more than v - v_off


class Codes:
    """The codes of a kind of moment beside a scale of 1: for each factor of 2 there are `top` from a quarter on, 8 from
    the knee on, and `low` down to `least`, which is code 1.
    """

    def __init__(self, top, knee, low, least):
        self.top, self.knee, self.low, self.least = top, knee, low, least

    def count(self, share):
        return self.top if share >= 0.25 else 8 if share >= self.knee else self.low

    def step(self, value, scale):
        """From one code to the next at a value."""
        share = value / scale
        step = 2.0 ** math.floor(math.log2(share)) / self.count(share) if share > 0 else 0.0
        return scale * max(self.least, step)


FIRST, SECOND = Codes(16, 2.0 ** -7, 4, 1.5 * 2.0 ** -21), Codes(32, 2.0 ** -21, 2, 2.0 ** -40)


def store_moments(elements, storage):
    """A block of codes uses its largest magnitude as the scale. The error of both moments is at most one step between
    codes. With n codes for a factor of 2, the code below v is at least n / (n + 1) of v.
    """
    scale1 = max(abs(e.m) + e.m_off for e in elements)
    scale2 = max(e.v + e.v_off for e in elements)
    for e in elements:
        if storage["moment1_dtype"] == "bf16":
            e.m_off += BF16 * (abs(e.m) + e.m_off)
        if storage["moment1_dtype"] == "i8" and scale1 > 0:
            e.m_off += FIRST.step(abs(e.m) + e.m_off, scale1)
        if storage["moment2_dtype"] == "u8" and scale2 > 0:
            e.v_off += SECOND.step(e.v + e.v_off, scale2)
            count = SECOND.count(e.v_least / scale2)
            e.v_least *= count / (count + 1)


def sgd(elements, gradients, factor, lr, o, step):
    for e, given in zip(elements, gradients):
        g = given * factor + o["weight_decay"] * e.w
        g_off = o["weight_decay"] * e.w_off + 4 * F32 * (abs(g) + o["weight_decay"] * abs(e.w))
        if o["momentum"]:
            first = step == 1
            e.m = g if first else o["momentum"] * e.m + (1 - o["dampening"]) * g
            e.m_off = g_off if first else o["momentum"] * e.m_off + g_off + 4 * F32 * (abs(e.m) + abs(g))
            update = g + o["momentum"] * e.m if o["nesterov"] else e.m
            update_off = e.m_off * (o["momentum"] if o["nesterov"] else 1) + (g_off if o["nesterov"] else 0)
        else:
            update, update_off = g, g_off
        e.w -= lr * update
        e.w_off += lr * (update_off + 8 * F32 * (abs(update) + abs(g))) + 2 * F32 * abs(e.w)


def least_square_mean(e, decay, g, g_off):
    """A lower bound of the mean of squares, which a product of roundings to FP32 lowers."""
    return (1 - 8 * F32) * (decay * e.v_least + (1 - decay) * max(0.0, abs(g) - g_off) ** 2)


def quotient_off(e, number, off, variance, bias, epsilon):
    """The largest error of number / (sqrt(variance / bias) + epsilon), and the largest magnitude."""
    least = math.sqrt(max(0.0, variance - e.v_off, e.v_least) / bias) + epsilon
    most = math.sqrt((variance + e.v_off) / bias) + epsilon
    exact = math.sqrt(variance / bias) + epsilon
    spread = max(1 / least - 1 / exact, 1 / exact - 1 / most)
    return off / least + abs(number) * spread, (abs(number) + off) / least


def adam_moments(e, g, g_off, o):
    e.m = o["beta1"] * e.m + (1 - o["beta1"]) * g
    e.v = o["beta2"] * e.v + (1 - o["beta2"]) * g * g
    # beta2 and 1 - beta2 are both rounded to FP32; the error of the latter is 2^-24 of a number close to 1 - beta2.
    e.m_off = o["beta1"] * e.m_off + 8 * F32 * (abs(e.m) + abs(g)) + (1 - o["beta1"]) * g_off
    e.v_off = (o["beta2"] * e.v_off + 8 * F32 * (e.v + (1 - o["beta2"]) * g * g)
               + (1 - o["beta2"]) * (2 * abs(g) + g_off) * g_off)
    e.v_least = least_square_mean(e, o["beta2"], g, g_off)


def adam_step(e, lr, o, step):
    bias1, bias2 = 1 - o["beta1"] ** step, 1 - o["beta2"] ** step
    update = e.m / bias1 / (math.sqrt(e.v / bias2) + o["epsilon"])
    update_off, most = quotient_off(e, e.m / bias1, e.m_off / bias1, e.v, bias2, o["epsilon"])
    e.w -= lr * update
    e.w_off += lr * (update_off + 16 * F32 * most) + 2 * F32 * abs(e.w)


def adamw(elements, gradients, factor, lr, o, step):
    for e, given in zip(elements, gradients):
        e.w *= 1 - lr * o["weight_decay"]
        adam_moments(e, given * factor, 0.0, o)
        adam_step(e, lr, o, step)


def adam(elements, gradients, factor, lr, o, step):
    for e, given in zip(elements, gradients):
        g = given * factor + o["weight_decay"] * e.w
        g_off = o["weight_decay"] * e.w_off + 4 * F32 * (abs(g) + o["weight_decay"] * abs(e.w))
        adam_moments(e, g, g_off, o)
        adam_step(e, lr, o, step)


def lion(elements, gradients, factor, lr, o, step):
    for e, given in zip(elements, gradients):
        g = given * factor
        direction = o["beta1"] * e.m + (1 - o["beta1"]) * g
        direction_off = o["beta1"] * e.m_off + 8 * F32 * (abs(o["beta1"] * e.m) + abs(g))
        e.m = o["beta2"] * e.m + (1 - o["beta2"]) * g
        e.m_off = o["beta2"] * e.m_off + 8 * F32 * (abs(e.m) + abs(g))
        sign = 0.0 if direction == 0 else math.copysign(1.0, direction)
        sign_off = 2.0 if abs(direction) <= direction_off else 0.0  # a stored moment may have the other sign
        e.w -= lr * (sign + o["weight_decay"] * e.w)
        e.w_off += lr * (sign_off + 8 * F32 * (1 + o["weight_decay"] * abs(e.w))) + 2 * F32 * abs(e.w)


def rmsprop(elements, gradients, factor, lr, o, step):
    """The error bounds are of v, or if centered of the variance v - mean^2, which the storage may hold in its place."""
    alpha = o["alpha"]
    for e, given in zip(elements, gradients):
        g = given * factor + o["weight_decay"] * e.w
        g_off = o["weight_decay"] * e.w_off + 4 * F32 * (abs(g) + o["weight_decay"] * abs(e.w))
        gap, gap_off = (g - e.mean, g_off + e.mean_off) if o["centered"] else (g, g_off)
        e.v = alpha * e.v + (1 - alpha) * g * g
        e.mean = alpha * e.mean + (1 - alpha) * g
        variance = max(0.0, e.v - e.mean * e.mean) if o["centered"] else e.v
        e.v_off = (alpha * e.v_off + 8 * F32 * (variance + (1 - alpha) * gap * gap)
                   + (1 - alpha) * (2 * abs(gap) + gap_off) * gap_off)
        e.mean_off = alpha * e.mean_off + 8 * F32 * (abs(e.mean) + abs(g)) + (1 - alpha) * g_off
        update = g / (math.sqrt(variance) + o["epsilon"])
        e.v_least = 0.0 if o["centered"] else least_square_mean(e, alpha, g, g_off)
        update_off, most = quotient_off(e, g, g_off, variance, 1.0, o["epsilon"])
        update_off += 16 * F32 * most
        e.m = o["momentum"] * e.m + update
        e.m_off = o["momentum"] * e.m_off + update_off + 4 * F32 * abs(e.m)
        e.w -= lr * e.m
        e.w_off += lr * (e.m_off + 8 * F32 * abs(e.m)) + 2 * F32 * abs(e.w)


def root_mean_square(values):
    return math.sqrt(sum(value * value for value in values) / len(values))


def adafactor(elements, gradients, factor, lr, o, step):
    """The weights are a matrix. `m` and `v` of an element are the means of its row and its column, which are positive:
    each step adds a few roundings to their relative errors, and a mean of old and new never adds more."""
    columns = len(elements) // o["rows"]
    share, lines = step ** o["beta2_decay"], list(zip(elements, (given * factor for given in gradients)))
    for lane, mean in [(lines[i * columns:(i + 1) * columns], "m") for i in range(o["rows"])] + [
            (lines[i::columns], "v") for i in range(columns)]:
        square = sum(g * g for _, g in lane) / len(lane)
        for e, _ in lane:
            setattr(e, mean, getattr(e, mean) + share * (square - getattr(e, mean)))
    mean_of_rows = max(sum(e.m for e in elements) / len(elements), o["epsilon1"])
    steps = [g / math.sqrt(max(e.m * e.v / mean_of_rows, o["epsilon1"] ** 2)) for e, g in lines]
    step_share = (6 * step + 32) * F32  # the relative error of a step: half of three means', and its own
    scale = max(o["epsilon2"], root_mean_square([e.w for e in elements]))
    bounded = min(lr, 1 / math.sqrt(step)) / max(1.0, root_mean_square(steps) / o["clip_threshold"])
    rate, scale_off = scale * bounded, max(e.w_off for e in elements)
    for e, change in zip(elements, steps):
        e.w -= lr * o["weight_decay"] * e.w + rate * change
        e.w_off += (rate * 2.0 * step_share + scale_off * bounded) * abs(change) + 2 * F32 * abs(e.w)


FORMULAS = {"sgd": sgd, "adamw": adamw, "adam": adam, "lion": lion, "rmsprop": rmsprop, "adafactor": adafactor}


def schedule_factor(schedule, position):
    if schedule is None:
        return 1.0
    warmup = schedule.get("warmup_steps", 0)
    if position < warmup:
        return schedule["start_factor"] + (1 - schedule["start_factor"]) * position / warmup
    position -= warmup
    if schedule["kind"] == "cosine":
        share = min(position, schedule["total_steps"]) / schedule["total_steps"]
        return schedule["final_factor"] + (1 - schedule["final_factor"]) * (1 + math.cos(math.pi * share)) / 2
    if schedule["kind"] == "step":
        return schedule["gamma"] ** (position // schedule["step_size"])
    return 1.0


def is_finite(gradient):
    return all(isinstance(g, float) for g in gradient)


def clip_factor(gradient, max_norm):
    if max_norm is None:
        return 1.0
    return min(1.0, max_norm / (math.sqrt(sum(g * g for g in gradient)) + 1e-6))


def digits(values):
    """Rounds to the digits that the cos and pow of every C library agree on."""
    return [float(f"{value:.13g}") for value in values]


def run(case, storage):
    """The expected values after every step, and the error bound of the weights."""
    elements = [Element(w) for w in case["weights"]]
    taken, expected, bounds = 0, [], []
    for gradient in case["gradients"]:
        skipped = not is_finite(gradient)
        if not skipped:
            lr = case["options"]["lr"] * schedule_factor(case["schedule"], taken)
            taken += 1
            factor = clip_factor(gradient, case["clip_norm"])
            options = dict(case["options"], rows=case.get("rows"))
            FORMULAS[case["optimizer"]](elements, gradient, factor, lr, options, taken)
            store_moments(elements, storage)
        expected.append({"skipped": skipped, "weights": digits([e.w for e in elements]),
                         "moment1": digits([e.m for e in elements]), "moment2": digits([e.v for e in elements]),
                         "steps_taken": taken})
        bounds.append(float(f"{max(e.w_off for e in elements) * 1.01:.3g}"))
    return expected, bounds


def representable(generator, scale=1.0):
    """A gradient with 7 significant bits: every dtype here represents it exactly, also times a power of two."""
    return generator.choice((-1, 1)) * generator.randrange(64, 128) / 128 * scale


def vector(name, optimizer, options, count=4, steps=12, schedule=None, clip_norm=None, initial_scale=None, spoilt=(),
           sizes=None, storages=None, rows=None):
    generator = random.Random(name)
    weights = [generator.randrange(-1024, 1025) / 512 for _ in range(count)]
    sizes = sizes or [1.0] * count
    gradients = [[representable(generator, size) for size in sizes] for _ in range(steps)]
    for step, element, bad in spoilt:
        gradients[step][element] = bad
    case = {"name": name, "optimizer": optimizer, "options": options, "schedule": schedule, "clip_norm": clip_norm,
            "initial_scale": initial_scale, "weights": weights, "gradients": gradients}
    if rows:
        case["rows"] = rows
    modes = []
    by_rule = {"sgd": STORAGES, "lion": STORAGES, "rmsprop": RMSPROP_STORAGES}
    storages = storages or by_rule.get(optimizer, ADAM_STORAGES)
    has_moments = options.get("momentum") != 0
    for storage in storages:
        if not has_moments and storage["moment1_dtype"] != "f32":
            continue
        expected, bounds = run(case, storage)
        modes.append(dict(storage, tolerance=bounds))
    case["expected"], case["storages"] = expected, modes
    return case


def sgd_vectors():
    decayed = dict(SGD, weight_decay=0.1)
    return [
        vector("sgd/plain", "sgd", SGD),
        vector("sgd/weight-decay", "sgd", decayed),
        vector("sgd/momentum", "sgd", dict(decayed, momentum=0.9)),
        vector("sgd/dampening", "sgd", dict(SGD, momentum=0.8, dampening=0.3)),
        vector("sgd/nesterov", "sgd", dict(decayed, momentum=0.9, nesterov=True)),
        vector("sgd/clip-by-norm", "sgd", dict(SGD, momentum=0.9), clip_norm=0.75, initial_scale=64.0),
        vector("sgd/clip-by-norm-that-is-not-reached", "sgd", SGD, clip_norm=1000.0),
        vector("sgd/skipped-steps", "sgd", dict(SGD, momentum=0.9), initial_scale=1024.0,
               spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        vector("sgd/cosine", "sgd", SGD, schedule={"kind": "cosine", "total_steps": 8, "final_factor": 0.1}),
        vector("sgd/step-schedule", "sgd", SGD, schedule={"kind": "step", "step_size": 3, "gamma": 0.5}),
        vector("sgd/a-skipped-step-does-not-move-the-schedule", "sgd", SGD, initial_scale=1024.0,
               schedule={"kind": "cosine", "total_steps": 8, "final_factor": 0.0, "warmup_steps": 3,
                         "start_factor": 0.25}, spoilt=[(1, 1, "inf"), (6, 2, "nan")]),
    ]


def adamw_vectors():
    quick = dict(ADAMW, lr=0.01, beta1=0.8, beta2=0.9, epsilon=1e-6, weight_decay=0.1)
    return [
        vector("adamw/defaults", "adamw", ADAMW),
        vector("adamw/quick", "adamw", quick, count=6),
        vector("adamw/no-decay", "adamw", dict(ADAMW, weight_decay=0.0)),
        vector("adamw/large-epsilon", "adamw", dict(quick, epsilon=0.5)),
        vector("adamw/small-gradients", "adamw", quick, sizes=[1.0, 2.0 ** -4, 2.0 ** -8, 2.0 ** -10],
               storages=ADAM_STORAGES[:6]),
        vector("adamw/clip-by-norm", "adamw", dict(quick, epsilon=0.1), clip_norm=0.5, initial_scale=64.0),
        vector("adamw/skipped-steps", "adamw", quick, initial_scale=1024.0,
               spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        vector("adamw/warmup-then-cosine", "adamw", quick, schedule={
            "kind": "cosine", "total_steps": 6, "final_factor": 0.1, "warmup_steps": 4, "start_factor": 0.1}),
    ]


def adam_vectors():
    quick = dict(ADAM, lr=0.01, beta1=0.8, beta2=0.9, epsilon=1e-6, weight_decay=0.1)
    return [
        vector("adam/defaults", "adam", ADAM),
        vector("adam/decay-is-part-of-the-gradient", "adam", quick, count=6),
        vector("adam/decay-comes-behind-the-clipping", "adam", dict(quick, epsilon=0.1), clip_norm=0.5,
               initial_scale=64.0),
        vector("adam/skipped-steps", "adam", quick, initial_scale=1024.0,
               spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        vector("adam/step-schedule", "adam", quick, schedule={"kind": "step", "step_size": 3, "gamma": 0.5}),
    ]


def lion_vectors():
    quick = dict(LION, lr=0.01, beta1=0.8, beta2=0.9, weight_decay=0.1)
    return [
        vector("lion/defaults", "lion", LION),
        vector("lion/quick", "lion", quick, count=6),
        vector("lion/betas-change-places", "lion", dict(LION, lr=0.01, beta1=0.95, beta2=0.5)),
        vector("lion/small-gradients-move-as-far", "lion", quick, sizes=[1.0, 2.0 ** -4, 2.0 ** -8, 2.0 ** -10],
               storages=STORAGES[:6]),
        vector("lion/clip-by-norm", "lion", quick, clip_norm=0.5, initial_scale=64.0),
        vector("lion/skipped-steps", "lion", quick, initial_scale=1024.0,
               spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        vector("lion/warmup-then-cosine", "lion", quick, schedule={
            "kind": "cosine", "total_steps": 6, "final_factor": 0.1, "warmup_steps": 4, "start_factor": 0.1}),
    ]


def rmsprop_vectors():
    quick = dict(RMSPROP, alpha=0.9, epsilon=0.01, weight_decay=0.1)
    centered = dict(quick, centered=True)
    return [
        vector("rmsprop/defaults", "rmsprop", RMSPROP),
        vector("rmsprop/quick", "rmsprop", quick, count=6),
        vector("rmsprop/momentum", "rmsprop", dict(quick, momentum=0.8)),
        vector("rmsprop/centered", "rmsprop", centered, storages=F32_MOMENTS),
        vector("rmsprop/centered-with-momentum", "rmsprop", dict(centered, momentum=0.8), storages=F32_MOMENTS),
        vector("rmsprop/clip-by-norm", "rmsprop", dict(quick, epsilon=0.1), clip_norm=0.5, initial_scale=64.0),
        vector("rmsprop/skipped-steps", "rmsprop", dict(quick, momentum=0.9), initial_scale=1024.0,
               spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        vector("rmsprop/step-schedule", "rmsprop", quick, schedule={"kind": "step", "step_size": 3, "gamma": 0.5}),
    ]


def adafactor_vectors():
    quick = dict(ADAFACTOR, lr=0.05, beta2_decay=-0.5, epsilon1=0.01, clip_threshold=2.0, weight_decay=0.1)
    sizes = [2.0 ** -(i % 3 + i // 3 % 2) for i in range(6)]

    def of(name, options, **more):
        return vector("adafactor/" + name, "adafactor", options, count=6, rows=2, sizes=sizes, storages=F32_MOMENTS,
                      **more)

    return [
        of("defaults", ADAFACTOR),
        of("quick", quick),
        of("large-epsilons", dict(quick, epsilon1=0.5, epsilon2=2.0)),
        of("clip-by-norm", dict(quick, epsilon1=0.1), clip_norm=0.5, initial_scale=64.0),
        of("skipped-steps", quick, initial_scale=1024.0, spoilt=[(0, 1, "inf"), (4, 0, "nan"), (5, 3, "-inf")]),
        of("step-schedule", quick, schedule={"kind": "step", "step_size": 3, "gamma": 0.5}),
    ]


def vectors():
    return (sgd_vectors() + adamw_vectors() + adam_vectors() + lion_vectors() + rmsprop_vectors()
            + adafactor_vectors())
