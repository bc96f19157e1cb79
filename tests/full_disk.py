"""A disk that fills up: a real file system if we may mount one, else writes that fail."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

BLOCK = 4096
"""Bytes that a file takes at least on a real file system."""

PLENTY = 64 << 20
"""Bytes of a disk that is not to fill up."""

REASON = "No space left on device|File too large"
"""What the system says, as a regular expression."""


class Disk:
    """A folder in which only a number of bytes can be written."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.folder, self.room = folder, None
        """`room`: bytes that processes must count themselves, see `fill_up`; None if mounted."""
        mount = ["mount", "-t", "tmpfs", "-o", f"size={PLENTY}", "tmpfs", str(folder)]
        done = shutil.which("mount") and subprocess.run(mount, capture_output=True)
        self.mounted = bool(done) and not done.returncode

    def leave(self, room: int | None) -> None:
        """Leave so many bytes; None for plenty."""
        self.room = None if self.mounted else room
        if self.mounted:
            used = shutil.disk_usage(self.folder).used
            size = PLENTY if room is None else used + room
            options = f"remount,size={-(-size // BLOCK) * BLOCK}"
            subprocess.run(["mount", "-o", options, str(self.folder)], check=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=True)


def fill_up(room: int, patch: Callable = setattr) -> None:
    """Let this process write as on a disk with so many bytes left.

    patch: as `setattr`, or of pytest's monkeypatch
    """
    used, write = 0, os.fsync

    def fsync(number):
        nonlocal used
        used += os.fstat(number).st_size
        if used > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(number)

    patch(os, "fsync", fsync)
