# SPDX-License-Identifier: MIT
"""Images that look odd and are in order: being careful must not refuse them."""

import os
import shutil
import unittest

import harness
import hostile
from harness import MULTIARCH, TREE, VERSION

LIBRARIES = f"/usr/lib/{MULTIARCH}"
LIBRARY = f"/usr/local/nvidia/lib64/libcuda.so.{VERSION}"


class Compatibility(hostile.Case):
    def check(self, look=None, **options):
        def works():
            paths = self.inside("/usr/bin/opens_driver", "libcuda.so.1").splitlines()
            self.assertEqual(len(paths), 1, paths)
            self.assertTrue(os.path.samefile(self.path(paths[0]), LIBRARY), paths)
        self.each_mode(look or works, succeeds=True,
                       modes=("auto", "always", "never", "merged", "merged, never"), **options)

    def move(self, inside, place, link=None):
        """Puts a directory elsewhere and leaves a link."""
        target = self.path(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.path(inside), target)
        self.path(inside).symlink_to(link or place)

    def test_directories_that_are_merged_into_usr(self):
        """C1"""
        for name in ("lib", "lib64", "bin", "sbin"):
            self.assertTrue(self.path(name).is_symlink())
        self.check()

    def test_absolute_links_as_distributions_have_them(self):
        """C2"""
        self.link("/var/run", "/run")
        for name in ("lib", "lib64", "bin", "sbin"):
            self.link(f"/{name}", f"/usr/{name}")
        self.path("/etc/alternatives").mkdir()
        self.put("/usr/lib/driver/libcuda.so.1")
        self.link("/etc/alternatives/libcuda", "/usr/lib/driver/libcuda.so.1")
        self.link("/etc/alternatives/again", "/etc/alternatives/libcuda")
        self.link(f"{LIBRARIES}/libcuda.so.1", "/etc/alternatives/again")
        self.check()

    def test_a_loader_cache_and_a_directory_behind_absolute_links(self):
        """C2"""
        self.move("/etc", "/srv/system/etc")
        self.move("/usr/local", "/srv/local")
        self.move("/usr/bin", "/srv/programs")
        self.check()

    def test_relative_chains_that_climb(self):
        """C3"""
        self.path("/opt/a/b").mkdir(parents=True)
        self.link("/opt/a/b/up", "../../../opt/a/../../srv")
        self.move(LIBRARIES, "/srv/libraries", "../../opt/a/b/up/../srv/libraries")
        self.move("/usr/local", "/srv/local", "../usr/../opt/a/b/up/local")
        self.check()

    def test_an_image_without_a_configuration(self):
        """C4"""
        self.clear("/etc/ld.so.cache")
        self.check()
        self.clear("/etc/ld.so.conf.d")
        self.clear("/etc/ld.so.conf")
        self.check(command=False)

    def test_an_image_with_next_to_nothing(self):
        """C4: distroless"""
        for name in ("etc", "usr/local", "usr/share", "var", "opt", "srv", "home", "mnt"):
            self.clear(f"/{name}")
        before = self.state()
        self.apply("--device", "0")
        self.inside("/usr/bin/env", f"LD_LIBRARY_PATH={TREE}/lib64", "/usr/bin/opens_driver",
                    "libcuda.so.1")
        self.undo()
        self.assert_state(before)

    def test_an_image_that_is_a_forest_of_links(self):
        """C4: NixOS, Guix"""
        store = self.path("/nix/store")
        store.mkdir(parents=True)
        for name in ("usr", "etc"):
            shutil.move(self.path(name), store / f"x-{name}")
        self.path("/run/current-system").mkdir(parents=True)
        for name in ("usr", "etc"):
            self.link(f"/run/current-system/{name}", f"/nix/store/x-{name}")
            self.link(f"/{name}", f"run/current-system/{name}")
        self.check()

    def test_an_image_with_another_c_library_gets_the_nodes(self):
        """C4: Alpine"""
        for name in ("usr/lib64", "usr/lib", "usr/bin"):
            self.clear(f"/{name}")
            self.path(name).mkdir()
        self.put("/lib/ld-musl-x86_64.so.1")
        self.refused("--nv", "--rootfs", self.root, status=5, stderr="use musl")
        self.each_mode(lambda: self.assertTrue(self.path("/dev/nvidia0").is_char_device()),
                       succeeds=True, modes=("nodes alone",), command=False)

    def test_directories_of_somebody_else_that_others_may_not_read(self):
        """C5"""
        for path, mode in (("/usr", 0o711), ("/usr/lib", 0o711), ("/etc", 0o700),
                           ("/usr/local", 0o700), ("/dev", 0o711)):
            os.chown(self.path(path), 4711, 4711)
            self.path(path).chmod(mode)
        self.check()
        os.chown(self.root, 4711, 4711)
        self.root.chmod(0o711)
        self.check()

    def test_an_image_below_directories_that_others_may_not_read(self):
        """C5"""
        above = harness.DIRECTORY / "private"
        above.mkdir(mode=0o700)
        os.chown(above, 4711, 4711)
        moved = above / self.root.name
        os.rename(self.root, moved)
        self.root = moved
        self.check()
        self.remove_root()
        above.rmdir()


if __name__ == "__main__":
    unittest.main()
