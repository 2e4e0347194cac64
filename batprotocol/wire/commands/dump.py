"""`batproto dump`: print messages as trees or as JSON. The library decodes the bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from batprotocol.cli.terminal import UNICODE, Output, Piece, number_of, printable
from batprotocol.edc.recording.names import DIRECTIONS, place_of
from batprotocol.edc.recording.sources import Found, messages
from batprotocol.errors import EncodeError
from batprotocol.wire import json
from batprotocol.wire.commands.protocols import MessageProtocol, Reading, read
from batprotocol.wire.commands.selection import Selection
from batprotocol.wire.commands.tree import TreeNode, Trees, draw

__all__ = ["SHAPES", "Selection", "dump", "print_frames", "tree_text"]

_DIRECTION_IN_NAME = re.compile(r"-(b2e|e2b|b2s|s2b)\.\w+$")


def dump(
    arguments: Sequence[str],
    output: Output,
    selection: Selection,
    shape: str,
    *,
    full: bool,
    spoken: MessageProtocol | None = None,
) -> None:
    """Print the messages that these arguments name, in one of `SHAPES`.

    Args:
        arguments: files, directories, archives, "-".
        output: prints the messages.
        selection: the events to print.
        shape: "tree", "json" or "json-lines".
        full: show long vectors, texts and events of a tree in full, and each of several similar elements.
        spoken: the protocol to read all messages with. None: detect it.
    """
    shown = Shown(output, selection, shape, full=full, spoken=spoken)
    with output.progress() as progress:
        for found in messages(arguments):
            shown(found)
            progress.at(found.share)


class Shown:
    """Prints messages, one after the other.

    Args:
        output: prints the messages.
        selection: the events to print.
        shape: one of `SHAPES`.
        full: as for `dump`.
        spoken: as for `dump`.
    """

    def __init__(
        self, output: Output, selection: Selection, shape: str, *, full: bool, spoken: MessageProtocol | None = None
    ) -> None:
        self._spoken = spoken
        self._output = output
        self._selection = selection
        self._show = SHAPES[shape]
        self._trees = Trees(full)
        self._previous = ""

    def __call__(self, found: Found) -> None:
        """Print the next message, and what is wrong with it."""
        output = self._output
        if found.remark:
            output.remark(found.path, found.remark)
        if found.fault:
            output.error(found.name, found.fault)
        else:
            reading = read(found.data, strict=False, place=place_of(found.name, self._previous), spoken=self._spoken)
            self._show(output, found, reading, self._selection, self._trees)
            if reading.skipped:
                output.remark(found.name, f"skipped fields of another schema: {', '.join(reading.skipped)}")
            if reading.doubt:
                output.remark(found.name, reading.doubt)
            if reading.fault is not None:
                output.error(found.name, str(reading.fault))
        self._previous = found.name


def print_frames(frames: Iterable[tuple[str, bytes]], output: Output) -> None:
    """Print messages and handshake frames, each with its name, as readable trees."""
    trees = Trees(full=False)
    for name, data in frames:
        found, reading = Found(0, name, name, data), read(data, strict=False)
        _print_tree(output, found, reading, Selection(), trees)


# A message as a tree


def _print_tree(output: Output, found: Found, reading: Reading, selection: Selection, trees: Trees) -> None:
    """Print a line about the message, and below it the selected events."""
    indices = selection.indices(reading.tree or {})
    if selection.everything or indices:
        title: list[Piece] = [("file", printable(found.name)), ("", f": {', '.join(_facts(found, reading, indices))}")]
        output.lines(draw(title, list(_nodes(reading, indices, trees)), output.guides, output.wrap_at))


def tree_text(name: str, data: bytes, trees: Trees) -> str:
    """The tree of a message, without colours, and with lines of any width."""
    reading = read(data, strict=False, place=place_of(name))
    indices = Selection().indices(reading.tree or {})
    title: list[Piece] = [
        ("file", printable(name)),
        ("", f": {', '.join(_facts(Found(0, name, name, data), reading, indices))}"),
    ]
    lines = [*draw(title, list(_nodes(reading, indices, trees)), UNICODE, None)]
    if reading.fault is not None:
        lines.append([("", str(reading.fault))])
    return "\n".join("".join(text for _, text in pieces) for pieces in lines)


def _nodes(reading: Reading, indices: list[int], trees: Trees) -> Iterator[TreeNode]:
    """The nodes of a message: all that is not an event, and the events with these numbers."""
    if reading.text is not None:
        yield trees.text("text", reading.text)
    if reading.tree is not None and reading.is_other:
        assert reading.schema is not None
        yield from trees.fields(reading.schema.root, reading.tree)
    elif reading.tree is not None:
        yield from trees.events(reading.tree, indices)


def _facts(found: Found, reading: Reading, indices: list[int]) -> Iterator[str]:
    """The parts of the line about a message."""
    kind, direction = reading.protocol.title(reading)
    yield kind
    in_name = _DIRECTION_IN_NAME.search(found.name)
    direction = direction or (in_name.group(1) if in_name else "")
    if direction:
        yield DIRECTIONS[direction]
    if reading.flags is not None:
        yield f"flags {reading.flags}"
    tree = reading.tree or {}
    if "now" in tree:
        yield f"now {tree['now']}"
    if isinstance(tree.get("events"), list):
        count = len(tree["events"])
        yield (f"{len(indices)} of " if len(indices) < count else "") + number_of(count, "event")
    yield number_of(len(found.data), "byte")
    if reading.fault is not None and reading.kind != "none":
        yield "broken"


# A message as JSON


def _print_json(output: Output, found: Found, reading: Reading, selection: Selection, trees: Trees) -> None:
    """Print the message as JSON on several lines."""
    _print_object(output, found, reading, selection, 2)


def _print_json_line(output: Output, found: Found, reading: Reading, selection: Selection, trees: Trees) -> None:
    """Print the message as one line of JSON."""
    _print_object(output, found, reading, selection, None)


def _print_object(output: Output, found: Found, reading: Reading, selection: Selection, indent: int | None) -> None:
    shown = _object(reading, selection)
    if shown is not None:
        try:
            output.json(json.text(shown, indent))
        except EncodeError as error:
            output.error(found.name, str(error))


def _object(reading: Reading, selection: Selection) -> dict[str, Any] | None:
    """The JSON form of a message: its wire tree. That of a broken message has an `error`."""
    indices = selection.indices(reading.tree or {})
    if not selection.everything and not indices:
        return None
    if reading.text is not None:
        return {"init": reading.text}
    shown = dict(reading.original or reading.tree or {})
    if not selection.everything and "events" in shown:
        shown["events"] = [shown["events"][index] for index in indices]
    if reading.fault is not None:
        fault = reading.fault
        shown["error"] = {"path": fault.path, "offset": fault.offset, "reason": fault.reason}
    return shown


SHAPES: dict[str, Callable[[Output, Found, Reading, Selection, Trees], None]] = {
    "tree": _print_tree,
    "json": _print_json,
    "json-lines": _print_json_line,
}
"""The shapes of a printed message."""
