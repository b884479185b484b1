"""A streaming ZIP writer, which produces the archive in chunks without seeking. It blocks, so run it in a thread."""

from __future__ import annotations

from datetime import UTC, datetime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

# The compression level. For tables of numbers, it takes half as long as the default level, and the file is one eighth
# larger.
_LEVEL = 3
_READABLE = 0o644 << 16


class Archive:
    """A ZIP file under construction. Use it from one thread at a time."""

    def __init__(self, now: int) -> None:
        self._made: list[bytes] = []
        self._zip = ZipFile(self, "w", ZIP_DEFLATED, compresslevel=_LEVEL)  # type: ignore[call-overload]  # it needs only `write` and `flush`
        self._moment = datetime.fromtimestamp(now / 1000, UTC).timetuple()[:6]
        self._name = ""

    def add(self, name: str, data: bytes, *, large: bool = False) -> bytes:
        """Append `data` to the file `name` in the archive.

        Return the bytes of the archive that were produced since the last call.

        Files are written one after another. `large`: the file may exceed 2 GB, which its header must declare.
        """
        if name != self._name:
            self._end()
            entry = ZipInfo(name, self._moment)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = _READABLE
            self._entry = self._zip.open(entry, "w", force_zip64=large)
            self._name = name
        self._entry.write(data)
        return self._take_bytes()

    def end(self) -> bytes:
        """Finish the archive and return its last bytes. Call this even if the archive is discarded."""
        self._end()
        self._zip.close()
        return self._take_bytes()

    def _end(self) -> None:
        if self._name:
            self._name = ""
            self._entry.close()

    def _take_bytes(self) -> bytes:
        data = b"".join(self._made)
        self._made.clear()
        return data

    def write(self, data: bytes) -> int:
        """Collect the bytes that `zipfile` produces."""
        self._made.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing; `zipfile` requires this method."""
