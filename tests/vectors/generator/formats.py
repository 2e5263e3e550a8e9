"""Float formats by their definitions: every finite magnitude of a format as a fraction, in the order of the codes."""
from bisect import bisect_left
from fractions import Fraction
import math
import struct

NAN = "nan"


class Format:
    """A sign, exponent bits with a bias, mantissa bits, subnormals; `largest` is the code of the largest finite number.
    """

    def __init__(self, name, exponent_bits, mantissa_bits, has_infinity, largest):
        self.name, self.mantissa_bits = name, mantissa_bits
        self.bits = 1 + exponent_bits + mantissa_bits
        self.bias = 2 ** (exponent_bits - 1) - 1
        self.has_infinity, self.largest = has_infinity, largest

    def magnitude(self, code):
        exponent, mantissa = divmod(code, 2 ** self.mantissa_bits)
        if exponent == 0:
            return Fraction(mantissa, 2 ** self.mantissa_bits) * Fraction(2) ** (1 - self.bias)
        return (1 + Fraction(mantissa, 2 ** self.mantissa_bits)) * Fraction(2) ** (exponent - self.bias)

    def decode(self, code):
        """A fraction with its sign, or "inf", "-inf" or "nan"; the sign of a zero is that of the code."""
        negative, rest = divmod(code, 2 ** (self.bits - 1))
        if rest > self.largest:
            if self.has_infinity and rest == self.largest + 1:
                return "-inf" if negative else "inf"
            return NAN
        return -self.magnitude(rest) if negative else self.magnitude(rest)

    def encode(self, value, negative, overflow):
        """The code nearest to a magnitude, ties to the even code. `overflow`: infinity, saturate or nan."""
        sign = 2 ** (self.bits - 1) if negative else 0
        beyond = {"infinity": self.largest + 1, "saturate": self.largest, "nan": NAN}[overflow]
        if value == "inf":
            code = beyond
        else:
            code = bisect_left(_Magnitudes(self), value)
            if code > 0:
                below, above = self.magnitude(code - 1), self.magnitude(code)
                if value - below < above - value or (value - below == above - value and code % 2 == 1):
                    code -= 1
            code = beyond if code > self.largest else code
        return NAN if code == NAN else sign + code


class _Magnitudes:
    """The finite magnitudes and the next one that larger exponents would give, as a sorted sequence."""

    def __init__(self, format_):
        self.format = format_

    def __len__(self):
        return self.format.largest + 1  # beyond the last finite magnitude

    def __getitem__(self, code):
        return self.format.magnitude(code)


F32 = Format("f32", 8, 23, True, 0x7F7FFFFF)
F16 = Format("f16", 5, 10, True, 0x7BFF)
BF16 = Format("bf16", 8, 7, True, 0x7F7F)
F8E4M3 = Format("f8e4m3", 4, 3, False, 0x7E)
F8E5M2 = Format("f8e5m2", 5, 2, True, 0x7B)


def hex_of(code, bits):
    return code if code == NAN else f"0x{code:0{bits // 4}x}"


def to_f32(value):
    """A double rounded to FP32; infinite beyond its range."""
    if math.isinf(value) or math.isnan(value):
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
