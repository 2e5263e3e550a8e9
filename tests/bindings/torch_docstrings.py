"""The examples in PyTorch's docstrings, read from the sources of its package, which is not imported: its compiled part
needs gigabytes of other packages.
"""

import ast
import doctest
from pathlib import Path

PARSER = doctest.DocTestParser()
# Files of the package, and the prefix of the names in them.
FILES = {"functional.py": "", "nn/functional.py": "nn.functional.", "nn/init.py": "nn.init.",
         "nn/modules/*.py": "nn.", "nn/parameter.py": "nn.", "nn/utils/*.py": "nn.utils.", "optim/*.py": "optim.",
         "optim/lr_scheduler.py": "optim.lr_scheduler.", "utils/data/*.py": "utils.data.",
         "autograd/grad_mode.py": "", "serialization.py": "", "amp/*.py": "amp.", "_tensor.py": "Tensor."}
# Functions that give a compiled function its documentation: the place of the name.
ADDERS = {"add_docstr": "", "_add_docstr": "", "add_docstr_all": "Tensor."}


def read(package):
    """Pairs of a name, such as nn.Linear, and its documentation."""
    found = {}
    for name in ("_torch_docs.py", "_tensor_docs.py", "nn/functional.py"):
        found.update(added(ast.parse((Path(package) / name).read_text(encoding="utf-8"))))
    for pattern, prefix in FILES.items():
        for path in sorted(Path(package).glob(pattern)):
            for name, text in defined(ast.parse(path.read_text(encoding="utf-8")), prefix):
                found.setdefault(name, text)
    return found


def added(tree):
    """Documentation that calls such as add_docstr(torch.abs, "...") add."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ADDERS:
            what, text = node.args[0], text_of(node.args[1])
            name = what.value if isinstance(what, ast.Constant) else ast.unparse(what).removeprefix("torch.")
            for part in ("_C._nn.", "_C._special.special_", "_C."):
                if name.startswith(part):
                    name = name.replace(part, "nn.functional." if part == "_C._nn." else "", 1)
            yield ADDERS[node.func.id] + name, text


def text_of(node):
    """The text of an expression: of constants, sums and text.format(...), whose braces are doubled."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return text_of(node.func.value).replace("{{", "{").replace("}}", "}")
    return ""


def defined(tree, prefix):
    """Docstrings of the classes and functions of a file, and of the methods of a class Tensor."""
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef) and prefix == "Tensor.":
            yield from defined(node, prefix)
        elif isinstance(node, ast.FunctionDef) or prefix != "Tensor.":
            yield prefix + node.name, whole_docstring(node)


def whole_docstring(node):
    """The first statement if it is a text, also one that is a sum or text.format(...)."""
    first = node.body[0]
    return text_of(first.value) if isinstance(first, ast.Expr) else ""


def examples(text):
    """The examples of a documentation, in order; none if Python cannot parse them."""
    try:
        return PARSER.get_examples("\n".join(without_gaps(text.splitlines())))
    except ValueError:
        return []


def without_gaps(lines):
    """The lines without those that are empty between brackets: the parser takes such a line for the end of a result."""
    depth = 0
    for line in lines:
        depth = 0 if line.lstrip().startswith((">>>", "...")) else depth
        if line.strip() or depth <= 0:
            yield line
        if not line.lstrip().startswith((">>>", "...")):
            depth += sum(line.count(mark) for mark in "([") - sum(line.count(mark) for mark in ")]")
