"""`batproto convert`: convert a message, a workload of Batsim 1 to 4, or a whole recording to another format."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Final

import click

from batprotocol._util.files import reason_of, whole
from batprotocol.cli.terminal import Output
from batprotocol.edc.recording.names import place_of
from batprotocol.edc.recording.sources import RECORDINGS, is_recording, single
from batprotocol.errors import DecodeError, InputError
from batprotocol.wire.commands.protocols import MessageProtocol, Reading, read

__all__ = ["convert"]

BY_SUFFIX = {".bin": "binary", ".fb": "binary", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
OTHER = {"binary": "json", "json": "binary"}


def convert(
    source: str, target: str, to: str | None, indent: int | None, spoken: MessageProtocol | None = None
) -> None:
    """Convert the message that `source` names.

    Args:
        source: the argument that names it.
        target: the file to write, or "-" for standard output.
        to: the format. None: that of the target's ending, or else the format that the source does not have.
        indent: spaces for each level of JSON. None: one line.
        spoken: the protocol to read the message with. None: detect it.
    """
    if is_recording(source) and (target.endswith(RECORDINGS) or not _ending(target)) and target != "-":
        if to is not None:
            raise click.UsageError(
                "--to is for a single message: leave it out, and select the format of a recording by the ending of OUT"
            )
        _copy(source, target)
        return
    found = single(source)
    if found.fault:
        raise click.ClickException(f"{found.name}: {found.fault}")
    workload = _workload(found.name, found.data, indent) if to in (None, "json") and spoken is None else None
    if workload is not None:
        _put(target, workload)
        return
    reading = read(found.data, strict=True, place=place_of(found.name), spoken=spoken)
    if reading.fault is not None:
        raise click.ClickException(f"{found.name}: {reading.fault}")
    if reading.message is None and reading.original is None:
        doubt = f"; it {reading.doubt}" if reading.doubt else ""
        raise click.ClickException(
            f"{found.name}: an init frame holds no message, and is the same in all formats{doubt}"
        )
    usual = reading.other or ("json" if reading.message is None and spoken is None else OTHER[reading.format])
    try:
        data = reading.protocol.write(reading, to or BY_SUFFIX.get(_ending(target)) or usual, indent)
    except DecodeError as error:
        raise click.ClickException(f"{found.name}: {error}") from None
    if reading.format == "json" and _ROUNDED.search(found.data):
        _tell_rounded(found.name, reading)
    _put(target, data)


_ROUNDED: Final = re.compile(rb"\.(?:[0-9]{12}|[0-9]{6})(?![0-9])")


def _tell_rounded(name: str, reading: Reading) -> None:
    """Report numbers that have as many decimals as flatc writes."""
    from batprotocol.schemas import TODAY, age, rounded

    schema = reading.schema if reading.schema is not None else age(TODAY)
    if reading.tree is not None and (paths := rounded(reading.tree, schema)):
        count = f"{len(paths)} numbers have" if len(paths) > 1 else "1 number has"
        decimals = "the decimals that flatc writes (12 of a double, 6 of a float)"
        Output().remark(name, f"{count} {decimals}: digits may be gone, first at {paths[0]}")


def _copy(source: str, target: str) -> None:
    """Write a whole recording in another container."""
    from batprotocol.recordings import Capture
    from batprotocol.recordings.copies import copy

    output = Output()
    with Capture(source) as run, output.progress():
        copy(run, target)
        if run.missing:
            output.remark(source, run.missing[:1].lower() + run.missing[1:])


def _workload(name: str, data: bytes, indent: int | None) -> bytes | None:
    """A workload file as Batsim 5 reads it, or None if the data are not a workload."""
    if data.lstrip()[:1] != b"{" or b'"profiles"' not in data:
        return None
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found.get("jobs"), list) and isinstance(found.get("profiles"), dict):
            from batprotocol.workloads.workload_files import (
                modernized,  # the simulator, which messages do not need
            )

            try:
                found["profiles"] = {key: modernized(given, key) for key, given in found["profiles"].items()}
            except InputError as error:
                raise click.ClickException(f"{name}: {error}") from None
            return json.dumps(found, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
    return None


def _put(target: str, data: bytes) -> None:
    if target == "-":
        Output().raw(data)
        return
    try:
        with whole(target) as file:
            file.write(data)
    except OSError as error:
        raise click.ClickException(f"{target}: {reason_of(error)}") from error


def _ending(name: str) -> str:
    """The ending of the name of a file, with its dot, or ""."""
    return os.path.splitext(name)[1]
