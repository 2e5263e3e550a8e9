"""Names in the cases of Java and C#."""


def pascal(name: str) -> str:
    """log_softmax is LogSoftmax, and forward_lstm is ForwardLstm."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def camel(name: str) -> str:
    whole = pascal(name)
    return whole[:1].lower() + whole[1:]


def sentence_case(name: str) -> str:
    """SHAPE_MISMATCH is ShapeMismatch; a word with digits such as BF16 stays."""
    return "".join(word.capitalize() if word.isalpha() else word for word in name.split("_"))


def result_name(argument: dict) -> str:
    """out_values is values; a plain out is the result."""
    return argument["name"].removeprefix("out").strip("_") or "result"
