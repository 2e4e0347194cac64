"""The messages of a timeline: a mark for each, the jobs that it is about, and the texts of the first messages.

A conversation may have millions of messages, so they are stored as columns of numbers, and texts are compressed as they
arrive. This module must not know the meaning of messages.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

__all__ = ["BLOCK", "MOST_TEXTS", "Messages", "deflated"]

BLOCK: Final = 256
"""How many texts are compressed together. To show one of them, the page unpacks all of them."""
MOST_TEXTS: Final = 20_000
"""The number of messages whose texts are kept by default."""
_MOST_EVENTS: Final = 2**16 - 1


def deflated(data: bytes) -> bytes:
    """The data as browsers inflate them ("deflate-raw")."""
    packer = zlib.compressobj(level=6, wbits=-15)
    return packer.compress(data) + packer.flush()


class Messages:
    """The messages of a conversation, in their order.

    Args:
        most_texts: the number of messages whose texts are kept; None: all.
        hint: how to see a message whose text is not kept, with `{number}` for its number.
    """

    def __init__(self, most_texts: int | None = MOST_TEXTS, hint: str = "") -> None:
        self.most_texts = sys.maxsize if most_texts is None else most_texts
        self.hint = hint
        self.times = array("d")
        """The simulated time of each message."""
        self.senders = array("B")
        """The sender of each message: 0 is Batsim, 1 is the decision component."""
        self.kinds = array("H")
        """The most important event of each message, as a place in `kind_names`."""
        self.events = array("H")
        """The number of events of each message."""
        self.kind_names: list[str] = []
        self.blocks: list[bytes] = []
        """The texts, as deflated JSON, `BLOCK` texts each."""
        self.text_count = 0
        """The number of messages whose texts are kept."""
        self._kinds: dict[str, int] = {}
        self._texts: list[str] = []
        self._jobs: dict[str, int] = {}
        self._pairs = (array("I"), array("I"))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def wants_text(self) -> bool:
        """Whether the text of the next message is kept."""
        return len(self.times) < self.most_texts

    def add(self, time: float, sender: int, kind: str, events: int, job_ids: Iterable[str], text: str | None) -> None:
        """Add the next message.

        Args:
            time: when it was sent, in simulated seconds.
            sender: 0 for Batsim, 1 for the decision component.
            kind: the name of its most important event; "" if it has no events.
            events: how many events it has.
            job_ids: the jobs that it is about, by their full names.
            text: the text that the page shows for it; kept only if `wants_text`.
        """
        number = len(self.times)
        if text is not None and self.wants_text:
            self._texts.append(text)
            self.text_count += 1
            if len(self._texts) == BLOCK:
                self._pack()
        self.times.append(time)
        self.senders.append(sender)
        place = self._kinds.get(kind)
        if place is None:
            self._kinds[kind] = place = len(self._kinds)
            self.kind_names.append(kind)
        self.kinds.append(place)
        self.events.append(events if events < _MOST_EVENTS else _MOST_EVENTS)
        jobs, messages = self._pairs
        for job_id in dict.fromkeys(job_ids):
            jobs.append(self._jobs.setdefault(job_id, len(self._jobs)))
            messages.append(number)

    def finish(self) -> None:
        """Compress the last texts. Call it after the last message."""
        if self._texts:
            self._pack()

    def _pack(self) -> None:
        self.blocks.append(deflated(msgspec.json.encode(self._texts)))
        self._texts.clear()

    def by_job(self, job_ids: Sequence[str]) -> tuple[array[int], array[int]]:
        """The messages about each of these jobs, and where those of each begin (one place more than there are jobs)."""
        places = {job_id: place for place, job_id in enumerate(job_ids)}
        place_of = [places.get(job_id, -1) for job_id in self._jobs]
        jobs, messages = self._pairs
        begin = [0] * (len(job_ids) + 1)
        for job in jobs:
            begin[place_of[job] + 1] += 1  # messages about unknown jobs are counted in the first place
        begin[0] = 0
        for place in range(1, len(begin)):
            begin[place] += begin[place - 1]
        found, at = array("I", bytes(4 * begin[-1])), begin[:]
        for job, message in zip(jobs, messages, strict=True):
            place = place_of[job]
            if place >= 0:
                found[at[place]] = message
                at[place] += 1
        return array("I", begin), found
