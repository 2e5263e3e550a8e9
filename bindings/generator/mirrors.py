"""The enumerations and structures of the C API as C++ types that SWIG wraps.

An enumeration is an enum class of the C values. A structure is a class of the fields that a caller reads or sets, made
with the defaults of its `_init` function; it becomes the C structure, and is made from one.
"""
import re

from description import Api, class_name, constant_names, is_of_callbacks, visible_fields

UNDEFINED = "/* Macros of math.h; here they are constants of enumerations. */\n#undef NAN\n#undef INFINITY\n"


def enumeration(name: str, described: dict) -> str:
    mine = class_name(name)
    names = constant_names(described)
    values = ",\n".join(f"  {names[value['name']]} = {value['value']}" for value in described["values"])
    return f"enum class {mine} : int32_t {{\n{values}\n}};\n"


def enumeration_checks(name: str, described: dict) -> str:
    """SWIG copies the literal values into Java and C#."""
    names = constant_names(described)
    mine = class_name(name)
    return "".join(f"static_assert(int32_t({mine}::{short}) == {value});\n" for value, short in names.items())


def value(text: str, api: Api) -> str:
    """A default of the C header in the words of the C++ types."""
    for name, described in api.enumerations.items():
        names = constant_names(described)
        if text in names:
            return f"{class_name(name)}::{names[text]}"
    if re.fullmatch(r"[\d.e]+(?: (?:<<|/) [\d.e]+)+", text):
        return repr(eval(text))  # numbers, slashes and shifts alone: "1.0 / 25.0"
    cast = re.fullmatch(r"\((htone_\w+)\)\s*(-?\d+)", text)
    if cast and cast[1] in api.enumerations:
        return f"{class_name(cast[1])}({cast[2]})"  # no constant of the enumeration: "(htone_dtype)0"
    return {"NULL": "nullptr"}.get(text, text)


def default_of(structure: str, field: dict, text: str, api: Api) -> str:
    """The default of a field. An error names the field whose text is neither a number nor a constant."""
    found = {"0": "false", "1": "true"}.get(text, "") if field["role"] == "boolean" else value(text, api)
    if not re.fullmatch(r"-?[\d.]+(?:[eE][-+]?\d+)?|\w+(?:::\w+|\(-?\d+\))|nullptr|true|false", found):
        raise ValueError(f"{structure}.{field['name']}: its default {text} is no value that a language can have")
    return found


def field_type(field: dict) -> str:
    roles = {"boolean": "bool", "text": "std::string", "numbers": "Integers"}
    if field["role"] in ("enum", "handle"):
        return class_name(field["of"]) + ("*" if field["role"] == "handle" else "")
    return roles.get(field["role"], field["type"])


def mirrored(api: Api) -> dict[str, dict]:
    """Those that cross: no tables of callbacks, and not the settings that only become arguments."""
    return {name: row for name, row in api.structures.items()
            if not is_of_callbacks(name, row) and f"{name}_init" in api.names and name != "htone_error_info"}


def copies_text(field: dict) -> bool:
    return field["role"] == "text" and field["extent"] != ""


def to_mirror(field: dict) -> str:
    name = field["name"]
    if field["role"] == "boolean":
        return f"{name} = from.{name} != 0;"
    if field["role"] == "enum":
        return f"{name} = {class_name(field['of'])}(from.{name});"
    if field["role"] == "numbers":
        return f"{name} = Integers(from.{name}, from.{name} + {field['extent']});"
    if field["role"] == "text" and not copies_text(field):
        return f'{name} = from.{name} == nullptr ? "" : from.{name};'
    return f"{name} = from.{name};"


def to_c(field: dict) -> str:
    name = field["name"]
    if field["role"] == "enum":
        return f"to.{name} = {field['of']}({name});"
    if field["role"] == "text":
        return "" if copies_text(field) else f"to.{name} = {name}.empty() ? nullptr : {name}.c_str();"
    if field["role"] == "numbers":
        return f'copy_entries("{name}", {name}, to.{name});'
    return f"to.{name} = {name};"


def structure(api: Api, name: str) -> str:
    """Text of a fixed length is a result: it is read from the C structure, and never written to it."""
    mine, fields = class_name(name), visible_fields(api.structures[name])
    members = "".join(f"  {field_type(field)} {field['name']};\n" for field in fields)
    reads = "\n".join(f"    {to_mirror(field)}" for field in fields)
    writes = "\n".join(f"    {line}" for line in map(to_c, fields) if line)
    return f"""struct {mine} {{
  {mine}() : {mine}(defaults()) {{}}
{members}
#ifndef SWIG
  explicit {mine}(const {name}& from) {{
{reads}
  }}
  {name} c() const {{
    {name} to = defaults();
{writes}
    return to;
  }}

 private:
  static {name} defaults() {{
    {name} made;
    {api.filled(name.removeprefix("htone_"), "made")}
    return made;
  }}
#endif
}};
"""


def enumerations_text(api: Api) -> str:
    types = "\n".join(enumeration(*item) for item in api.enumerations.items())
    checks = "".join(enumeration_checks(*item) for item in api.enumerations.items())
    applied = "".join(f"%halftone_enumeration({class_name(name)})\n" for name in api.enumerations)
    return (f"%{{\n{UNDEFINED}%}}\n%inline %{{\nnamespace ht {{\n{types}}}  // namespace ht\n%}}\n"
            f"%{{\nnamespace ht {{\n{checks}}}\n%}}\n{applied}")


def structures_text(api: Api) -> str:
    found = mirrored(api)
    types = "\n".join(structure(api, name) for name in found)
    applied = "".join(f"%halftone_structure({class_name(name)})\n" for name in found)
    return f"{applied}%inline %{{\nnamespace ht {{\n{types}}}  // namespace ht\n%}}\n"
