#!/usr/bin/python3
"""Changes what SWIG writes for Python, where SWIG has no setting for it.

  bindings/python/finish_wrapper.py halftone_python.cxx
"""
import re
import sys
from pathlib import Path

CHANGES = [
    # A docstring of several lines begins with an empty one. Python finds a signature only in the first line.
    (re.compile(r'(METH_[A-Z|_]+, )"\\n"$', re.M), r"\1"),
    # CPython itself refuses other arguments of these, in words of C (swig/python/arguments.h).
    (re.compile(r'\{ "(\w+)", (_wrap_\w+), METH_O, (?!NULL)'),
     r'{ "\1", HT_CALL_WITH_OBJECT("\1", \2, true), METH_FASTCALL|METH_KEYWORDS, '),
    (re.compile(r'\{ "(\w+)", (_wrap_\w+), METH_NOARGS, '),
     r'{ "\1", HT_CALL_WITH_OBJECT("\1", \2, false), METH_FASTCALL|METH_KEYWORDS, '),
    # A new object gets its handle without the check of halftone/objects.py, which is for the names that users write.
    (re.compile(r"\bPyObject_SetAttr\(inst, SWIG_This\(\)"), "PyObject_GenericSetAttr(inst, SWIG_This()"),
    # An attribute of an object changes no type: CPython would look up all its methods again after each new object.
    (re.compile(r"PyType_Modified\(Py_TYPE\(inst\)\)"), "(void)0"),
]


def main(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in CHANGES:
        text, count = pattern.subn(replacement, text)
        if count == 0:
            print(f"finish_wrapper.py: {path.name} has no {pattern.pattern}", file=sys.stderr)
            return 1
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
