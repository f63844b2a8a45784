# SPDX-License-Identifier: MIT
"""Everything that can be seen of a directory tree, for comparing."""

import collections
import hashlib
import os
import stat

Entry = collections.namedtuple(
    "Entry", "type mode owner links device inode number size mtime attributes content")


def _content(path, status):
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    # Programs and libraries are told apart by their inode and mtime well enough.
    if stat.S_ISREG(status.st_mode) and status.st_size < 65536:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    return ""


def _attributes(path):
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return ()
    return tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in sorted(names))


_known = {}


def _entry(path, status):
    """No change of an entry leaves the time of its last one as it was."""
    seen = _known.get(path)
    if seen is None or seen[0] != status or seen[1] != status.st_ctime_ns:
        seen = _known[path] = (status, status.st_ctime_ns, _look(path, status))
    return seen[2]


def _look(path, status):
    directory = stat.S_ISDIR(status.st_mode)
    return Entry(stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode),
                 (status.st_uid, status.st_gid), status.st_nlink, status.st_dev, status.st_ino,
                 status.st_rdev, 0 if directory else status.st_size, status.st_mtime_ns,
                 _attributes(path), _content(path, status))


def take(directory, without=()):
    """A dictionary from path to Entry, the directory itself being ""; nothing below the
    paths that are named in `without`."""
    top = str(directory)
    found = {"": _entry(top, os.lstat(top))}
    pending = [top]
    while pending:
        current = pending.pop()
        with os.scandir(current) as entries:
            for entry in entries:
                found[entry.path[len(top):]] = _entry(entry.path,
                                                         entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False) and entry.path[len(top):] not in without:
                    pending.append(entry.path)
    return found


def difference(before, after, without=()):
    """Lines that tell two snapshots apart, none when they are equal; the fields
    of Entry named in `without` do not count."""
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            lines.append(f"{path or '/'}: gone")
        elif path not in before:
            lines.append(f"{path or '/'}: left behind")
        else:
            lines += [f"{path or '/'}: {field} {old} became {new}"
                      for field, old, new in zip(Entry._fields, before[path], after[path])
                      if old != new and field not in without]
    return lines
