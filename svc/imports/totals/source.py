"""Where an export is read from: a file as it is, one that gzip made, or a file in a ZIP. Nothing is unpacked to disk.

However large the file is, or what is in it becomes: it is read as it comes, row by row, and no row is longer than
`MOST_IN_A_ROW` (svc/imports/reader.py).
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, cast

from svc.imports.reader import GZIP, ZIP, Lines, NotReadable, RowTooLong, encoding_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Of a file that is read whole, in characters: ten thousand days have 1 MB.
MOST_AT_ONCE = 1 << 23
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile, UnicodeDecodeError)
# What bzip2 does not know, and a place before the file's begin, of which a ZIP tells.
_OF_ITS_CONTENT = (None, errno.EINVAL)


class Source:
    """An export. `names`: of a ZIP the files in it; of another file its one nameless part, ""."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
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

    def named(self, *, begin: str, end: str) -> str | None:
        """The file of the ZIP whose name, without folders, begins and ends so. Raises NotReadable: several."""
        found = [
            name for name in self.names if (base := name.rpartition("/")[2]).startswith(begin) and base.endswith(end)
        ]
        if len(found) > 1:
            raise NotReadable(f"the ZIP has several files `{begin}…{end}`: take out all but one")
        return found[0] if found else None

    @contextmanager
    def lines(self, name: str) -> Iterator[Lines]:
        """The lines of one of `names`. Raises NotReadable while they are read: a row is too long."""
        with self._text(name) as text:
            try:
                yield Lines(text)
            except RowTooLong as error:
                raise NotReadable(str(error)) from None

    def whole(self, name: str) -> str:
        """The whole text of one of `names`. Raises NotReadable: it has more than `MOST_AT_ONCE` characters."""
        with self._text(name) as text:
            found = text.read(MOST_AT_ONCE + 1)
        if len(found) > MOST_AT_ONCE:
            raise NotReadable(f"the file has more than {MOST_AT_ONCE} characters")
        return found

    def first_character(self, name: str) -> str:
        """The first character of one of `names` that is not white space; "" if the first 64 characters are."""
        with self._text(name) as text:
            return text.read(64).lstrip()[:1]

    @contextmanager
    def _text(self, name: str) -> Iterator[io.TextIOWrapper]:
        """The text of one of `names`. Invalid bytes become U+FFFD, which no number contains."""
        with ExitStack() as stack:
            self._file.seek(0)
            raw: IO[bytes] = self._file
            if self._zip is not None:
                raw = stack.enter_context(self._zip.open(self._entries[name]))
            elif self._gzip:
                raw = cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=self._file)))
            buffered = io.BufferedReader(cast("io.RawIOBase", raw), 1 << 16)
            encoding = encoding_of(buffered.peek(4)[:4]) or "utf-8"
            text = io.TextIOWrapper(buffered, encoding, errors="replace", newline="")
            stack.callback(buffered.detach)  # after the text's: `file` stays open for the next part
            stack.callback(text.detach)
            yield text


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """The export in a file. Raises NotReadable, now and while it is read; OSError."""
    with path.open("rb") as file:
        try:
            yield Source(file)
        except _DAMAGED as error:
            raise NotReadable(f"the file is damaged or was cut short: {error}") from None
        except OSError as error:
            if error.errno not in _OF_ITS_CONTENT:
                raise
            raise NotReadable(f"the file is damaged or was cut short: {error}") from None
        except (RuntimeError, NotImplementedError) as error:  # of zipfile: encrypted, or packed in another way
            if isinstance(error, RecursionError):
                raise
            raise NotReadable(f"the ZIP cannot be unpacked: {error}") from None
