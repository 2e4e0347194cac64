"""`batproto import` of captured network traffic: prints what was read, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from batprotocol.cli.terminal import Output, Piece, number_of, numbers_of, printable
from batprotocol.recordings.traffic import CapturedConversation, Side, Traffic, record

__all__ = ["show"]

_WIDTH: Final = 16
_MOST_SHOWN: Final = 50


def show(path: str, *, output: str | None, is_json: bool) -> int:
    """Import a file of captured traffic, and return the exit status: 1 if a part of a conversation is missing.

    Args:
        path: the file, or `-`.
        output: the recording of the first conversation, or None: only count.
        is_json: print JSON.
    """
    screen, traffic = Output(), Traffic(path)
    with screen.progress() as bar:
        if output is None:
            for _ in traffic:
                bar.at(0.0)
        else:
            record(traffic, output, lambda count: bar.at(0.0))
    if is_json:
        screen.json(json.dumps(_as_json(traffic), indent=2, ensure_ascii=False))
    else:
        screen.lines([[(style, printable(text)) for style, text in line] for line in _lines(traffic)])
    is_whole = all(each.is_whole for each in traffic.conversations) and not traffic.is_damaged
    return int(not (is_whole and traffic.conversations))


def _lines(traffic: Traffic) -> Iterator[list[Piece]]:
    yield [("file", traffic.name), ("", f": {number_of(traffic.packets, 'packet')}")]
    if not traffic.conversations:
        yield _line("conversations", "none")
    for each in traffic.conversations[:_MOST_SHOWN]:
        words = f"{number_of(each.messages, 'message')}, Batsim {_end(each.batsim)}, EDC {_end(each.edc)}"
        yield _line(f"conversation {each.number}", words)
        if each.path:
            yield _line("", f"wrote {each.path}")
        yield from (_line("", remark) for remark in each.remarks)
    if (more := len(traffic.conversations) - _MOST_SHOWN) > 0:
        yield _line("", f"and {number_of(more, 'conversation')} more; --json prints all")
    if traffic.others:
        yield _line("others", f"{number_of(traffic.others, 'connection')} not known to be of ZeroMQ")
    for place, reason in enumerate(traffic.left_out):
        word = "packet" if reason.count == 1 else "packets"
        text = f"{reason.count:,}: {reason.reason} ({word} {numbers_of(reason)})"
        yield _line("" if place else "left out", text)
    yield from (_line("" if place else "remarks", remark) for place, remark in enumerate(traffic.remarks))


def _end(side: Side) -> str:
    return f"{side.end} ({side.socket or 'unknown socket'})"


def _line(name: str, text: str) -> list[Piece]:
    return [("field", name.ljust(_WIDTH)), ("", f" {text}")]


def _as_json(traffic: Traffic) -> dict[str, Any]:
    return {
        "file": traffic.name,
        "packets": traffic.packets,
        "conversations": [_conversation_json(each) for each in traffic.conversations],
        "other_connections": traffic.others,
        "connections_that_begin_before": {"count": traffic.unknown, "bytes": traffic.unknown_bytes},
        "left_out": [
            {"reason": each.reason, "count": each.count, "packets": each.lines, "whole_packet": each.is_row}
            for each in traffic.left_out
        ],
        "remarks": traffic.remarks,
    }


def _conversation_json(found: CapturedConversation) -> dict[str, Any]:
    return {
        "batsim": str(found.batsim.end),
        "edc": str(found.edc.end),
        "messages": {"batsim": found.batsim.whole, "edc": found.edc.whole},
        "lost": {"batsim": found.batsim.faults, "edc": found.edc.faults},
        "is_whole": found.is_whole,
        "remarks": found.remarks,
        "written": found.path or None,
    }
