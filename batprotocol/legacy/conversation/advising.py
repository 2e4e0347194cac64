"""Advice about conversations in the older protocols, by what their events have in common with today's.

The JSON protocol shows hosts, requests and allocations. The text protocol, and JSON with Redis, do not show how many
hosts a job needs: there, the only advice is about jobs without a decision. It must not know how advice is found.
"""

from __future__ import annotations

from typing import Any, Final

from batprotocol.conversation.advice import DEFAULT_SECONDS, Advice, Adviser
from batprotocol.errors import DecodeError
from batprotocol.legacy.json import events as json
from batprotocol.legacy.text import events as text
from batprotocol.legacy.wire import decode, detect

__all__ = ["OldAdviser"]

_FULL_SPEED: Final = "0"
"""Hosts in any other power state do not count as free: the protocol does not say which states are sleep states."""
_MOST_HOSTS: Final = 2**20


class OldAdviser:
    """Follows a conversation in an older protocol and collects advice.

    Args:
        seconds: how long hosts may be free beside a waiting job that fits, in simulated seconds.

    >>> adviser = OldAdviser()
    >>> adviser.feed(b"3:5.0|5.0:S:1")
    >>> adviser.feed(b"3:5.0|5.0:N")
    >>> adviser.feed(b"3:9.0|9.0:Z")
    >>> print(*adviser.finish())
    until the end at 9, the scheduler never executed, rejected or killed job '1', submitted at 5 [jobs.undecided]
    """

    def __init__(self, seconds: float = DEFAULT_SECONDS) -> None:
        self._adviser = Adviser(seconds)
        self._computing = 0
        self._is_reply = False
        self._is_lost = False

    def feed(self, said: bytes, /) -> None:
        """Take the next message of either side. After a message that cannot be read, all others are ignored."""
        if self._is_lost:
            return
        try:
            message = decode(said, "4.2" if detect(said) in ("json", None) else "text")
        except DecodeError:
            self._is_lost = True
            return
        if not self._is_reply:
            self._adviser.advance(message.now)
        for event in message.events:
            self._take(event)
        if self._is_reply:
            self._adviser.settle()
        self._is_reply = not self._is_reply

    def finish(self) -> list[Advice]:
        """The conversation is over: all advice, in the order of the times at which it ends."""
        return self._adviser.finish()

    def _take(self, event: Any) -> None:
        adviser = self._adviser
        match event:
            case json.SimulationBegins():
                hosts = event.compute_resources or event.resources_data or ()
                numbers = [host.id for host in hosts] or range(event.nb_compute_resources or event.nb_resources or 0)
                self._computing = sum(1 << number for number in {*numbers} if 0 <= number < _MOST_HOSTS)
                adviser.begin(self._computing, adviser.now)
            case json.JobSubmitted() | json.SubmitJob() | json.RegisterJob():
                adviser.submitted(event.job_id, (event.job.res if event.job is not None else None) or 0)
            case text.JobSubmission():
                adviser.submitted(event.job_id, 0)
            case json.ExecuteJob():
                adviser.executed(event.job_id, event.alloc)
            case text.JobAllocation():
                for allocation in event.allocations:
                    adviser.executed(allocation.job_id, allocation.machines.replace(",", " "))
            case json.RejectJob() | json.JobCompleted() | text.JobRejection() | text.JobCompletion():
                adviser.over(event.job_id)
            case json.JobKilled():
                for job_id in event.job_ids:
                    adviser.over(job_id)
            case json.SetResourceState():
                adviser.switched(event.resources, self._computing)
            case json.ResourceStateChanged():
                adviser.switched(event.resources, 0 if event.state == _FULL_SPEED else self._computing)
            case json.SimulationEnds() | text.SimulationEnds():
                adviser.ends()
