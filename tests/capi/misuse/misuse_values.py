"""Valid and wrong values of parameters for the misuse test, and the lists that tables of several topics share."""

from dataclasses import dataclass, field

NOT_FINITE = ["NAN", "INFINITY", "-INFINITY"]
NOT_FP32 = NOT_FINITE + ["3.5e38", "-3.5e38"]
EXTREMES = ["INT64_MAX", "INT64_MIN"]
STEPS = ["0", "-1"] + EXTREMES  # of windows


@dataclass
class Values:
    """A valid value of a parameter that is not a handle, a result or options, and wrong values: (value, status)."""

    valid: str
    wrong: list = field(default_factory=list)


def refuse(values, status="INVALID_ARGUMENT"):
    return [(value, status) for value in values]


DTYPES = refuse(["0", "200", "-1", "13", "INT32_MAX"])
FLOATS = DTYPES + refuse(["HTONE_I64", "HTONE_BOOL"])
SIZE = Values("2", refuse(["0", "-1", "INT64_MIN", "INT64_MAX"]))
NUMBER_OF_DIMS = Values("2", refuse(["-1", "9", "INT32_MAX", "INT32_MIN"]))
DIM = refuse(["2", "-3"] + EXTREMES)
FINITE = refuse(NOT_FINITE)
INDEX = refuse(["1000", "SIZE_MAX"])

# "another" is wrong, too: the valid call has already taken that name.
PART_NAME = Values('"another"', refuse(['""', '"a\\nb"', '"\\xff"', '"a.b"', '"another"']))
