# SPDX-License-Identifier: MIT
"""gpuctr-setup -- CMD of an ordinary user where user namespaces are forbidden: it says
by whom, and who can allow them."""

import errno
import unittest

import harness
import seccomp_flags
from seccomp_flags import CLONE_NEWNS, CLONE_NEWUSER, MOUNT, MS_REC, MS_SLAVE, UNSHARE

USER = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups"]
NAMESPACE = "make a user namespace"


def kernel_refuses(error):
    """As seen by a program: what a sysctl or a security module of this machine does."""
    return lambda: seccomp_flags.as_the_kernel_does(UNSHARE, 0, CLONE_NEWUSER | CLONE_NEWNS, error)


class Forbidden(harness.Case):
    def setUp(self):
        super().setUp()
        harness.DIRECTORY.chmod(0o755)

    def refused(self, message, hint, prefix=(), user=USER, **options):
        with self.nothing_changes():
            done = harness.call(*prefix, *user, harness.SETUP, "--nv", "--rootfs", self.root, "--",
                                "true", **options)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], f"gpuctr-setup: {message} (error 6)")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(lines[1], f"^hint: .*{hint}")
        self.assertEqual(len(lines), 2, done.stderr)

    def after(self, script):
        """What is run as root, with mounts of its own, before the command is."""
        return ["unshare", "--mount", "sh", "-ec", script + '; exec "$@"', "sh"]

    def file(self, content):
        path = harness.DIRECTORY / "file"
        path.write_text(content)
        self.addCleanup(path.unlink)
        return path

    def with_file(self, path, content):
        """The command finds the content at a path of /proc/self."""
        return self.after(f"mount --bind {self.file(content)} {path.replace('self', '$$')}")


class ByASysctl(Forbidden):
    def in_namespace(self, sysctl, value):
        """In a user namespace of the caller's that has the limit, without its privileges."""
        return [*USER, "unshare", "--user", "--map-root-user", "--mount", "sh", "-ec",
                f'echo {value} >/proc/sys/user/{sysctl}; exec "$@"', "sh", "setpriv",
                "--bounding-set=-all"]

    def test_no_user_namespaces(self):
        self.refused(f"{NAMESPACE}: the sysctl user.max_user_namespaces is 0",
                     "`sysctl user.max_user_namespaces=15000`",
                     user=self.in_namespace("max_user_namespaces", 0))

    def test_no_mount_namespaces(self):
        self.refused(f"{NAMESPACE}: the sysctl user.max_mnt_namespaces is 0",
                     "`sysctl user.max_mnt_namespaces=15000`",
                     user=self.in_namespace("max_mnt_namespaces", 0))

    def test_no_more_of_them(self):
        self.refused(f"{NAMESPACE}: this user has as many user namespaces as the sysctl "
                     "user.max_user_namespaces allows (77)", "have an administrator raise it",
                     prefix=self.with_file("/proc/sys/user/max_user_namespaces", "77\n"),
                     preexec_fn=self.exhausted)

    @staticmethod
    def exhausted():
        seccomp_flags.as_the_kernel_does(UNSHARE, 0, CLONE_NEWUSER, errno.ENOSPC)
        kernel_refuses(errno.ENOSPC)()

    def test_namespaces_in_namespaces_without_end(self):
        nested = ["unshare", "--user", "--map-current-user"] * 33
        self.refused(f"{NAMESPACE}: the sysctl user.max_user_namespaces allows no more user "
                     "namespaces in one of the user namespaces that this runs in, or those are 33 "
                     "deep already", "further outside", user=[*USER, *nested])

    def test_debians(self):
        self.refused(f"{NAMESPACE}: the sysctl kernel.unprivileged_userns_clone is 0",
                     "`sysctl kernel.unprivileged_userns_clone=1`",
                     prefix=self.after("mount -t tmpfs test /proc/sys/kernel; "
                                       "echo 0 >/proc/sys/kernel/unprivileged_userns_clone"),
                     preexec_fn=kernel_refuses(errno.EPERM))


