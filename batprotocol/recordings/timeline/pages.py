"""Make one page of HTML of timelines, which needs no other files and no network.

Its parts are in the folder `page/`: markup, style, and scripts that are joined in the order of `_SCRIPTS`. The texts of
runs are in deflated blocks, so none of them is ever read as markup. Only the title is part of the markup, and it is
escaped. A policy in the page lets the browser run only these scripts, and forbids all requests.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Final

from batprotocol.recordings.timeline.packing import packed
from batprotocol.recordings.timeline.sharing import shared
from batprotocol.recordings.timeline.values import TimelineData

__all__ = ["MOST_RUNS", "parts"]

MOST_RUNS: Final = 4
"""The greatest number of runs in a page, one above the other."""

_SHARING: Final = "sharing"
"""The script that only pages of runs with requests have; before `main`, which begins."""
_SCRIPTS: Final = ("data", "scales", "gantt", "lanes", "stage", "details", "moving", "pointing", "main")
_PLACE: Final = re.compile(r"@(POLICY|VERSION|TITLE|COLOUR|STYLE|DATA|SCRIPT)@")


def parts(timelines: Sequence[TimelineData], title: str = "", colour: str = "job") -> Iterator[str]:
    """The page, piece by piece, so that a large page need not be in memory at once.

    Args:
        timelines: the runs, which are drawn one above the other over the same time.
        title: its title; by default, the names of the runs.
        colour: the property that selects the colour of a job at first.
    """
    folder = files("batprotocol.recordings.timeline") / "page"
    more = [shared(timeline) for timeline in timelines]
    scripts = [*_SCRIPTS[:-1], _SHARING, _SCRIPTS[-1]] if any(each is not None for each in more) else _SCRIPTS
    style = (folder / "page.css").read_text("utf-8")
    sources = [(folder / f"{name}.js").read_text("utf-8") for name in scripts]
    colours = (folder / "colours.json").read_text("utf-8")
    script = "".join(['"use strict";\n(() => {\nconst COLOURS = ', colours, ";\n", "\n".join(sources), "})();\n"])
    words = {
        "POLICY": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        "VERSION": escape(_version()),
        "TITLE": escape(title or " and ".join(timeline.name for timeline in timelines))
        .encode("utf-8", "replace")
        .decode(),
        "COLOUR": escape(colour),
        "STYLE": style,
        "SCRIPT": script,
    }
    for number, part in enumerate(_PLACE.split((folder / "page.html").read_text("utf-8"))):
        if number % 2 == 0:
            yield part
        elif part == "DATA":
            for place, timeline in enumerate(timelines):
                yield from _data(timeline, place)
                if (packed_requests := more[place]) is not None:
                    yield _block("data-sharing", place, packed_requests)
        else:
            yield words[part]


def _data(timeline: TimelineData, place: int) -> Iterator[str]:
    """A run and its texts, as elements that a browser does not execute."""
    yield _block("data-run", place, packed(timeline))
    for number, block in enumerate(timeline.messages.blocks if timeline.messages is not None else ()):
        yield f'<script type="text/plain" id="text-{place}-{number}">{b64encode(block).decode()}</script>\n'


def _block(name: str, place: int, data: bytes) -> str:
    return f'<script type="text/plain" {name}="{place}">{b64encode(data).decode()}</script>\n'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _version() -> str:
    try:
        return version("batprotocol")
    except PackageNotFoundError:  # run from a source tree
        return ""
