#!/usr/bin/python3
"""Checks who includes whom: the arrows of CONTRIBUTING.md's picture and all of them, no circle, few headers for each
source of the C API, and nothing but the installed headers outside the library. Prints each violation; exits with 1
where there is one.
"""
import argparse
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# A room includes itself, the rooms named here, and all that these include.
ARROWS = {
    "core": (),
    "backend": ("core",),
    "cpu": ("backend",),
    "cuda": ("backend",),
    "runtime": ("backend",),
    "comm": ("runtime",),
    "tensor": ("runtime",),
    "autograd": ("tensor",),
    "ops": ("autograd",),
    "nn": ("ops",),
    "optim": ("ops",),
    "checkpoint": ("tensor",),
    "data": ("tensor",),
    "offload": ("tensor",),
    "parallel": ("nn", "comm", "offload"),
    "analysis": ("nn", "optim"),
    "resume": ("nn", "optim", "comm", "checkpoint", "data"),
    "trainer": ("resume", "analysis"),
}
# Headers of one backend and of other projects, and the only folders that may see them.
CONFINED = {
    r"hwy/.*": ("impl/cpu",),
    r"(cuda|cublas|cudnn|nvrtc|cupti|driver_types).*": ("impl/cuda", "impl/comm/nccl"),
    r"nccl.*": ("impl/comm/nccl",),
    r"gloo/.*": ("impl/comm/gloo", "tests/bench"),
    r"openssl/.*": ("impl/comm/tcp_store",),
    r"(dnnl|oneapi/).*": ("tests/cpu", "tests/bench"),
}
# The interfaces that plugins implement, which hold plain types alone, and the standard headers that they may see.
SEAM = ("impl/backend/device.h", "impl/backend/plugin.h", "impl/comm/group/process_group.h", "impl/comm/group/request.h",
        "impl/comm/store.h", "impl/comm/group/work.h")
SEAM_HEADERS = ("cstddef", "cstdint")
# Folders that stand where a user stands: they see halftone/... and their own files.
OUTSIDE = ("samples", "tools/halftone_analyze", "tools/halftone_report", "bindings", "tests/capi", "tests/vectors", "tests/samples",
           "tests/package", "tests/bindings")
# The two places that know which backends a build has, and the rooms that they alone may see.
REGISTRIES = ("impl/runtime/registry.cpp", "impl/comm/group/registry.cpp")
BACKENDS = ("cpu", "cuda")
# A source of the C API includes at most so many headers of the project, directly or not: a header of one room must not
# rebuild the calls of the others.
MOST_HEADERS = 80
SOURCES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".i"}
INCLUDE = re.compile(r"^[ \t]*[#%][ \t]*(?:include|import)[ \t]*([<\"])([^>\"\n]+)[>\"]", re.M)
BACKEND_SWITCH = re.compile(r"^[ \t]*#[ \t]*(?:el)?if.*\bHALFTONE_(?:CUDA|NCCL|GLOO|ONEDNN)\b.*", re.M)


def reachable(room: str) -> set[str]:
    rooms = {room}
    for below in ARROWS[room]:
        rooms |= reachable(below)
    return rooms


def sources(root: Path, folder: str) -> list[Path]:
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in SOURCES)


def includes(path: Path) -> list[tuple[int, str, str]]:
    """(line, "<" or quote, what is included) of every include directive."""
    text = path.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(2)) + 1, match[1], match[2]) for match in INCLUDE.finditer(text)]


def confined_fault(place: str, target: str) -> str | None:
    for pattern, folders in CONFINED.items():
        if re.fullmatch(pattern, target) and not place.startswith(tuple(f"{folder}/" for folder in folders)):
            return f"only {' and '.join(folders)} may see it"
    return None


def backend_fault(place: str, target: str) -> str | None:
    first = target.split("/")[0]
    if first not in BACKENDS or place.startswith((f"impl/{first}/", "tests/")) or place in REGISTRIES:
        return None
    return "only the registry may see a backend"


def seam_fault(place: str, quote: str, target: str) -> str | None:
    if place not in SEAM or quote == '"' or target in SEAM_HEADERS:
        return None
    return "plugins implement this interface: no type of the standard library may cross it"


def inside_fault(room: str, target: str) -> str | None:
    """REQUIRES: room is one of ARROWS. Rooms are named in full, so the first folder of an include tells the room."""
    first = target.split("/")[0]
    if first in BACKENDS:
        return None  # backend_fault knows
    if first == "halftone":
        return "impl knows no C type"
    if ".." in Path(target).parts:
        return "names no room"
    return f"{room} may include {sorted(reachable(room))}" if first in ARROWS and first not in reachable(room) else None


def public_header_fault(path: Path, target: str) -> str | None:
    """Those of C++ may also include the standard library of C++, whose headers have no suffix."""
    if path.suffix == ".hpp" and re.fullmatch(r"[a-z_]+", target):
        return None
    known = target.startswith("halftone/") or target in ("stddef.h", "stdint.h")
    return None if known else "a public header includes public headers, stddef.h and stdint.h"


