"""Maven makes the jar without a network, and programs train with it in a folder without the build tree. Run by CTest.

    maven_test.py CMAKE BUILD JAVA JAR CLASSES      JAR is the one that the build has packed, CLASSES are the tests'

Skipped without Maven and its plugins from Debian, whose repository /usr/share/maven-repo stands for the network.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import package_test

REPOSITORY = Path("/usr/share/maven-repo")
PLUGINS = ["maven-compiler-plugin", "maven-jar-plugin", "maven-resources-plugin"]
cmake = build = java = jar = classes = ""


def names(archive):
    with zipfile.ZipFile(archive) as content:
        return {name for name in content.namelist()
                if not name.endswith("/") and not name.startswith(("META-INF/MANIFEST", "META-INF/maven/"))}


class Maven(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        cls.run_command(cmake, "--build", build, "--target", "halftone_maven")
        shutil.copytree(Path(build) / "bindings/java/maven", cls.folder / "project")
        # Maven writes notes into its repository, so it works in a copy: links to the files.
        cls.run_command("cp", "-rs", REPOSITORY, cls.folder / "repository")
        # A short run gains nothing from the second compiler of the virtual machine.
        quick = {**os.environ, "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        cls.run_command("mvn", "-o", "-B", "-q", f"-Dmaven.repo.local={cls.folder / 'repository'}", "package",
                        cwd=cls.folder / "project", env=quick)
        (cls.made,) = (cls.folder / "project/target").glob("*.jar")

    @staticmethod
    def run_command(*command, **settings):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"

    def test_the_jar_has_what_the_build_packs(self):
        self.assertEqual(self.made.name, "halftone-0.1.0.jar")
        self.assertEqual(names(self.made), names(jar))

    def test_programs_run_with_it_alone(self):
        folder = self.folder / "run"
        folder.mkdir()
        shutil.copy(self.made, folder / "halftone.jar")
        package_test.java(folder, java, folder / "halftone.jar", classes)


if __name__ == "__main__":
    missing = [] if shutil.which("mvn") else ["maven"]
    missing += [f"lib{name}-java" for name in PLUGINS if not (REPOSITORY / "org/apache/maven/plugins" / name).is_dir()]
    # The compiler plugin reads JUnit's list of versions; no package that it needs has it.
    missing += [] if (REPOSITORY / "org/junit/junit-bom").is_dir() else ["junit5"]
    if missing:
        print("skipped: not installed:", ", ".join(missing), "(Debian)")
        sys.exit(77)
    cmake, build, java, jar, classes = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
