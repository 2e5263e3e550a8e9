"""Traces of gradient scalers. Each system's rule is written as that system writes it, not as one rule with switches."""
from fractions import Fraction
import math

from generator.formats import to_f32

LARGEST = to_f32(3.4028234663852886e38)
SMALLEST = 2.0 ** -126
DEFAULTS = {"initial_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "min_scale": 0.0,
            "max_scale": LARGEST, "growth_interval": 2000, "hysteresis": 1, "renew_hysteresis_each_step": False,
            "at_minimum": "continue", "histogram_limit": 0.0, "histogram_share": 0.0, "grow_after_interval": False,
            "fp32_factors": False, "histogram_trend": False}
DELAYED = dict(DEFAULTS, min_scale=1.0, growth_interval=1000, hysteresis=2)
PRESETS = {"torch": DEFAULTS,
           "deepspeed": dict(DELAYED, at_minimum="error", grow_after_interval=True),
           "megatron": dict(DELAYED, initial_scale=2.0 ** 32, at_minimum="hold", fp32_factors=True),
           "histogram": dict(DEFAULTS, growth_interval=100, histogram_limit=2048.0, histogram_share=1e-4,
                           histogram_trend=True)}


class Torch:
    """torch.amp.GradScaler, limited to a minimum and a maximum if they are given."""

    def __init__(self, s, saved):
        self.s, self.scale, self.tracker = s, saved["scale"], saved["growth_tracker"]
        self.hysteresis_left, self.ceiling, self.error = saved["hysteresis_left"], saved.get("ceiling", 0.0), False

    def lower(self):
        s, lower = self.s, self.scale * self.s["backoff_factor"]
        if s["at_minimum"] != "continue":
            self.error = s["at_minimum"] == "error" and self.scale <= s["min_scale"]
            lower = max(lower, min(s["min_scale"], self.scale))
        self.scale = to_f32(max(lower, SMALLEST))

    def overflow(self):
        self.tracker, self.hysteresis_left = 0, 0
        self.lower()

    def raise_scale(self, gradients):
        higher = to_f32(self.scale * self.s["growth_factor"])
        if not math.isinf(higher) and higher <= self.s["max_scale"]:
            self.scale = higher

    def finite(self, gradients):
        successful = self.tracker + 1
        self.tracker = 0 if successful >= self.s["growth_interval"] else successful
        if self.tracker == 0:
            self.hysteresis_left = self.s["hysteresis"]
            self.raise_scale(gradients)

    def step(self, finite, gradients):
        self.error = False
        self.finite(gradients) if finite else self.overflow()


class Delayed(Torch):
    """A fall waits until the hysteresis is used up."""

    def overflow(self):
        self.tracker = 0
        self.hysteresis_left = max(0, self.hysteresis_left - 1)
        if self.hysteresis_left <= 0:
            self.lower()


class Megatron(Delayed):
    """megatron.core.optimizer.grad_scaler.DynamicGradScaler: scale, factors and minimum are tensors of FP32."""

    def lower(self):
        product = to_f32(self.scale * to_f32(self.s["backoff_factor"]))
        self.scale = max(product, to_f32(self.s["min_scale"]))

    def raise_scale(self, gradients):
        higher = to_f32(self.scale * to_f32(self.s["growth_factor"]))
        if not math.isinf(higher):  # there it becomes infinite
            self.scale = higher


class DeepSpeed(Torch):
    """deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler of 0.17.1 to 0.19.8, which counts by step numbers."""

    def __init__(self, s, saved):
        super().__init__(s, saved)
        self.iteration, self.last_overflow = saved["growth_tracker"], -1
        self.current, self.fell = max(1, saved["hysteresis_left"]), saved["hysteresis_left"] == 0

    def grows(self):
        stable = self.iteration - self.last_overflow - 1
        return stable > 0 and stable % self.s["growth_interval"] == 0

    def finite_steps(self):
        """Since the last overflow or growth. The step that grows is the first of the next interval."""
        stable = self.iteration - self.last_overflow - 1
        return stable % self.s["growth_interval"] + 1

    def step(self, finite, gradients):
        self.error = False
        s = self.s
        if not finite:
            if s["hysteresis"] == 1 or self.current == 1:
                self.fell = True
                self.error = self.scale == s["min_scale"] and s["at_minimum"] == "error"
                self.scale = max(self.scale / 2, s["min_scale"])
            else:
                self.current -= 1
            self.last_overflow = self.iteration
        else:
            if s["renew_hysteresis_each_step"]:
                self.current, self.fell = s["hysteresis"], False
            if self.grows():
                self.current, self.fell = s["hysteresis"], False
                self.scale *= 2
        self.tracker = self.finite_steps() if finite else 0
        self.hysteresis_left = 0 if self.fell else self.current
        self.iteration += 1


