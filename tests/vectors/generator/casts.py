"""Conversions between FP32 and the small formats, at the values where they often go wrong."""
from fractions import Fraction

from generator.formats import BF16, F16, F32, F8E4M3, F8E5M2, NAN, hex_of

NARROW = [(F16, "infinity"), (BF16, "infinity"), (F8E4M3, "saturate"), (F8E4M3, "nan"), (F8E5M2, "infinity")]
INFINITY, QUIET_NAN, SIGNALLING_NAN = 0x7F800000, 0x7FC00000, 0x7F800001


def word_of(value):
    """The FP32 pattern of a fraction that FP32 represents exactly."""
    code = F32.encode(abs(value), value < 0, "infinity")
    assert F32.decode(code) == value
    return code


def around(word):
    return [word - 1, word, word + 1]


def midpoint(narrow, code):
    return (narrow.magnitude(code) + narrow.magnitude(code + 1)) / 2


def tie_words(narrow):
    """Midpoints between neighbours, below an even and below an odd code, and the FP32 values next to them."""
    one = narrow.bias * 2 ** narrow.mantissa_bits
    smallest_normal = 2 ** narrow.mantissa_bits
    codes = [smallest_normal, smallest_normal + 1, one, one + 1, one + 2, narrow.largest - 2, narrow.largest - 1]
    return [word for code in codes for word in around(word_of(midpoint(narrow, code)))]


def subnormal_words(narrow):
    """The smallest values, ties among subnormals, the step to normal numbers, and FP32's own subnormals."""
    smallest_normal = 2 ** narrow.mantissa_bits
    codes = sorted({0, 1, 2, smallest_normal // 2, smallest_normal - 2, smallest_normal - 1})
    ties = [midpoint(narrow, code) for code in codes]
    exact = [narrow.magnitude(code) for code in codes + [smallest_normal] if code > 0]
    return [word for value in ties + exact for word in around(word_of(value))] + [1, 0x7FFFFF, 0x800000]


def overflow_words(narrow):
    """The largest value, the tie above it, and values beyond."""
    largest = word_of(narrow.magnitude(narrow.largest))
    tie = word_of(midpoint(narrow, narrow.largest))
    return around(largest) + around(tie) + [0x7F7FFFFF]


def plain_words():
    return [word_of(Fraction(n, d)) for n, d in ((1, 1), (3, 2), (5, 4), (17, 16), (257, 256), (1, 8))] + [
        0x3DCCCCCD, 0x40490FDB, 0x3EAAAAAB, 0x42F6E979]


def narrowed(word, narrow, overflow):
    value = F32.decode(word)
    if value == NAN:
        return NAN
    negative = word >= 2 ** 31
    return narrow.encode("inf" if value in ("inf", "-inf") else abs(value), negative, overflow)


def narrowing(name, words, narrow, overflow):
    """Each magnitude with both signs."""
    signed = [word + sign for word in words for sign in (0, 2 ** 31)]
    return {
        "name": f"f32-to-{narrow.name}/{overflow}/{name}", "from": "f32", "to": narrow.name, "overflow": overflow,
        "input": [hex_of(word, 32) for word in signed],
        "expected": [hex_of(narrowed(word, narrow, overflow), narrow.bits) for word in signed],
    }


def widening(narrow):
    """All codes of 8 bits; of 16 bits the ends of every exponent's range."""
    step = 2 ** narrow.mantissa_bits
    codes = range(2 ** narrow.bits)
    if narrow.bits == 16:
        ends = {0, 1, 2, step // 2, step - 1}
        codes = [code for code in codes if code % step in ends]
        codes = codes if narrow is F16 else [code for code in codes if (code // step) % 8 in (0, 7)]
    expected = []
    for code in codes:
        value, sign = narrow.decode(code), code >> (narrow.bits - 1) << 31
        if value in ("inf", "-inf"):
            expected.append(INFINITY + sign)
        else:
            expected.append(NAN if value == NAN else word_of(abs(value)) + sign)
    return {"name": f"{narrow.name}-to-f32", "from": narrow.name, "to": "f32", "overflow": "infinity",
            "input": [hex_of(code, narrow.bits) for code in codes],
            "expected": [hex_of(word, 32) for word in expected]}


def vectors():
    result = []
    for narrow, overflow in NARROW:
        for name, words in (("ties", tie_words(narrow)), ("subnormals", subnormal_words(narrow)),
                            ("overflow", overflow_words(narrow)), ("plain", plain_words()),
                            ("special", [0, INFINITY, QUIET_NAN, SIGNALLING_NAN, 0x7FFFFFFF])):
            result.append(narrowing(name, words, narrow, overflow))
    return result + [widening(narrow) for narrow in (F16, BF16, F8E4M3, F8E5M2)]
