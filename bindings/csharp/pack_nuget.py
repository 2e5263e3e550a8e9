#!/usr/bin/python3
"""Packs the assembly and the native libraries as a package for NuGet, which is a zip file with a manifest.

  bindings/csharp/pack_nuget.py OUTPUT.nupkg VERSION --assembly Halftone.dll --natives BUILD/runtimes/PLATFORM/native

The runtime loads the libraries from runtimes/PLATFORM/native, where the wrapper finds the library beside itself. .NET 8
takes the assembly from lib/net8.0, and Mono from lib/net472: it is the same one.
"""
import argparse
import zipfile
from pathlib import Path

MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>Halftone</id>
    <version>{version}</version>
    <authors>halftone</authors>
    <license type="expression">Apache-2.0</license>
    <readme>README.md</readme>
    <description>Mixed-precision training of neural networks.</description>
    <tags>deep-learning neural-networks mixed-precision bf16 tensor</tags>
    <dependencies>
      <group targetFramework="net8.0" />
      <group targetFramework=".NETFramework4.7.2" />
    </dependencies>
  </metadata>
</package>
"""
FRAMEWORKS = ("net8.0", "net472")
SOURCES = Path(__file__).resolve().parent
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
{rows}</Types>
"""
RELATIONS = """<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/Halftone.nuspec" Id="manifest" />
</Relationships>
"""


def content_types(names: list[str]) -> str:
    extensions = sorted({Path(name).suffix.removeprefix(".") for name in names})
    return TYPES.format(rows="".join(
        f'  <Default Extension="{extension}" ContentType="application/octet" />\n' for extension in extensions))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("output", type=Path)
    arguments.add_argument("version")
    arguments.add_argument("--assembly", type=Path, required=True)
    arguments.add_argument("--natives", type=Path, required=True)
    options = arguments.parse_args()
    managed = (options.assembly, options.assembly.with_suffix(".xml"))
    files = {f"lib/{framework}/{path.name}": path for framework in FRAMEWORKS for path in managed}
    platform = options.natives.parent.name
    files |= {f"runtimes/{platform}/native/{path.name}": path for path in sorted(options.natives.iterdir())}
    files |= {f"{folder}/Halftone.targets": SOURCES / "Halftone.targets" for folder in ("build", "buildTransitive")}
    files["README.md"] = SOURCES / "README.md"
    with zipfile.ZipFile(options.output, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("[Content_Types].xml", content_types([*files, "Halftone.nuspec"]))
        package.writestr("_rels/.rels", RELATIONS)
        package.writestr("Halftone.nuspec", MANIFEST.format(version=options.version))
        for name, path in files.items():
            package.write(path, name)


if __name__ == "__main__":
    main()
