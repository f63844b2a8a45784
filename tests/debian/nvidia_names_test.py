# SPDX-License-Identifier: MIT
"""Every file name of NVIDIA's driver packages is named by the catalogue, or by UNUSED here.

The names come from a recorded host, and from the lists of contents that Debian's archive has of its
packages. No package is fetched. Of this machine's apt, only the address of the archive is used: its
lists, with the components that have the driver, go into a directory of their own. With
GPUCTR_TEST_LONG=1; skipped, with the reason, if Debian's archive cannot be reached.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = SOURCE / "libgpucontainer/drivers/nvidia/catalogue.yaml"
RECORDED = SOURCE / "tests/hosts/h200-x8-ubuntu24.04-580/files.tsv"
SUITES = ["bookworm", "trixie", "sid"]
OLDEST = 450  # what the catalogue begins with
SOURCES = re.compile(r"nvidia-(graphics-drivers|settings|persistenced|modprobe|xconfig|support|"
                     r"open-gpu-kernel-modules|egl-)")

# What is not for programs in a container: by which path it is known.
UNUSED = [
    (r"usr/(src|share/(doc|man|lintian|bug|icons|locale|pixmaps|applications))/", "for people"),
    (r".*\.(gz|desktop|pc|a)$", "manual pages, menus, development"),
    (r"(usr/)?lib/(systemd|udev|modprobe\.d|modules-load\.d)/", "the host's services"),
    (r"usr/lib/ConsoleKit/", "the host's sessions"),
    (r"etc/(init\.d|ld\.so\.conf\.d|X11)/", "configuration of the host's own programs"),
    (r"etc/nvidia/([\w-]+/)?nvidia-(blacklists-nouveau|load|modprobe|options)\.conf$",
     "options of kernel modules"),
    (r"etc/nvidia/(nvidia-)?[\w.-]*\d+\.\d+[\w.-]*$", "marks of Debian's alternatives"),
    (r"usr/(bin/nvidia-detect|lib/nvidia/(alternate-install-present|pre-install|check-for-[\w-]+))$",
     "scripts of Debian's packages"),
    (r"usr/(share|lib)/nvidia/([\w-]+/)?nvidia[\w.-]*\.ids$", "PCI ids for Debian's packages"),
    (r"usr/share/nvidia/nvidia-application-profiles-[\d.]+-key-documentation$",
     "names of settings, for nvidia-settings"),
    (r".*\.ko$", "kernel modules"),
    (r"usr/local/nvidia/glibc/", "a C library, for a driver in a directory of its own"),
]


class Names:
    """What the catalogue names."""

    def __init__(self):
        text = CATALOGUE.read_text(encoding="utf-8")

        def named(kind):
            return re.findall(rf'(?m)^  - {kind}: "?([^\s"]+)', text)

        self.stems = {name.split(".so")[0] for name in named("library")}
        self.stems |= set(re.findall(r"(?m)^    module: gbm/(\S+)\.so$", text))
        self.files = set(named("tool")) | set(re.findall(r"(?m)^    icd: (\S+)$", text))
        self.files |= {name.rsplit("/", 1)[1] for name in re.findall(r"\w+/\w+\.json", text)}
        self.data = [re.escape(path.removeprefix("/")).replace(r"\{version\}", r"[\d.]+")
                     for path in named("data")]

    def has(self, path):
        name = path.rsplit("/", 1)[-1]
        if name in self.files or name.split(".so")[0] in self.stems and ".so" in name:
            return True
        # Some packages have data beside their libraries, with a link where it is read.
        return any(re.match(rf"(usr/|usr/local/nvidia/)?{data}(/|$)", path)
                   or re.fullmatch(data.rsplit("/", 1)[-1], name) for data in self.data)


def unnamed(paths):
    names = Names()
    return [path for path in paths
            if not names.has(path) and not any(re.match(known, path) for known, _ in UNUSED)]


class Recorded(unittest.TestCase):
    """Driver 580, as a real host has it."""

    def test_the_catalogue_names_each_file(self):
        rows = [line.split("\t") for line in RECORDED.read_text(encoding="utf-8").splitlines()]
        paths = [row[0].removeprefix("/") for row in rows if row[1] == "f"]
        driver = [path.replace("local/nvidia/firmware", "lib/firmware") for path in paths
                  if path.startswith("usr/local/nvidia/") or re.search(r"\.so\.580\.", path)]

        self.assertGreater(len(driver), 40)
        self.assertEqual(unnamed(driver), [])


class Archive:
    """Debian's archive, with a state of its own below `directory`."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self.directory / name).mkdir(parents=True)
        self.options = [option for name, value in
                        (("Dir::State", "state"), ("Dir::State::status", "/dev/null"),
                         ("Dir::Cache", "cache"), ("Dir::Etc::sourcelist", "sources.list"),
                         ("Dir::Etc::sourceparts", "/dev/null"), ("APT::Architecture", "amd64"),
                         ("APT::Architectures::", "amd64"))
                        for option in ("-o", f"{name}={self.directory / value}"
                                       if name.startswith("Dir") else f"{name}={value}")]
        contents = "Acquire::IndexTargets::deb::Contents-deb::"
        self.options += ["-o", f"{contents}MetaKey=$(COMPONENT)/Contents-$(ARCHITECTURE)",
                         "-o", f"{contents}ShortDescription=Contents",
                         "-o", f"{contents}Description=Contents of $(RELEASE)/$(COMPONENT)"]

    def call(self, program, *words, options=()):
        return subprocess.run([program, *options, *words], capture_output=True, text=True,
                              check=False, env=os.environ | {"LC_ALL": "C"})

    def reach(self):
        """Why it cannot be used; "" if it can."""
        known = self.call("apt-get", "indextargets", "--format",
                          "$(ORIGIN)|$(LABEL)|$(REPO_URI)").stdout.splitlines()
        address = next((line.split("|")[2] for line in known
                        if line.startswith("Debian|Debian|")), "")
        if not address:
            return "the apt of this machine has no archive of Debian"
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        signed = f"[signed-by={keys}] " if os.path.exists(keys) else ""
        (self.directory / "sources.list").write_text(
            "".join(f"deb {signed}{address} {suite} contrib non-free\n" for suite in SUITES),
            encoding="utf-8")
        # Without the sandbox, whose user may not enter the directory.
        done = self.call("apt-get", "update", "-qq", "-o", "APT::Sandbox::User=root",
                         "-o", "APT::Update::Error-Mode=any", options=self.options)
        return done.stderr if done.returncode != 0 else ""

    def texts(self, suite):
        """Kind and text of each of the lists of a suite."""
        form = "$(CREATED_BY)|$(CODENAME)|$(FILENAME)"
        for line in self.call("apt-get", "indextargets", "--format", form,
                              options=self.options).stdout.splitlines():
            kind, codename, path = line.split("|")
            if codename == suite:
                yield kind, self.call("/usr/lib/apt/apt-helper", "cat-file", path).stdout

    def packages(self, suite):
        """The paths of each package of the driver, by its name."""
        source, paths = {}, {}
        for kind, text in self.texts(suite):
            if kind == "Packages":
                for paragraph in text.split("\n\n"):
                    field = dict(re.findall(r"(?m)^(Package|Source|Version): (\S+)", paragraph))
                    if "Package" in field:
                        source[field["Package"]] = (field.get("Source", field["Package"]),
                                                    field["Version"])
                continue
            for path, owners in re.findall(r"(?m)^(\S.*?)\s+(\S+)$", text):
                for owner in owners.split(","):
                    paths.setdefault(owner.rsplit("/", 1)[1], []).append(path)
        return {name: paths.get(name, []) for name, (of, version) in source.items()
                if SOURCES.match(of) and not is_too_old(name, version)}


def is_too_old(name, version):
    branch = re.search(r"legacy-(\d+)|tesla-(\d+)", name)
    number = next(filter(None, branch.groups())) if branch else version.split(".")[0]
    return bool(branch) and int(number) < OLDEST


@unittest.skipUnless(os.environ.get("GPUCTR_TEST_LONG") == "1", "with GPUCTR_TEST_LONG=1 only")
class DebiansPackages(unittest.TestCase):

    def test_the_catalogue_names_each_file(self):
        with tempfile.TemporaryDirectory() as directory:
            archive = Archive(directory)
            if why := archive.reach():
                self.skipTest(why)
            for suite in SUITES:
                packages = archive.packages(suite)
                found = [path for paths in packages.values() for path in paths]
                with self.subTest(suite=suite):
                    self.assertIn("libcuda1", packages)
                    self.assertGreater(len(found), 200)
                    self.assertEqual(unnamed(found), [])


if __name__ == "__main__":
    done = unittest.main(verbosity=2, exit=False).result
    is_skipped = done.wasSuccessful() and len(done.skipped) == done.testsRun
    raise SystemExit(77 if is_skipped else not done.wasSuccessful())
