"""The common part of the commands that write events of hosts: the machine and the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from batprotocol._util.files import whole
from batprotocol.cli.terminal import Output, number_of, printable
from batprotocol.errors import InputError
from batprotocol.simulator import Platform, described_platform, read_platform
from batprotocol.workloads.events import HasData, write_event_lines

__all__ = ["machine_of", "write_events"]

_BLOCK: Final = 1 << 16
_MOST_HOSTS: Final = 1_000_000


def machine_of(platform: str | None, hosts: str | None) -> Platform | int:
    """The platform of a file, of a description, or only a number of hosts."""
    if (platform is None) == (hosts is None):
        raise InputError("expected either --platform or --hosts: name the machine")
    if platform is not None:
        return read_platform(platform)
    text = str(hosts).strip()
    if text.isascii() and text.isdigit():
        if not 0 < len(text) < 10 or not 0 < int(text) <= _MOST_HOSTS:
            raise InputError(f"expected a number of hosts from 1 to {_MOST_HOSTS:,}, got {printable(text)}", "--hosts")
        return int(text)
    return described_platform(text)


class _Sink:
    """A text file that collects what is written, and writes blocks of bytes."""

    def __init__(self, output: Output, file: BinaryIO | None) -> None:
        self._output = output
        self._file = file
        self._texts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        data = "".join(self._texts).encode()
        self._texts.clear()
        self._size = 0
        if self._file is None:
            self._output.raw(data)
        else:
            self._file.write(data)


@contextmanager
def _opened(path: str | None) -> Iterator[BinaryIO | None]:
    if path is None:
        yield None
        return
    with whole(path) as file:
        yield file


def write_events(events: Iterable[tuple[float, HasData]], path: str | None) -> None:
    """Write events into a file, and print their number; or print the events."""
    output = Output()
    with _opened(path) as file:
        sink = _Sink(output, file)
        count = write_event_lines(events, sink)
        sink.flush()
    if path is not None:
        output.line(("", f"wrote {number_of(count, 'event')} into {printable(path)}"))
