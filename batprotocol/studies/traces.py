"""The electricity of a run: its carbon intensity, price and cap, as its measure names them.

It must not know the study, nor what schedulers do about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from batprotocol.simulator import Electricity
from batprotocol.studies._sources import Files
from batprotocol.studies.runs import Measure, TraceFile
from batprotocol.workloads.electricity import CARBON, PRICE, Trace
from batprotocol.workloads.electricity.tables import cap_named, trace_file, trace_named

__all__ = ["CAP", "electricity_of", "known_electricity", "read_trace"]

CAP: Final = "cap"
_KEPT: Final = 16


@lru_cache(_KEPT)
def read_trace(kind: str, text: str, root: str, digest: str) -> Trace:
    """The values of a carbon intensity, a price or a cap.

    Args:
        kind: `carbon`, `price` or `cap`.
        text: its name.
        root: the folder of its file.
        digest: the digest of its file; "" if it has none. A file that has changed is read again.

    Raises:
        InputError: it cannot be used.
        OSError: its file cannot be read.
    """
    if kind == CAP:
        return cap_named(text, root)
    return trace_named(text, CARBON if kind == CARBON else PRICE, root)


def electricity_of(measure: Measure, roots: Mapping[str, str]) -> Electricity:
    """The electricity of runs that are measured so.

    Args:
        measure: how they are measured.
        roots: the folders of files, by their digests.

    Raises:
        InputError: a trace cannot be used.
        OSError: a file cannot be read.
    """
    return _electricity({each: roots[each.files] if each.files else "" for each in measure.traces})


def known_electricity(measure: Measure) -> Electricity:
    """The electricity of such runs on this machine, later: traces whose files have changed are not known.

    Raises:
        InputError: a trace cannot be used.
    """
    found = {}
    for each in measure.traces:
        try:
            if not each.files or Files.read(each.root, [trace_file(each.text) or ""]).digest == each.files:
                found[each] = each.root
        except OSError:
            continue
    return _electricity(found)


def _electricity(places: Mapping[TraceFile, str]) -> Electricity:
    known = {each.kind: read_trace(each.kind, each.text, root, each.files) for each, root in places.items()}
    return Electricity(carbon=known.get(CARBON), price=known.get(PRICE), cap=known.get(CAP))
