"""Programs run from the packed files alone, in a folder without the build tree. Run by CTest.

    package_test.py java JAVA HALFTONE_JAR CLASSES
    package_test.py java_tools CMAKE BUILD_FOLDER JAVA HALFTONE_JAR
    package_test.py csharp MONO NUPKG PROGRAM_EXE...
    package_test.py installed MONO BUILD_FOLDER SMOKE_TEST_EXE

Every native library of halftone that the program maps must be in the folder of the test.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


SAMPLE = ["--text", "text", "--steps", "5"]
ENDINGS = {"SmokeTest": " 0 failed", "CallbacksTest": " 0 failed", "TrainGpt": "validation loss"}


def run(folder, *command, name="SmokeTest", **variables):
    """Runs a program; the trace of the dynamic linker tells which files it has loaded."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LD_DEBUG": "files",
                   "LD_DEBUG_OUTPUT": str(folder / "trace"), **variables}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and ENDINGS[name] in done.stdout, done.stdout + done.stderr
    traces = list(folder.glob("trace.*"))
    trace = "".join(path.read_text(errors="replace") for path in traces)
    for path in traces:
        path.unlink()
    loaded = {line.split("calling init: ")[1].strip() for line in trace.splitlines() if "calling init: " in line}
    mine = {path for path in loaded if "halftone" in Path(path).name}
    assert len(mine) == 2 and all(Path(path).is_relative_to(folder) for path in mine), mine


def arguments(folder, name):
    """Those of the sample; a test needs none."""
    (folder / "text").write_text("the old king saw the moon. " * 300, encoding="utf-8")
    return SAMPLE if name == "TrainGpt" else []


def java(folder, program, jar, classes):
    if Path(jar).parent != folder:
        shutil.copy(jar, folder)
    with zipfile.ZipFile(jar) as content:
        assert {"META-INF/LICENSE", "module-info.class"} <= set(content.namelist()), content.namelist()
    for path in Path(classes).glob("*.class"):
        shutil.copy(path, folder)
    for name in ENDINGS:  # the second finds the libraries unpacked
        run(folder, program, "-cp", f"halftone.jar{os.pathsep}.", name, *arguments(folder, name), name=name,
            XDG_CACHE_HOME=str(folder / "cache"))
    # Without a folder of the user's that can be written, the libraries are unpacked for the process alone.
    (folder / "file").write_text("", encoding="utf-8")
    (folder / "temporary").mkdir()
    run(folder, program, f"-Djava.io.tmpdir={folder / 'temporary'}", "-cp", f"halftone.jar{os.pathsep}.", "SmokeTest",
        XDG_CACHE_HOME=str(folder / "file"))
    assert not list((folder / "temporary").glob("halftone*")), "libraries are left behind"
    caches = list((folder / "cache/halftone").iterdir())
    assert len(caches) == 1 and not list(caches[0].glob("*.part")), caches


def java_tools(folder, cmake, build, program, jar):
    """Javadoc, which editors show, and jshell."""
    subprocess.run([cmake, "--build", build, "--target", "halftone_javadoc"], check=True, capture_output=True)
    with zipfile.ZipFile(Path(jar).with_name("halftone-javadoc.jar")) as content:
        page = content.read("org.halftone/org/halftone/ScopeStack.html").decode()
    assert "call" in page and "Scopes that no thread owns" in page, page
    shutil.copy(jar, folder)
    done = subprocess.run([Path(program).resolve().with_name("jshell"), "--class-path", "halftone.jar", "-s", "-"],
                          cwd=folder, env={"PATH": os.environ["PATH"], "HOME": str(folder)}, text=True,
                          input="import org.halftone.*;\nSystem.out.println(Tensor.of(1f, 2f).mul(2));\n/exit\n",
                          capture_output=True)
    assert "tensor([2., 4.]" in done.stdout, done.stdout + done.stderr


def refused(folder, program):
    """The report of a C# program that lacks native libraries."""
    done = subprocess.run([program, "SmokeTest.exe"], cwd=folder, capture_output=True, text=True)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def missing_libraries_are_named(folder, program):
    wrapper, library = folder / "libhalftone_csharp.so", next(folder.glob("libhalftone.so.*"))
    library.rename(folder / "hidden")
    text = refused(folder, program)
    assert f"{wrapper} cannot be loaded: {library.name}: cannot open" in text, text
    wrapper.unlink()
    text = refused(folder, program)
    assert f"{wrapper.name} is not in {folder}" in text and "runtimes/linux-" in text, text


def csharp(folder, program, package, *programs):
    with zipfile.ZipFile(package) as content:
        assert "Halftone.nuspec" in content.namelist()
        for name in content.namelist():
            if name.startswith(("lib/net472/", "runtimes/")):
                (folder / Path(name).name).write_bytes(content.read(name))
    for path in programs:
        shutil.copy(path, folder)
        name = Path(path).stem
        run(folder, program, f"{name}.exe", *arguments(folder, name), name=name)
    missing_libraries_are_named(folder, program)


def installed(folder, program, build, smoke_test):
    subprocess.run(["cmake", "--install", build, "--prefix", folder / "prefix"], check=True, capture_output=True)
    found = {path.name: path for path in (folder / "prefix").rglob("*")}
    assert "halftone.jar" in found or "Halftone.dll" in found, sorted(found)
    if "Halftone.dll" in found:
        shutil.copy(smoke_test, folder)
        run(folder, program, "SmokeTest.exe", MONO_PATH=str(found["Halftone.dll"].parent))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        globals()[sys.argv[1]](Path(temporary).resolve(), *sys.argv[2:])