class OldDeepSpeed(DeepSpeed):
    """DynamicLossScaler of DeepSpeed up to 0.17.0."""

    def grows(self):
        return self.finite_steps() == 0

    def finite_steps(self):
        return (self.iteration - self.last_overflow) % self.s["growth_interval"]


class Histogram(Delayed):
    """halftone's rule; the README explains it in words. Uses fractions, and tries scales instead of taking logarithms.
    """

    def __init__(self, s, saved):
        super().__init__(s, saved)
        self.bound = Fraction(saved.get("bound", 0.0))

    def overflow(self):
        super().overflow()
        if self.hysteresis_left == 0:
            self.ceiling = self.scale

    def raise_scale(self, gradients):
        raised = self.ceiling * self.s["growth_factor"]
        self.ceiling = raised if raised <= min(self.s["max_scale"], 2.0 ** 127) else 0.0
        magnitudes = [abs(Fraction(g)) for g in gradients if g != 0]
        if not magnitudes:
            self.bound = Fraction(0)
            return super().raise_scale(gradients)
        bound, last = self.bound_of(magnitudes), self.bound
        self.bound = bound
        if self.s["histogram_trend"] and 0 < last < bound <= 256 * last:
            magnitudes = [m * bound / last for m in magnitudes]
        fits = [e for e in range(-126, 128) if self.fits(magnitudes, Fraction(2) ** e)]
        highest = min(self.s["max_scale"], 2.0 ** 127, self.ceiling or math.inf)
        self.scale = min(highest, max(2.0 ** (max(fits) if fits else -126), self.s["min_scale"]))

    def bound_of(self, magnitudes):
        """The smallest power of two above all of them but the share."""
        share = Fraction(self.s["histogram_share"])
        powers = sorted(next_power(m) for m in magnitudes)
        return next(p for p in powers if sum(1 for q in powers if q > p) <= share * len(powers))

    def fits(self, magnitudes, scale):
        limit, share = Fraction(self.s["histogram_limit"]), Fraction(self.s["histogram_share"])
        above = sum(1 for m in magnitudes if next_power(m) * scale > limit)
        return above <= share * len(magnitudes)


def next_power(magnitude):
    """The smallest power of two above a fraction."""
    power = Fraction(1)
    while power <= magnitude:
        power *= 2
    while power / 2 > magnitude:
        power /= 2
    return power


def trace(name, rule, runs, preset=None, saved=None, **changes):
    """`runs` holds pairs of "finite" or "overflow" and the number of such steps; an optional third element gives each
    step's gradients.
    """
    settings = dict(PRESETS[preset] if preset else DEFAULTS, **changes)
    start = saved or {"scale": settings["initial_scale"], "growth_tracker": 0,
                      "hysteresis_left": settings["hysteresis"]}
    scaler, steps = rule(settings, start), []
    for kind, count, *rest in runs:
        gradients = rest[0] if rest else [1.0]
        for _ in range(count):
            scaler.step(kind == "finite", gradients)
        entry = {"step": kind, "count": count, "gradients": gradients,
                 "expected": {"scale": scaler.scale, "growth_tracker": scaler.tracker,
                              "hysteresis_left": scaler.hysteresis_left, "skipped": kind == "overflow",
                              "error": scaler.error}}
        if rule is Histogram:
            entry["expected"]["ceiling"] = scaler.ceiling
        steps.append(entry)
    vector = {"name": name, "preset": preset, "changes": changes} if preset else {"name": name}
    vector |= {"settings": settings} | ({"saved": saved} if saved else {})
    return vector | {"runs": steps}


