"""The project for .NET's SDK and the package for NuGet name what the build makes, with one version. Run by CTest.

    nuget_test.py PROJECT_FOLDER BUILD NUPKG VERSION LIBRARY...      the native libraries that a program needs

The SDK itself is not needed: this reads its XML.
"""

import fnmatch
import posixpath
import re
import sys
import unittest
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path

project = build = package = None
version = ""
libraries = set()
METADATA = {"id": "PackageId", "version": "Version", "authors": "Authors", "description": "Description",
            "license": "PackageLicenseExpression", "readme": "PackageReadmeFile", "tags": "PackageTags"}


def local(element):
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def expanded(text, properties):
    """With the values of properties, as MSBuild has it."""
    while (replaced := re.sub(r"\$\((\w+)\)", lambda found: properties[found[1]], text)) != text:
        text = replaced
    return text


class Project:
    def __init__(self):
        root = xml.parse(project / "Halftone.csproj").getroot()
        self.properties = {local(row): row.text for group in root.iter("PropertyGroup") for row in group}
        self.properties |= {"HalftoneBuild": str(build), "MSBuildThisFileDirectory": f"{project}/"}
        self.items = [row for group in root.iter("ItemGroup") for row in group if local(row) != "PackageReference"]

    def files(self, item):
        included = Path(expanded(item.get("Include"), self.properties))
        folder = project / included.parent  # an absolute path stays as it is
        return {path for path in folder.iterdir() if fnmatch.fnmatchcase(path.name, included.name)}

    def packed(self):
        """Each place in the package, and the file that comes there."""
        items = [item for item in self.items if item.get("Pack") == "true"]
        return {posixpath.join(expanded(place, self.properties), path.name).lstrip("/"): path
                for item in items for place in item.get("PackagePath").split(";") for path in self.files(item)}


class Nuget(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.project = Project()
        cls.archive = zipfile.ZipFile(package)
        cls.addClassCleanup(cls.archive.close)
        cls.names = set(cls.archive.namelist())

    def natives(self, names):
        return {name for name in names if name.startswith("runtimes/")}

    def test_each_item_of_the_project_is_made(self):
        for item in self.project.items:
            with self.subTest(item.get("Include")):
                self.assertTrue(self.project.files(item))
        compiled = {path.name for item in self.project.items if local(item) == "Compile"
                    for path in self.project.files(item)}
        self.assertEqual(compiled, {"Halftone.cs", "NativePINVOKE.cs"})

    def test_both_packages_have_the_same_files(self):
        packed = self.project.packed()
        own = {name for name in self.names if not name.startswith(("lib/", "_rels/", "[Content_Types]"))}
        self.assertEqual(own - {"Halftone.nuspec"}, set(packed))
        for name, path in packed.items():
            self.assertEqual(self.archive.read(name), path.read_bytes(), name)

    def test_every_native_library_is_packed(self):
        self.assertEqual({posixpath.basename(name) for name in self.natives(self.names)}, libraries)
        self.assertEqual(len({posixpath.dirname(name) for name in self.natives(self.names)}), 1)

    def test_the_metadata_are_those_of_the_project(self):
        metadata = {local(row): row.text for row in xml.fromstring(self.archive.read("Halftone.nuspec"))[0]}
        self.assertEqual(metadata["version"], version)
        for name, of_project in METADATA.items():
            self.assertTrue(metadata[name])
            self.assertEqual(metadata[name], self.project.properties[of_project])
        self.assertIn(metadata["readme"], self.names)
        folders = {posixpath.basename(posixpath.dirname(name)) for name in self.names if name.startswith("lib/")}
        self.assertEqual(folders, {"net8.0", "net472"})

    def test_the_targets_copy_every_native_library(self):
        for folder in ("build", "buildTransitive"):
            root = xml.fromstring(self.archive.read(f"{folder}/Halftone.targets"))
            items = [row for row in root.iter() if row.get("Include")]
            self.assertEqual([row.text for item in items for row in item if local(row) == "CopyToOutputDirectory"],
                             ["PreserveNewest"])
            pattern = expanded(items[0].get("Include"), {"MSBuildThisFileDirectory": f"{folder}/"})
            copied = {name for name in self.names if fnmatch.fnmatchcase(name, posixpath.normpath(pattern))}
            self.assertEqual(copied, self.natives(self.names))


if __name__ == "__main__":
    project, build, package = (Path(path).resolve() for path in sys.argv[1:4])
    version, libraries = sys.argv[4], {Path(path).name for path in sys.argv[5:]}
    unittest.main(argv=sys.argv[:1])
