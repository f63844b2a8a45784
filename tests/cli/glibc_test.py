# SPDX-License-Identifier: MIT
"""--glibc: the host's C library, all of it, for an image whose own is older than the driver needs.

The image's is this machine's without the versions from GLIBC_2.36 on, so that the loader finds what
it finds in an older one. The driver needs GLIBC_2.36.
"""

import json
import os
import pathlib
import re
import shutil
import unittest

import harness
import old_libc
from harness import MULTIARCH, ORDINARY_USER, SETUP, VERSION

STUB = os.environ["GPUCTR_NEW_LIBC_DRIVER"]
PROGRAM = "/usr/bin/shows_maps"
LIBRARIES = pathlib.Path(f"/usr/lib/{MULTIARCH}")
LOADER = {"x86_64-linux-gnu": "/lib64/ld-linux-x86-64.so.2",
          "aarch64-linux-gnu": "/lib/ld-linux-aarch64.so.1"}[MULTIARCH]
FIRST_LACKING = 36
# What the program loads besides.
PARTS = ["libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1", "libanl.so.1"]
NSS = ["libnss_files.so.2", "libnss_dns.so.2", "libnss_compat.so.2"]
FAMILY = re.compile(r"/(ld-linux[^/]*|ld-[\d.]+\.so|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl|nsl|nss_[a-z]+)"
                    r"([.-][\d.]+)?\.so[\d.]*|gconv/[^/]+\.so)$")
AUTO = ("--glibc", "auto")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)


def setUpModule():
    """The host's libcuda is one that needs a new C library."""
    cuda = f"/usr/local/nvidia/lib64/libcuda.so.{VERSION}"
    harness.must("mount", "--bind", STUB, cuda)
    unittest.addModuleCleanup(harness.must, "umount", cuda)


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.libraries = self.root / LIBRARIES.relative_to("/")
        copy(os.environ["GPUCTR_SHOWS_MAPS"], self.root / PROGRAM.lstrip("/"))
        for name in PARTS + NSS:
            copy(LIBRARIES / name, self.libraries / name)
        # As before glibc 2.34: a name of the release, and a link.
        libc, names = old_libc.without_versions((LIBRARIES / "libc.so.6").read_bytes(), FIRST_LACKING)
        self.assertIn("GLIBC_2.36", names)
        (self.libraries / "libc.so.6").unlink()
        (self.libraries / "libc-2.35.so").write_bytes(libc)
        (self.libraries / "libc-2.35.so").chmod(0o755)
        (self.libraries / "libc.so.6").symlink_to("libc-2.35.so")
        gconv = self.libraries / "gconv"
        for name in ("ISO8859-15.so", "gconv-modules"):
            copy(LIBRARIES / "gconv" / name, gconv / name)
        if (LIBRARIES / "gconv/gconv-modules.d").is_dir():
            shutil.copytree(LIBRARIES / "gconv/gconv-modules.d", gconv / "gconv-modules.d")
        (self.root / "etc/nsswitch.conf").write_text("passwd: compat\nhosts: files dns\n")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n")

    def runs(self, *words, prefix=()):
        """What the program of the container prints, with this set-up."""
        return harness.call(*prefix, SETUP, "--nv", "--rootfs", self.root, *words, "--", PROGRAM,
                            "libcuda.so.1", *PARTS)

    def inside_maps(self, *words):
        done = harness.call("unshare", "--mount", "sh", "-c",
                            'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', self.root,
                            *words, PROGRAM, "libcuda.so.1", *PARTS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_all_of_host(self, maps):
        """Each file of the C library is the host's, and all kinds of them are there."""
        hosts = {}
        for directory in (LIBRARIES, LIBRARIES / "gconv"):
            for path in directory.iterdir():
                if FAMILY.search(str(path)):
                    status = path.stat()
                    hosts.setdefault((status.st_dev, status.st_ino), set()).add(path.name)
        seen = set()
        for line in maps.splitlines():
            device, inode, path = line.split(" ", 2)
            if FAMILY.search(path):
                file = (int(device), int(inode))
                self.assertIn(file, hosts, f"{path} is not the host's\n{maps}")
                seen |= hosts[file]
        for name in [LOADER.rsplit("/", 1)[1], "libc.so.6", "libm.so.6", *PARTS,
                     "libnss_compat.so.2", "ISO8859-15.so"]:
            self.assertIn(name, seen, maps)

    def findings(self, *words):
        return [found for found in self.plan(*words)["findings"]
                if found["code"].startswith("c_library")]


    def covers(self, *words):
        """The covers of the plan: sources by targets."""
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, "--format", "json", *AUTO,
                              *words, stdout=None, stderr=None)
        return {item["target"]: item["source"] for item in json.loads(done.stdout)["items"]
                if item["kind"] == "cover"}

    def warnings(self, *words, program=(PROGRAM, "libcuda.so.1")):
        """What is said of a set-up that leaves the image its own C library."""
        done = harness.call(SETUP, "--nv", "--rootfs", self.root, *AUTO, *words, "--", *program)
        self.assertIn("the host's C library: not used, although ", done.stderr)
        self.assertIn(" needs GLIBC_2.", done.stderr)
        if program[0] == PROGRAM:
            self.assertEqual(self.covers(*words), {})
        return done.stderr


