"""The jobs of a conversation: what is known of those that are under way, and the little that is kept of all others.

A simulation can have millions of jobs, and what rules need of one that has ended is that there was one of this name,
and how it ended. It must not know when a job has ended, nor of any rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeVar, overload

import msgspec

from batprotocol import model
from batprotocol.conversation.automaton import JobState

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["JobRecord", "Jobs"]

T = TypeVar("T")


class JobRecord(msgspec.Struct):
    """What is known of a job.

    Attributes:
        state: what has become of it.
        job: what it asks for; None once it has ended, as Batsim has forgotten it then too.
        profile_id: its profile, named in full; "" once Batsim has spoken again after its end.
        allocation: the host set it is executed on, or None.
        since: when it was executed (the timestamp of its ExecuteJobEvent), in simulated seconds, or None; None, too,
            once Batsim has spoken again after its end.
        final: how it ended, or None.
        acknowledgement_due: it was registered, and a JobSubmittedEvent is to come.
        kill_due: its kill was asked for, and a JobsKilledEvent is to come.
    """

    state: JobState
    job: model.Job | None
    profile_id: str
    allocation: str | None = None
    since: float | None = None
    final: model.FinalJobState | None = None
    acknowledgement_due: bool = False
    kill_due: bool = False

    @property
    def hosts(self) -> ProcSet | None:
        """The hosts that the job is executed on as a `procset.ProcSet`, or None."""
        return None if self.allocation is None else model.parse_hosts(self.allocation)


_IN_A_BUCKET: Final = 8
_BEFORE, _AFTER, _REJECTED = b"\xff", b"\xfe", b"r"
"""What stands before and after an id: bytes that UTF-8 does not have."""


class EndedJobs:
    """How jobs ended, by id, in some fifteen bytes a job, where a dict of strings would take a hundred.

    It is a hash table whose buckets are texts: each id between two separators, and behind it the number of its final
    state. They grow in number with the jobs, so that looking one up takes the same time however many there are.
    """

    __slots__ = ("_buckets", "_count", "_finals")

    def __init__(self) -> None:
        self._buckets = [b""] * 64
        self._count = 0
        self._finals: dict[int, model.FinalJobState] = {}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for entry in self._entries():
            yield entry.partition(_AFTER)[0].decode("utf-8", "surrogatepass")

    def _entries(self) -> Iterator[bytes]:
        for bucket in self._buckets:
            yield from bucket.split(_BEFORE)[1:]

    def add(self, job_id: str, record: JobRecord) -> None:
        """Keep how a job ended that is not here yet."""
        final = record.final
        assert final is not None, "it has ended"
        self._finals.setdefault(final, final)
        rejected = _REJECTED if record.state is JobState.REJECTED else b""
        self._append(_key(job_id), b"%d%b" % (final, rejected))
        self._count += 1
        if self._count > _IN_A_BUCKET * len(self._buckets):
            self._spread()

    def _append(self, key: bytes, ending: bytes) -> None:
        self._buckets[hash(key) % len(self._buckets)] += key + ending

    def _spread(self) -> None:
        """Four times as many buckets: all that is here moves, so it is not to happen often."""
        entries = list(self._entries())
        self._buckets = [b""] * (4 * len(self._buckets))
        for entry in entries:
            id, separator, ending = entry.partition(_AFTER)
            self._append(_BEFORE + id + separator, ending)

    def get(self, job_id: str) -> JobRecord | None:
        """What is left of a job that has ended; None if there is none of this name."""
        key = _key(job_id)
        bucket = self._buckets[hash(key) % len(self._buckets)]
        place = bucket.find(key)
        if place < 0:
            return None
        ending = bucket[place + len(key) :].partition(_BEFORE)[0]
        rejected = ending.endswith(_REJECTED)
        final = self._finals[int(ending.removesuffix(_REJECTED))]
        return JobRecord(JobState.REJECTED if rejected else JobState.COMPLETED, None, "", final=final)

    def __getstate__(self) -> tuple[bytes, dict[int, model.FinalJobState]]:
        return b"".join(self._buckets), self._finals

    def __setstate__(self, state: tuple[bytes, dict[int, model.FinalJobState]]) -> None:
        everything, self._finals = state
        self._buckets = [everything]
        self._count = everything.count(_BEFORE)
        while self._count > _IN_A_BUCKET * len(self._buckets):  # another process hashes in another way
            self._spread()


def _key(job_id: str) -> bytes:
    return _BEFORE + job_id.encode("utf-8", "surrogatepass") + _AFTER


class Jobs(Mapping[str, JobRecord]):
    """All jobs ever submitted or registered, by id: those that have ended first, in no certain order.

    Attributes:
        live: those of which everything is known, among them those that have ended just now.
    """

    __slots__ = ("_ended", "live")

    def __init__(self) -> None:
        self.live: dict[str, JobRecord] = {}
        self._ended = EndedJobs()

    def settle(self, job_id: str) -> None:
        """Keep nothing of a job but how it ended, if nothing more is to come."""
        record = self.live.get(job_id)
        if record is not None and not record.kill_due and not record.acknowledgement_due:
            self._ended.add(job_id, record)
            del self.live[job_id]

    def __getitem__(self, job_id: str) -> JobRecord:
        record = self.get(job_id)
        if record is None:
            raise KeyError(job_id)
        return record

    @overload
    def get(self, job_id: str, default: None = None, /) -> JobRecord | None: ...
    @overload
    def get(self, job_id: str, default: T, /) -> JobRecord | T: ...
    def get(self, job_id: str, default: object = None, /) -> object:
        record = self.live.get(job_id) or self._ended.get(job_id)
        return default if record is None else record

    def __contains__(self, job_id: object) -> bool:
        return isinstance(job_id, str) and self.get(job_id) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._ended
        yield from self.live

    def __len__(self) -> int:
        return len(self._ended) + len(self.live)

    def __repr__(self) -> str:
        return f"<Jobs: {len(self.live)} under way, {len(self._ended)} ended>"
