"""Reads an export from a plain file, a gzip file or a ZIP archive, without unpacking the export to disk.

Exports may be larger than memory, because they are decompressed and read row by row. `MAX_ROW_CHARS`
(svc/imports/reader.py) limits the length of a row.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from svc.imports.reader import GZIP, ZIP, Lines, NotReadable, RowTooLong, detect_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

# The maximum size, in characters, of a file that is read into memory as a whole. Ten thousand days take 1 MB.
MAX_TEXT_CHARS = 1 << 23
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, UnicodeDecodeError)
# Values of `errno` in an OSError that is caused by the content of a file. None means invalid bzip2 data. EINVAL means a
# negative offset in a ZIP archive. Other values mean that the file cannot be accessed.
_CONTENT_ERRNOS = (None, errno.EINVAL)


class _Limited(io.RawIOBase):
    """A file that raises NotReadable if more than `most_bytes` are read."""

    def __init__(self, file: IO[bytes], most_bytes: int) -> None:
        self._file = file
        self._left = most_bytes
        self._most_bytes = most_bytes

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into the buffer and return their number."""
        data = self._file.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise NotReadable(f"the file has more than {self._most_bytes >> 20} MiB after decompression")
        buffer[: len(data)] = data
        return len(data)


class Source:
    """An export. `names`: the names of the files in a ZIP archive, or only "" for any other file.

    `most_bytes`: the maximum size of a file after decompression. None means no limit.
    """

    def __init__(self, file: IO[bytes], most_bytes: int | None = None) -> None:
        self._file = file
        self._most_bytes = most_bytes
        file.seek(0)
        start = file.read(4)
        self._gzip = start.startswith(GZIP)
        self._zip: zipfile.ZipFile | None = None
        self._entries: dict[str, zipfile.ZipInfo] = {"": zipfile.ZipInfo()}
        if start in ZIP:
            self._zip = zipfile.ZipFile(file)
            self._entries = {
                entry.filename: entry
                for entry in self._zip.infolist()
                if entry.filename and not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
            }
        self.names = tuple(self._entries)

    def find(self, *, begin: str, end: str) -> str | None:
        """Return the name of the file whose base name has this beginning and end, or None.

        Raises NotReadable if several files match.
        """
        matching = [
            name for name in self.names if (base := name.rpartition("/")[2]).startswith(begin) and base.endswith(end)
        ]
        if len(matching) > 1:
            raise NotReadable(f"the ZIP archive has several files `{begin}…{end}`; remove all but one")
        return matching[0] if matching else None

    @contextmanager
    def lines(self, name: str) -> Iterator[Lines]:
        """Return a context manager that yields the lines of one of the files in `names`.

        Reading a line raises NotReadable if the line is too long.
        """
        with self._text(name) as text:
            try:
                yield Lines(text)
            except RowTooLong as error:
                raise NotReadable(str(error)) from None

    def read_text(self, name: str) -> str:
        """Return the text of one of the files in `names`.

        Raises NotReadable if the file has more than `MAX_TEXT_CHARS` characters.
        """
        with self._text(name) as text:
            content = text.read(MAX_TEXT_CHARS + 1)
        if len(content) > MAX_TEXT_CHARS:
            raise NotReadable(f"the file has more than {MAX_TEXT_CHARS} characters")
        return content

    def first_character(self, name: str) -> str:
        """Return the first non-space character of the file `name`, which is one of `names`.

        Returns "" if the file is empty or its first 64 characters are spaces.
        """
        with self._text(name) as text:
            return text.read(64).lstrip()[:1]

    @contextmanager
    def _text(self, name: str) -> Iterator[io.TextIOWrapper]:
        """Open one of the files in `names` as text. Invalid bytes become U+FFFD, which does not occur in numbers."""
        with ExitStack() as stack:
            self._file.seek(0)
            raw: IO[bytes] = self._file
            if self._zip is not None:
                raw = stack.enter_context(self._zip.open(self._entries[name]))
            elif self._gzip:
                raw = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=self._file)))
            if self._most_bytes is not None:
                raw = cast("IO[bytes]", _Limited(raw, self._most_bytes))
            buffered = io.BufferedReader(cast("io.RawIOBase", raw), 1 << 16)
            encoding = detect_encoding(buffered.peek(4)[:4]) or "utf-8"
            text = io.TextIOWrapper(buffered, encoding, errors="replace", newline="")
            stack.callback(buffered.detach)  # runs after `text.detach`, and keeps `file` open for the next read
            stack.callback(text.detach)
            yield text


@contextmanager
def open_source(file: IO[bytes], most_bytes: int | None = None) -> Iterator[Source]:
    """Return a context manager that opens an export. Opening and reading the export raise OSError or NotReadable."""
    try:
        yield Source(file, most_bytes)
    except _DAMAGED as error:
        raise NotReadable(f"the file is damaged or incomplete: {error}") from None
    except OSError as error:
        if error.errno not in _CONTENT_ERRNOS:
            raise
        raise NotReadable(f"the file is damaged or incomplete: {error}") from None
    # zipfile raises these for encryption and for unsupported compression
    except (RuntimeError, NotImplementedError) as error:
        if isinstance(error, RecursionError):
            raise
        raise NotReadable(f"the ZIP archive cannot be extracted: {error}") from None