def finite(count=1, gradients=None):
    return ("finite", count, gradients) if gradients is not None else ("finite", count)


OVERFLOW = ("overflow", 1)


def torch_traces():
    return [
        trace("torch/grows-after-2000-finite-steps", Torch, [finite(1999), finite(), finite(2000)], "torch"),
        trace("torch/an-overflow-halves-and-restarts-the-count", Torch,
              [finite(1999), OVERFLOW, finite(1999), finite(), OVERFLOW, OVERFLOW], "torch"),
        trace("torch/saved-one-step-before-growth", Torch, [finite(), finite()], "torch",
              saved={"scale": 1024.0, "growth_tracker": 1999, "hysteresis_left": 1}),
        trace("torch/factors-that-are-no-powers-of-two", Torch, [finite(2), OVERFLOW, finite(4), OVERFLOW, finite(2)],
              growth_factor=1.5, backoff_factor=0.3, growth_interval=2, initial_scale=3.0),
        trace("torch/a-growth-that-would-overflow-does-not-take-place", Torch, [finite(), finite(), OVERFLOW, finite()],
              growth_interval=1, initial_scale=2.0 ** 126),
        trace("static/never-moves", Torch, [finite(3), OVERFLOW, OVERFLOW, finite(3)], growth_factor=1.0,
              backoff_factor=1.0, growth_interval=2, initial_scale=1024.0),
        trace("maximum/a-growth-past-it-does-not-take-place", Torch, [finite(), finite(), finite(), OVERFLOW, finite()],
              growth_interval=1, initial_scale=8.0, max_scale=20.0),
        trace("minimum/hold", Torch, [OVERFLOW] * 3 + [finite(2)], initial_scale=3.0, min_scale=1.0, at_minimum="hold",
              growth_interval=2),
        trace("minimum/continue", Torch, [OVERFLOW] * 4 + [finite(2)], initial_scale=2.0, min_scale=1.0,
              at_minimum="continue", growth_interval=2),
        trace("minimum/error", Torch, [OVERFLOW] * 3 + [finite(2)], initial_scale=3.0, min_scale=1.0, at_minimum="error",
              growth_interval=2),
        trace("minimum/never-below-the-smallest-normal", Torch, [OVERFLOW, OVERFLOW], initial_scale=2.0 ** -125),
    ]


def hysteresis_runs(steps_before_growth):
    return [OVERFLOW, finite(2), OVERFLOW, OVERFLOW, finite(steps_before_growth), finite(), OVERFLOW, finite(),
            OVERFLOW]