class ByTheCaller(Forbidden):
    """No simulation: this kernel itself refuses."""

    def test_a_user_without_an_id(self):
        self.refused(f"{NAMESPACE}: this user or group has no id in the user namespace that this "
                     "runs in", "unshare --map-root-user", user=[*USER, "unshare", "--user"])

    def chroot(self, script):
        directory = harness.DIRECTORY / "chroot"
        directory.mkdir()
        self.addCleanup(harness.must, "rm", "-rf", "--one-file-system", directory)
        self.refused(f"{NAMESPACE}: the kernel makes none for a process in a chroot",
                     "outside of the chroot",
                     prefix=["unshare", "--mount", "sh", "-ec", f'{script}; "$@"; exit', directory],
                     user=["chroot", "--userspec=4242:4242", "--groups=", directory])

    def test_a_chroot_to_a_mount(self):
        self.chroot('mount --rbind / "$0"')

    def test_a_chroot_to_a_directory(self):
        self.chroot('for name in /*; do if [ -L "$name" ]; then cp -a "$name" "$0"; '
                    'elif [ -d "$name" ]; then mkdir "$0$name"; mount --rbind "$name" "$0$name"; fi; done')


class ByASecurityModule(Forbidden):
    def test_apparmor_refuses_the_map(self):
        self.refused("write /proc/self/uid_map: AppArmor restricts the user namespaces of "
                     "ordinary users (sysctl kernel.apparmor_restrict_unprivileged_userns is 1)",
                     "an AppArmor profile with the rule `userns,`",
                     prefix=self.after(
                         "mount -t tmpfs test /proc/sys/kernel; "
                         "echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns; "
                         f"mount --bind {self.file('')} /proc/$$/uid_map"))

    def test_apparmor_refuses_the_namespace(self):
        self.refused(f"{NAMESPACE}: AppArmor restricts the user namespaces of ordinary users "
                     "(sysctl kernel.apparmor_restrict_unprivileged_userns is 1)",
                     "an AppArmor profile with the rule `userns,`",
                     prefix=self.after(
                         "mount -t tmpfs test /proc/sys/kernel; "
                         "echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
                     preexec_fn=kernel_refuses(errno.EACCES))

    def test_a_profile_of_apparmor_refuses_to_mount(self):
        self.refused("separate the mounts from the host's: the AppArmor profile docker-default "
                     "forbids it", "another profile",
                     prefix=self.with_file("/proc/self/attr/current", "docker-default (enforce)\n"),
                     preexec_fn=lambda: seccomp_flags.as_the_kernel_does(
                         MOUNT, 3, MS_REC | MS_SLAVE, errno.EACCES))

    def test_selinux(self):
        self.refused(f"{NAMESPACE}: SELinux forbids it", "the audit log",
                     prefix=self.after("mount -t tmpfs test /sys/fs; mkdir /sys/fs/selinux; "
                                       "echo 1 >/sys/fs/selinux/enforce"),
                     preexec_fn=kernel_refuses(errno.EACCES))

    def test_one_that_nothing_is_known_of(self):
        self.refused(f"{NAMESPACE}: Operation not permitted",
                     "neither a sysctl nor a seccomp filter is in the way",
                     preexec_fn=kernel_refuses(errno.EPERM))


class ByAFilter(Forbidden):
    """Of a container engine, whatever error it answers with."""

    def test_of_namespaces(self):
        for error in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOSPC):
            with self.subTest(error=error):
                self.refused(f"{NAMESPACE}: a seccomp filter forbids unshare",
                             "the container engine or the service that this runs in",
                             preexec_fn=lambda: seccomp_flags.as_an_engine_does(
                                 UNSHARE, 0, CLONE_NEWUSER, error))

    def test_of_the_whole_call(self):
        self.refused(f"{NAMESPACE}: a seccomp filter forbids unshare", "seccomp=",
                     preexec_fn=lambda: seccomp_flags.altogether(UNSHARE))
        self.refused("make a mount namespace: a seccomp filter forbids unshare", "seccomp=",
                     preexec_fn=lambda: seccomp_flags.altogether(UNSHARE, errno.ENOSYS))

    def test_of_mounting(self):
        self.refused("separate the mounts from the host's: a seccomp filter forbids mount",
                     "seccomp=", preexec_fn=lambda: seccomp_flags.altogether(MOUNT))


if __name__ == "__main__":
    unittest.main()
