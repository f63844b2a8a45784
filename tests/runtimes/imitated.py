# SPDX-License-Identifier: MIT
"""Runtimes that Debian 12 does not have, by the mounts that they make."""

import contextlib

from programs import SHELL, SLEEP, Program, contained, enter, running

# As the setuid starter of Apptainer 1.4 has them, with a directory as its image: a
# session on a tmpfs, the image without what is mounted below it, and over it an overlay
# that holds the directories of mounts. That becomes the root directory, and unbindable.
APPTAINER = r"""
image=$1 session=$2
shift 2
mount --make-rslave / && mount --make-rshared /
mount -t tmpfs -o nosuid,mode=0755 tmpfs "$session"
cd "$session"
mkdir rootfs final overlay-lowerdir overlay-lowerdir/dev overlay-lowerdir/proc \
    overlay-lowerdir/sys overlay-lowerdir/tmp
mount --bind "$image" rootfs
mount -o remount,bind,ro,nosuid,nodev rootfs
mount -t overlay -o "ro,nosuid,nodev,lowerdir=$session/overlay-lowerdir:$session/rootfs" \
    overlay final
mount --make-unbindable final
mount --make-rslave /
mount --rbind /dev final/dev
mount -t proc -o nosuid,nodev proc final/proc
mount -t sysfs -o nosuid,nodev,ro sysfs final/sys
cd final
pivot_root . .
mount --make-rslave .
umount -l .
cd /
exec "$@"
"""


class Apptainer(Program):
    name, package = "apptainer, imitated", None

    def version(self):
        return "imitated"

    def words(self, bench):
        session = bench.work / "session"
        session.mkdir(exist_ok=True)
        return ["unshare", "--mount", "--propagation", "unchanged", "sh", "-euc", APPTAINER, "sh",
                bench.image, session]

    def run(self, bench, script, nodes=()):
        return bench.must(*self.words(bench), *SHELL, script)

    @contextlib.contextmanager
    def start(self, bench, nodes=()):
        with running(bench, *self.words(bench), *SLEEP) as process:
            pid = contained(process, itself=True)
            yield pid, enter(bench, pid)