def other_traces():
    tops, outlier = [0.25, 2.0 ** -18], [2.0 ** -10] + [2.0 ** -20] * 99
    return [
        trace("megatron/hysteresis-is-renewed-by-growth", Megatron, hysteresis_runs(999), "megatron"),
        trace("megatron/held-at-the-minimum", Megatron, [OVERFLOW] * 5, "megatron", initial_scale=4.0),
        trace("megatron/saved-with-hysteresis-used-up", Megatron, [OVERFLOW, finite(1000), OVERFLOW], "megatron",
              saved={"scale": 256.0, "growth_tracker": 500, "hysteresis_left": 0}),
        trace("megatron/factors-are-rounded-to-fp32", Megatron,
              [finite(2), OVERFLOW, OVERFLOW, finite(2), OVERFLOW, finite(2)], "megatron", initial_scale=3.0,
              min_scale=0.1, growth_factor=1.1, backoff_factor=0.3, growth_interval=2, hysteresis=1),
        trace("megatron/a-minimum-is-rounded-to-fp32", Megatron, [OVERFLOW] * 3, "megatron", initial_scale=1.0,
              min_scale=0.3, backoff_factor=0.7, hysteresis=1),
        trace("deepspeed/grows-first-after-1001-finite-steps", DeepSpeed,
              [finite(1000), finite(), finite(999), finite(), finite(1000)], "deepspeed"),
        trace("deepspeed/needs-1001-finite-steps-after-an-overflow", DeepSpeed,
              [OVERFLOW, finite(1000), finite(), finite(999), OVERFLOW, finite(1000), finite()], "deepspeed",
              hysteresis=1),
        trace("deepspeed/an-interval-of-one", DeepSpeed, [finite(), finite(), finite(), OVERFLOW, finite(), finite()],
              "deepspeed", growth_interval=1, hysteresis=1),
        trace("deepspeed/saved-one-step-before-growth", DeepSpeed, [finite(), finite(999), finite()], "deepspeed",
              saved={"scale": 256.0, "growth_tracker": 1000, "hysteresis_left": 2}),
        trace("deepspeed/up-to-0.17.0", OldDeepSpeed, [finite(999), finite(), OVERFLOW, finite(999), finite()],
              "deepspeed", grow_after_interval=False),
        trace("deepspeed/hysteresis-is-renewed-by-growth", DeepSpeed, hysteresis_runs(1000), "deepspeed"),
        trace("deepspeed/error-at-the-minimum", DeepSpeed, [OVERFLOW] * 4, "deepspeed", initial_scale=4.0),
        trace("deepspeed/consecutive-hysteresis", DeepSpeed,
              [OVERFLOW, finite(), OVERFLOW, finite(), OVERFLOW, OVERFLOW, finite(), OVERFLOW], "deepspeed",
              renew_hysteresis_each_step=True),
        trace("histogram/jumps-once", Histogram, [finite(99, tops), finite(1, tops), finite(100, tops)], "histogram",
              initial_scale=1.0),
        trace("histogram/lowers-before-the-overflow", Histogram, [finite(100, [3.0, 1.0])], "histogram",
              initial_scale=2.0 ** 14),
        trace("histogram/a-share-lies-above", Histogram, [finite(4, outlier), OVERFLOW, finite(4, outlier)],
              histogram_limit=1024.0, histogram_share=0.01, growth_interval=4),
        trace("histogram/no-share-lies-above", Histogram, [finite(4, outlier)], histogram_limit=1024.0,
              growth_interval=4),
        trace("histogram/a-ceiling-after-overflows", Histogram,
              [finite(2, tops), OVERFLOW, OVERFLOW, finite(2, tops), finite(2, tops), finite(2, tops)],
              histogram_limit=2048.0, growth_interval=2),
        trace("histogram/zeros-grow-by-the-factor", Histogram, [finite(2, [0.0, 0.0])] * 2, histogram_limit=2048.0,
              growth_interval=2, initial_scale=8.0),
        trace("histogram/between-minimum-and-maximum", Histogram, [finite(1, [2.0 ** -20]), finite(1, [4096.0])],
              histogram_limit=2048.0, growth_interval=1, initial_scale=8.0, min_scale=4.0, max_scale=1000.0),
        trace("histogram/expects-a-trend-to-go-on", Histogram,
              [finite(2, [0.25]), finite(2, [1.0]), finite(2, [4.0]), finite(2, [4.0]), finite(2, [0.25])],
              histogram_limit=2048.0, histogram_trend=True, growth_interval=2),
        trace("histogram/a-jump-is-no-trend", Histogram,
              [finite(2, [2.0 ** -9]), finite(2, [0.5]), finite(2, [2.0 ** -20]), finite(2, [2.0 ** -10])],
              histogram_limit=2048.0, histogram_trend=True, growth_interval=2),
        trace("histogram/saved-with-a-bound", Histogram, [finite(2, [1.0])], histogram_limit=2048.0,
              histogram_trend=True, growth_interval=2,
              saved={"scale": 4.0, "growth_tracker": 0, "hysteresis_left": 1, "bound": 0.5}),
        trace("histogram/saved-with-a-ceiling", Histogram, [finite(1, tops), finite(2, tops)], histogram_limit=2048.0,
              growth_interval=2,
              saved={"scale": 4.0, "growth_tracker": 1, "hysteresis_left": 1, "ceiling": 16.0}),
    ]


def vectors():
    return torch_traces() + other_traces()
