"""The words of a C comment in Python: names of functions, classes, constants and exceptions, and no owners."""
import re

from description import Api, class_name, common_prefix, constant_names

EXCEPTIONS = {"INVALID_ARGUMENT": "InvalidArgumentError", "INVALID_HANDLE": "InvalidHandleError",
              "OUT_OF_MEMORY": "OutOfMemoryError", "SHAPE_MISMATCH": "ShapeMismatchError",
              "DTYPE_MISMATCH": "DtypeMismatchError"}
# A Python object keeps what it needs: owners are a matter of C.
OWNER = re.compile(r"(?:^|[;,] |(?<=[.;:] ))(?:each )?(?:owned by the caller|borrowed)(?:, who [^.;]*)?"
                   r"(?=[.;]|$)[.;]? ?", re.M)
MACROS = {"HTONE_MAX_NDIM": "8", "HTONE_VERSION_NUMBER": "the number of the version",
          "HTONE_VERSION_TEXT": "__version__"}


class Words:
    def __init__(self, api: Api, reached: dict[str, str]):
        self.names = dict(reached)
        for enumerated, described in api.enumerations.items():
            constants = constant_names(described)
            self.names |= {name: repr(short.lower()) for name, short in constants.items()}
            self.names[common_prefix(list(constants))] = class_name(enumerated)
        for name in [*api.handles, *api.enumerations, *api.structures]:
            self.names[name] = class_name(name)
            self.names[name.upper() + "_INIT"] = class_name(name)
        self.names |= {name: "function" for name in api.callbacks}
        self.names |= MACROS

    def name(self, match: re.Match) -> str:
        found = match[0].rstrip("*.")
        return self.names.get(found) or found.partition("_")[2].rstrip("_").lower()

    def errors(self, text: str) -> str:
        """The statuses that a call may end with, as exceptions."""
        text = re.sub(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", lambda match: EXCEPTIONS.get(match[0], match[0]), text)
        return self.text(text)

    @staticmethod
    def without_owner(match: re.Match) -> str:
        """The mark behind the words, if other words precede them."""
        end = match[0].rstrip()[-1]
        return f"{end} " if match[0][0] in ",;" and end in ".;" else ""

    def text(self, text: str) -> str:
        text = re.sub(r"\b(?:HTONE|htone)_\w+(?:\*|(?<=_)\.\.\.)?", self.name, text)
        text = OWNER.sub(self.without_owner, text)
        text = re.sub(r"(?m)^[.;] ?|(?<=[.;:]) [.;]|(?<=: )[.;] ?", "", text)
        text = re.sub(r"\b([Nn])ot 0: ", lambda match: "True: " if match[1] == "N" else "true: ", text)
        return re.sub(r"\bNULL\b", "None", text).strip()