class Glibc(Case):
    def test_without_it_the_driver_cannot_be_loaded(self):
        for words in ((), ("--glibc", "never")):
            done = self.runs(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("GLIBC_2.", done.stderr)
            self.assertIn("not found", done.stderr)

    def test_with_it_the_driver_is_loaded_and_called(self):
        for prefix in ((), ORDINARY_USER):
            with self.subTest(prefix=prefix), self.nothing_changes():
                done = self.runs(*AUTO, prefix=prefix)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_all_of_host(done.stdout)

    def test_comes_and_goes(self):
        environment = {item["target"]: item["source"] for item in self.plan(*AUTO)["items"]
                       if item["kind"] == "env"}
        variables = [f"{name}={value}" for name, value in environment.items() if value]
        self.assertIn(f"GCONV_PATH={LIBRARIES}/gconv", variables)
        self.in_each_way(lambda: self.assert_all_of_host(self.inside_maps("/usr/bin/env", *variables)),
                         *AUTO)


    def test_comes_without_a_tree(self):
        variable = f"GCONV_PATH={LIBRARIES}/gconv"
        self.apply("--layout", "merged", *AUTO)
        self.assert_all_of_host(self.inside_maps("/usr/bin/env", variable))
        self.undo()

    def test_is_another_set_up_than_without(self):
        before = self.state()
        self.apply()
        self.apply_over(*AUTO)
        self.assertEqual(self.run_setup("status", "--rootfs", self.root, stdout=None).returncode, 0)
        self.apply_over()
        self.undo()
        self.assert_state(before)

    def test_status_notices_a_part_that_is_gone(self):
        self.apply(*AUTO)
        libc = self.libraries / "libc-2.35.so"
        harness.must("umount", libc)
        done = self.run_setup("status", "--rootfs", self.root, status=9, stdout=None, stderr=None)
        self.assertIn("libc-2.35.so", done.stdout + done.stderr)
        self.undo(status=None, stderr=None)

    def test_covers_files_and_not_names(self):
        covers = self.covers()
        self.assertEqual(covers[f"{LIBRARIES}/libc-2.35.so"], f"{LIBRARIES}/libc.so.6")
        self.assertNotIn(f"{LIBRARIES}/libc.so.6", covers)
        self.assertIn(f"/usr{LOADER}", covers)

    def test_gives_what_the_image_lacks(self):
        (self.libraries / "libanl.so.1").unlink()
        shutil.rmtree(self.libraries / "gconv")
        before = self.state()
        done = self.runs(*AUTO)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_all_of_host(done.stdout)
        self.assertIn("/usr/lib/gpuctr/distribution/lib64/libanl.so.1", done.stdout)
        self.assertIn("/usr/lib/gpuctr/distribution/gconv/ISO8859-15.so", done.stdout)
        self.assert_state(before)

    def test_hides_what_goes_with_the_images_alone(self):
        # Bound to a build, like it, and of a release that the host's is not.
        for name in ("libnss_nisplus.so.2", "libcidn.so.1"):
            copy(LIBRARIES / "libnss_hesiod.so.2", self.libraries / name)
        copy(LIBRARIES / "libdl.so.2", self.libraries / "libBrokenLocale.so.2")
        self.apply(*AUTO, stderr=None)
        for name in ("libnss_nisplus.so.2", "libcidn.so.1"):
            self.assertEqual((self.libraries / name).stat().st_size, 0)
        self.assertNotEqual((self.libraries / "libBrokenLocale.so.2").stat().st_size, 0)
        self.undo()
        done = self.run_setup("plan", "--nv", "--rootfs", self.root, *AUTO, stdout=None, stderr=None)
        self.assertIn("warning: libcidn.so.1: programs that are linked to it do not start",
                      done.stderr)
        self.assertNotIn("nisplus", done.stderr)

    def test_of_every_directory_that_programs_search(self):
        """Also one that a variable names, which is searched first."""
        copy(LIBRARIES / "libm.so.6", self.root / "opt/own/libm.so.6")
        done = self.runs(*AUTO, "--setenv", "LD_LIBRARY_PATH=/opt/own")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_all_of_host(done.stdout)
        self.assertIn("/opt/own/libm.so.6", done.stdout)

    def test_without_need_nothing_changes(self):
        copy(LIBRARIES / "libc.so.6", self.libraries / "libc-2.35.so")
        self.assertEqual(self.covers(), {})
        found, = self.findings(*AUTO)
        self.assertEqual((found["code"], found["text"]),
                         ("c_library_decided", "not used: nothing that the container gets needs it"))
        self.assertEqual(self.findings(), [])

    def test_without_an_image_it_is_not_decided(self):
        done = self.run_setup("plan", "--nv", "-v", *AUTO, stdout=None, stderr=None)
        self.assertIn("not used: there is no image that it could be for", done.stdout + done.stderr)

    def test_is_not_for_programs_that_run_already(self):
        done = self.run_setup("--nv", "--pid", os.getpid(), *AUTO, status=2, stderr=None)
        self.assertIn("--glibc auto: programs of the container that --pid names run already",
                      done.stderr)

    def test_is_not_of_a_recorded_host(self):
        self.run_setup("plan", "--nv", "--host", "/nowhere", *AUTO, status=2, stderr=None)


class Refusals(Case):
    def test_an_interpreter_with_a_directory_of_its_own(self):
        own = "/nix/store/0123-glibc-2.35/lib/ld-linux-x86-64.so.2"
        loader = self.root / f"usr{LOADER}"
        copy(loader, self.root / own.lstrip("/"))
        loader.unlink()
        loader.symlink_to(own)
        self.assertIn(f"the image's interpreter {LOADER} is {own}, which has a C library of its own",
                      self.warnings())

    def test_a_program_with_an_interpreter_of_its_own(self):
        own = "/nix/g/lib/ld.so.2"
        copy(LIBRARIES / LOADER.rsplit("/", 1)[1], self.root / own.lstrip("/"))
        program = self.root / PROGRAM.lstrip("/")
        content = program.read_bytes()
        self.assertIn(LOADER.encode() + b"\0", content)
        program.write_bytes(content.replace(LOADER.encode(), own.encode().ljust(len(LOADER), b"\0")))
        # By its path, by its name, and as what runs a script.
        script = self.root / "usr/bin/script"
        script.write_text(f"#! {PROGRAM} libcuda.so.1\n")
        script.chmod(0o755)
        for words in ((PROGRAM, "libcuda.so.1"), ("shows_maps", "libcuda.so.1"), ("/bin/script",)):
            done = harness.call(SETUP, "--nv", "--rootfs", self.root, *AUTO, "--setenv",
                                "PATH=/nowhere:/usr/bin", "--", *words)
            self.assertIn(f"{PROGRAM} has the interpreter {own}, which has a C library of its own",
                          done.stderr)

    def test_a_static_program(self):
        self.assertIn("/sbin/ldconfig is a static program",
                      self.warnings(program=("/sbin/ldconfig", "-p")))
        self.assertNotEqual(self.covers(), {})  # for others

    def test_an_image_that_is_not_older(self):
        """The image has a C library of the host's age that is not the distribution's: without a
        version of its own, but with a later one."""
        libc = (LIBRARIES / "libc.so.6").read_bytes()
        older, names = old_libc.without_versions(libc, FIRST_LACKING)
        self.assertEqual(older.count(b"GLIBC_2.36\0"), 0)
        self.assertIn("GLIBC_2.36", names)
        host = harness.new_driver(self, VERSION)
        self.fill(host)
        (host / LIBRARIES.relative_to("/") / "libc.so.6").write_bytes(older)
        self.assertIn(": it is not older", self.warnings("--driver-root", host))

    def fill(self, host):
        """Gives the driver root a C library."""
        libraries = host / LIBRARIES.relative_to("/")
        for path in LIBRARIES.iterdir():
            if FAMILY.search(str(path)) and not path.is_symlink():
                copy(path, libraries / path.name)
        for name in ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"):
            self.assertTrue((libraries / name).exists())
        (host / LOADER.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (host / LOADER.lstrip("/")).symlink_to(LIBRARIES / LOADER.rsplit("/", 1)[1])
        harness.must("ldconfig", "-r", host)
        return libraries

    def test_files_of_several_builds(self):
        host = harness.new_driver(self, VERSION)
        words = ("--driver-root", host)
        libraries = self.fill(host)
        done = self.runs(*AUTO, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        loader = libraries / LOADER.rsplit("/", 1)[1]
        for path, old, new, why in (
                (libraries / "libm.so.6", b"\0_rtld_global_ro\0", b"\0_rtld_global_rx\0",
                 "its symbol _rtld_global_rx"),
                (libraries / "libresolv.so.2", b"\0__resolv_context_get\0",
                 b"\0__resolv_context_gex\0", "its symbol __resolv_context_gex"),
                (loader, b"ld.so (", b"ld.so (X", "it is of X")):
            with self.subTest(path=path):
                content = path.read_bytes()
                self.assertIn(old, content)
                changed = content.replace(old, new)
                path.write_bytes(changed[:len(content)] if len(new) > len(old) else changed)
                warnings = self.warnings(*words)
                self.assertIn("its files are of different builds", warnings)
                self.assertIn(why, warnings)
                path.write_bytes(content)
        elsewhere = host / "opt/libpthread.so.0"
        copy(libraries / "libpthread.so.0", elsewhere)
        (libraries / "libpthread.so.0").unlink()
        (libraries / "libpthread.so.0").symlink_to("/opt/libpthread.so.0")
        self.assertIn("it lies not in ", self.warnings(*words))
        (libraries / "libpthread.so.0").unlink()
        self.assertIn(f"it is incomplete: {libraries}/libpthread.so.0 is missing",
                      self.warnings(*words))


class Hostile(Case):
    """Wherever the image's links lead, nothing is mounted or changed outside."""

    def test_loaders(self):
        outside = harness.DIRECTORY / "outside"
        outside.mkdir(exist_ok=True)
        copy(LIBRARIES / LOADER.rsplit("/", 1)[1], outside / "ld.so")
        loader = self.root / f"usr{LOADER}"
        content = loader.read_bytes()
        for make in (lambda: os.mkfifo(loader), loader.mkdir, lambda: loader.symlink_to(loader.name),
                     lambda: loader.symlink_to(f"../../../../../../../..{outside}/ld.so"),
                     lambda: loader.symlink_to(outside / "ld.so"), lambda: loader.symlink_to("/proc/self/exe"),
                     lambda: loader.symlink_to("/dev/null"), lambda: loader.symlink_to("/"),
                     lambda: loader.write_bytes(b""), lambda: loader.write_bytes(content[:4000]),
                     lambda: loader.symlink_to("x/../" * 500 + "x")):
            loader.unlink()
            make()
            with self.subTest(), self.nothing_changes():
                mounts = harness.mount_table.read()
                self.apply(*AUTO, status=None, stderr=None)
                self.assertEqual([m for m in harness.mount_table.read() if m not in mounts
                                  and not m.target.startswith(f"{self.root}")], [])
                self.undo(status=None, stderr=None)
            if loader.is_dir() and not loader.is_symlink():
                loader.rmdir()
                loader.touch()

    def test_libraries(self):
        for make in (lambda path: os.mkfifo(path), lambda path: path.mkdir(),
                     lambda path: path.symlink_to("/proc/self/root/etc/passwd"),
                     lambda path: path.symlink_to(path.name),
                     lambda path: path.symlink_to("libc.so.6"),
                     lambda path: path.write_bytes(b"\x7fELF" + bytes(60))):
            path = self.libraries / "libm.so.6"
            path.unlink()
            make(path)
            with self.subTest(), self.nothing_changes():
                mounts = harness.mount_table.read()
                self.apply(*AUTO, status=None, stderr=None)
                self.assertEqual([m for m in harness.mount_table.read() if m not in mounts
                                  and not m.target.startswith(f"{self.root}")], [])
                self.undo(status=None, stderr=None)
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
                path.touch()

    def test_character_sets(self):
        outside = harness.DIRECTORY / "outside"
        (outside / "gconv").mkdir(parents=True, exist_ok=True)
        gconv = self.libraries / "gconv"
        shutil.rmtree(gconv)
        for target in ("/", "/proc", "/etc", outside / "gconv", f"../../../../../..{outside}/gconv",
                       "/proc/self/root/gconv", "gconv", "/dev"):
            gconv.symlink_to(target)
            with self.subTest(target=target), self.nothing_changes():
                mounts = harness.mount_table.read()
                self.apply(*AUTO, status=None, stderr=None)
                self.assertEqual([m for m in harness.mount_table.read() if m not in mounts
                                  and not m.target.startswith(f"{self.root}")], [])
                self.undo(status=None, stderr=None)
            gconv.unlink()


if __name__ == "__main__":
    unittest.main()
