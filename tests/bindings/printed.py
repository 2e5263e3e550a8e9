"""Printed results of PyTorch and of halftone, compared: numbers within a tolerance, and the rest as it is."""

import math
import re

# Words for the same things. halftone prints a dtype without a name.
_SAME = (
    (r"torch\.Size\(\[(.*?)\]\)", r"(\1)"), (r"torch\.return_types\.\w+\(", "("),
    (r"\b[A-Z]\w*\((?=values=)", "("), (r"torch\.(float32|float)\b", "f32"), (r"torch\.(float64|double)\b", "f64"),
    (r"torch\.(float16|half)\b", "f16"), (r"torch\.bfloat16", "bf16"), (r"torch\.int(\d+)", r"i\1"),
    (r"torch\.uint8", "u8"), (r"torch\.long", "i64"), (r"torch\.bool", "bool"), (r"<Dtype\.(\w+): \d+>", r"\1"),
    (r"device\(type='(\w+)'\)", r"\1"), (r"<Device: name='(\w+)'>", r"\1"), (r"Parameter containing:", ""))
# Behind the values of a tensor halftone prints its dtype, and PyTorch prints its attributes that are not usual.
_BEHIND = re.compile(r"(, *(f64|f32|f16|bf16|i64|i32|i16|i8|u8|bool|dtype=[\w.]+|device='[\w:]+'|requires_grad=\w+|"
                     r"grad_fn=<[^>]*>|size=\([\d, ]*\)))+\)")
_TOKEN = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf\b|nan\b)|\w+|[^\s\w]", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(\d|\.\d|inf$|nan$)", re.IGNORECASE)


def _tokens(text):
    text = re.sub(r"\s*#.*", "", text)
    for pattern, replacement in _SAME:
        text = re.sub(pattern, replacement, text)
    found = _TOKEN.findall(_BEHIND.sub(")", text))
    return [token for place, token in enumerate(found) if not _is_comma_at_end(found, place)]


def _is_comma_at_end(tokens, place):
    return tokens[place] == "," and tokens[place + 1:place + 2] in ([")"], ["]"])


def are_same(wanted, got):
    """True if the texts have the same words, and numbers that the digits of PyTorch's text cannot tell apart."""
    first, second = _tokens(wanted), _tokens(got)
    return len(first) == len(second) and all(_is_same(a, b) for a, b in zip(first, second))


def _is_same(wanted, got):
    if not (_NUMBER.match(wanted) and _NUMBER.match(got)):
        return wanted.lower() == got.lower()
    a, b = float(wanted), float(got)
    # Inputs that an example prints have four digits; a result of them is a little less exact.
    return a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= 2e-3 * max(abs(a), abs(b)) + 6e-4


def values(wanted):
    """The values of a printed tensor as nested lists; None for another text, and for one with an ellipsis."""
    match = re.fullmatch(r"\s*(?:tensor)\((.*)\)\s*", _BEHIND.sub(")", wanted), re.DOTALL)
    if match is None or "..." in match[1]:
        return None
    text = re.sub(r"\s+", " ", match[1])
    if not re.fullmatch(r"[-+\d.,e\[\] infaTrueFlsn]*", text):
        return None
    try:
        return eval(text.rstrip(", "), {"inf": math.inf, "nan": math.nan})  # numbers, brackets and commas alone
    except SyntaxError:
        return None