def outside_fault(root: Path, path: Path, quote: str, target: str) -> str | None:
    resolved = (path.parent / target).resolve()
    if quote == '"' and resolved.exists() and resolved.is_relative_to((root / "impl").resolve()):
        return "it lies inside the library"
    if target.split("/")[0] in {*ARROWS, "impl", "capi"} and not (path.parent / target).exists():
        return "users see halftone/... alone"
    return None


def include_faults(root: Path) -> list[str]:
    faults = []

    def check(path: Path, rule) -> None:
        place = path.relative_to(root).as_posix()
        for line, quote, target in includes(path):
            fault = confined_fault(place, target) or backend_fault(place, target) or seam_fault(place, quote, target) or \
                rule(quote, target)
            if fault:
                faults.append(f"{place}:{line}: includes {target}: {fault}")

    for room in sorted(path.name for path in (root / "impl").iterdir() if path.is_dir()):
        if room not in ARROWS:
            faults.append(f"impl/{room}: is no room of the picture")
            continue
        for path in sources(root, f"impl/{room}"):
            check(path, lambda quote, target: inside_fault(room, target))
    for path in sources(root, "capi/include"):
        check(path, lambda quote, target: public_header_fault(path, target))
    for path in sources(root, "capi/src"):
        check(path, lambda quote, target: None)
    for folder in OUTSIDE:
        for path in sources(root, folder):
            check(path, lambda quote, target: outside_fault(root, path, quote, target))
    return faults


def arrow_faults(root: Path) -> list[str]:
    """Arrows that no file uses: the picture shows what is, and a new arrow is a decision."""
    return [f"{room} -> {below}: no file uses this arrow" for room, arrows in ARROWS.items() for below in arrows
            if not any(target.split("/")[0] == below for path in sources(root, f"impl/{room}")
                       for _, _, target in includes(path))]


def include_graph(root: Path, name_of) -> dict[str, set[str]]:
    """Which other nodes each node includes, in impl and capi. name_of(path) returns the node that a file belongs to."""
    bases = (root / "impl", root / "capi/include", root / "capi/src")
    files = {path for base in bases for path in sources(root, base.relative_to(root).as_posix())}
    graph: dict[str, set[str]] = {}
    for path in sorted(files):
        node = name_of(path.relative_to(root))
        below = graph.setdefault(node, set())
        for _, _, target in includes(path):
            found = next((base / target for base in (path.parent, *bases) if base / target in files), None)
            if found is not None:
                below.add(name_of(found.relative_to(root)))
        if node != path.relative_to(root).as_posix():
            below.discard(node)
    return graph


def circles(graph: dict[str, set[str]]) -> list[str]:
    finished, faults = set(), []

    def visit(node: str, trail: list[str]) -> None:
        if node in trail:
            faults.append("circle: " + " -> ".join(trail[trail.index(node):] + [node]))
        elif node not in finished:
            for below in sorted(graph[node]):
                visit(below, trail + [node])
            finished.add(node)

    for node in graph:
        visit(node, [])
    return faults


def unit_of(path: Path) -> str:
    """A header and its source are one unit."""
    return path.with_suffix("").as_posix()


def folder_of(path: Path) -> str:
    """The public headers of topics refer to one another, so each is a node of its own."""
    return path.as_posix() if path.parts[:2] == ("capi", "include") else path.parent.as_posix()


def header_count_faults(graph: dict[str, set[str]]) -> list[str]:
    """REQUIRES: a graph of files."""
    faults = []
    for source in sorted(name for name in graph if name.startswith("capi/src/") and name.endswith(".cpp")):
        met, left = set(), [source]
        while left:
            further = graph[left.pop()] - met
            met |= further
            left += further
        if len(met) > MOST_HEADERS:
            faults.append(f"{source}: includes {len(met)} headers of the project, expected at most {MOST_HEADERS}")
    return faults


def switch_faults(root: Path) -> list[str]:
    return [f"{path.relative_to(root)}: {match[0].strip()}: only the registries know which backends a build has"
            for folder in ("impl", "capi") for path in sources(root, folder)
            if path.relative_to(root).as_posix() not in REGISTRIES
            for match in BACKEND_SWITCH.finditer(path.read_text(encoding="utf-8"))]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=REPOSITORY)
    root = arguments.parse_args().root.resolve()
    files_graph = include_graph(root, Path.as_posix)
    faults = include_faults(root) + circles(files_graph) + circles(include_graph(root, unit_of)) + \
        circles(include_graph(root, folder_of)) + header_count_faults(files_graph) + arrow_faults(root) + \
        switch_faults(root)
    files = sum(len(sources(root, folder)) for folder in ("impl", "capi", *OUTSIDE))
    print("\n".join(faults + [f"{files} files, {len(faults)} violations"]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
