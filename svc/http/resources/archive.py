"""A ZIP file that is made piece by piece, on a stream that is never gone back in. Blocking: for a thread."""

from __future__ import annotations

from datetime import UTC, datetime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

# Tables of numbers take half the time of the usual level, and an eighth more space.
_LEVEL = 3
_READABLE = 0o644 << 16


class Archive:
    """The file so far. Used by one thread at a time."""

    def __init__(self, now: int) -> None:
        self._made: list[bytes] = []
        self._zip = ZipFile(self, "w", ZIP_DEFLATED, compresslevel=_LEVEL)  # type: ignore[call-overload]  # all it needs
        self._moment = datetime.fromtimestamp(now / 1000, UTC).timetuple()[:6]
        self._name = ""

    def add(self, name: str, data: bytes, *, large: bool = False) -> bytes:
        """Put `data` into the file `name`, behind what it has; gives the bytes that this has made.

        Files come one after the other. `large`: it may become larger than 2 GB, which its head has to tell.
        """
        if name != self._name:
            self._end()
            entry = ZipInfo(name, self._moment)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = _READABLE
            self._entry = self._zip.open(entry, "w", force_zip64=large)
            self._name = name
        self._entry.write(data)
        return self._taken()

    def end(self) -> bytes:
        """The last bytes: without them it is no ZIP file. To be called of one that nobody wants any more, too."""
        self._end()
        self._zip.close()
        return self._taken()

    def _end(self) -> None:
        if self._name:
            self._name = ""
            self._entry.close()

    def _taken(self) -> bytes:
        taken = b"".join(self._made)
        self._made.clear()
        return taken

    def write(self, data: bytes) -> int:
        """What the module calls with the bytes that it makes."""
        self._made.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """What the module calls, too."""
