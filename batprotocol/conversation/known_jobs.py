"""The jobs of a conversation: what is known of those that are under way, and the little that is kept of all others.

A simulation can have millions of jobs, and what rules need of one that has ended is that there was one of this name,
and how it ended. It must not know when a job has ended, nor of any rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, overload

from mypy_extensions import mypyc_attr

from batprotocol import model
from batprotocol.conversation.automaton import JobState

if TYPE_CHECKING:
    from procset import ProcSet

__all__ = ["JobRecord", "Jobs", "JobsById"]

T = TypeVar("T")


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class JobRecord:
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

    # No msgspec.Struct, whose fields compiled code finds by their names: this is most of what rules look at.
    __slots__ = (
        "_settled",
        "acknowledgement_due",
        "allocation",
        "final",
        "job",
        "kill_due",
        "profile_id",
        "since",
        "state",
    )

    def __init__(
        self,
        state: JobState,
        job: model.Job | None,
        profile_id: str,
        allocation: str | None = None,
        since: float | None = None,
        final: model.FinalJobState | None = None,
        acknowledgement_due: bool = False,
        kill_due: bool = False,
    ) -> None:
        self.state = state
        self.job = job
        self.profile_id = profile_id
        self.allocation = allocation
        self.since = since
        self.final = final
        self.acknowledgement_due = acknowledgement_due
        self.kill_due = kill_due
        self._settled = False  # whether it is to be put away

    def _fields(self) -> dict[str, object]:
        return {
            "state": self.state,
            "job": self.job,
            "profile_id": self.profile_id,
            "allocation": self.allocation,
            "since": self.since,
            "final": self.final,
            "acknowledgement_due": self.acknowledgement_due,
            "kill_due": self.kill_due,
        }

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, JobRecord) else NotImplemented

    def __repr__(self) -> str:
        return f"JobRecord({', '.join(f'{name}={value!r}' for name, value in self._fields().items())})"

    @property
    def hosts(self) -> ProcSet | None:
        """The hosts that the job is executed on as a `procset.ProcSet`, or None."""
        return None if self.allocation is None else model.parse_hosts(self.allocation)


_DIGITS: Final = 9
"""The number at the end of an id has no more of them."""
_SPARSE: Final = 64
"""How many times as high as there are ids that begin alike their numbers can be; what is beyond is kept by name."""
_BEGINNINGS: Final = 64
"""How many beginnings of ids there can be; what begins otherwise is kept by name."""
_IN_A_BUCKET: Final = 8
_AT_ONCE: Final = 128
"""How many jobs are put away at once: one after the other, in a simulation that has better things to do in between,
that takes three times as long."""
_BEFORE, _AFTER = b"\xff", b"\xfe"
"""What stands before and after an id: bytes that UTF-8 does not have."""

Ending: TypeAlias = "tuple[JobState, model.FinalJobState]"


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Numbers:
    """Of the ids that begin alike and end with a number, a byte at the place of each number."""

    __slots__ = ("_codes", "_count")

    def __init__(self) -> None:
        self._codes = bytearray()
        self._count = 0

    def __iter__(self) -> Iterator[int]:
        for number, code in enumerate(bytes(self._codes)):
            if code:
                yield number

    def takes(self, number: int, code: int) -> bool:
        """Keep the code of a number, unless that is too far away."""
        codes = self._codes
        if number >= len(codes):
            if number >= _SPARSE * (self._count + _SPARSE):
                return False
            codes.extend(bytes(max(number + 1, len(codes) * 9 // 8) - len(codes)))
        codes[number] = code
        self._count += 1
        return True

    def get(self, number: int) -> int:
        """The code of a number; 0 if it has none."""
        codes = self._codes
        return codes[number] if number < len(codes) else 0


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class EndedJobs:
    """How jobs ended, by id, in a byte or some fifteen a job, where a dict of strings would take a hundred.

    An id mostly ends with a number: of those that begin alike (`w0!`, `w0!j`), a byte at the place of the number tells
    how the job ended. Ids without a number, or with one far beyond those of the others, are kept in a table of names.
    """

    __slots__ = ("_code", "_codes", "_count", "_endings", "_named", "_numbered", "_top")

    def __init__(self) -> None:
        self._count = 0
        self._endings: list[Ending] = []
        self._codes: dict[Ending, int] = {}
        self._code = 0  # of the last job
        self._top = ""  # of the longest ids the last one: new jobs are mostly beyond it, and not searched
        self._numbered: dict[str, _Numbers] = {}
        self._named = _Names()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for beginning, numbers in self._numbered.items():
            yield from (f"{beginning}{number}" for number in numbers)
        yield from self._named

    def add(self, job_id: str, record: JobRecord) -> None:
        """Keep how a job ended that is not here yet."""
        state, final, code = record.state, record.final, self._code
        assert final is not None, "it has ended"
        if not code or state is not self._endings[code - 1][0] or final is not self._endings[code - 1][1]:
            self._code = code = self._codes.get((state, final)) or self._new((state, final))
        self._count += 1
        if self._is_beyond(job_id):
            self._top = job_id
        beginning, number = _parts(job_id)
        if number >= 0 and code < 256:
            numbers = self._numbered.get(beginning)
            if numbers is None and len(self._numbered) < _BEGINNINGS:
                numbers = self._numbered[beginning] = _Numbers()
            if numbers is not None and numbers.takes(number, code):
                return
        self._named.add(job_id, code)

    def _is_beyond(self, job_id: str) -> bool:
        """Whether it comes after all ids that are here, first by length."""
        size, longest = len(job_id), len(self._top)
        return size > longest or (size == longest and job_id > self._top)

    def _new(self, ending: Ending) -> int:
        self._endings.append(ending)
        code = self._codes[ending] = len(self._endings)
        return code

    def get(self, job_id: str) -> JobRecord | None:
        """What is left of a job that has ended; None if there is none of this name."""
        if self._is_beyond(job_id):
            return None
        code = self._found(job_id)
        if not code:
            return None
        state, final = self._endings[code - 1]
        return JobRecord(state, None, "", final=final)

    def _found(self, job_id: str) -> int:
        """The code of a job that was put away; 0 if there is none of this name."""
        beginning, number = _parts(job_id)
        numbers = self._numbered.get(beginning)
        code = numbers.get(number) if numbers is not None and number >= 0 else 0
        if not code and self._named.count:
            return self._named.get(job_id)
        return code


def _parts(job_id: str) -> tuple[str, int]:
    """What an id begins with, and the number at its end; -1 if there is none, or it begins with 0 or is too long."""
    beginning = job_id.rstrip("0123456789")
    digits = job_id[len(beginning) :]
    if 0 < len(digits) <= _DIGITS and (digits[0] != "0" or len(digits) == 1):
        return beginning, int(digits)
    return beginning, -1


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Names:
    """Numbers by name: a hash table whose buckets are texts, of each name between two separators and then its number.

    They grow in number with the names, so that looking one up takes the same time however many there are.
    """

    __slots__ = ("_buckets", "count")

    def __init__(self) -> None:
        self._buckets = [b""] * 64
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        for entry in self._entries():
            yield entry.partition(_AFTER)[0].decode("utf-8", "surrogatepass")

    def _entries(self) -> Iterator[bytes]:
        for bucket in self._buckets:
            yield from bucket.split(_BEFORE)[1:]

    def add(self, name: str, number: int) -> None:
        self._append(_key(name), b"%d" % number)
        self.count += 1
        if self.count > _IN_A_BUCKET * len(self._buckets):
            self._spread()

    def _append(self, key: bytes, number: bytes) -> None:
        self._buckets[hash(key) % len(self._buckets)] += key + number

    def _spread(self) -> None:
        """Four times as many buckets: all that is here moves, so it is not to happen often."""
        entries = list(self._entries())
        self._buckets = [b""] * (4 * len(self._buckets))
        for entry in entries:
            name, separator, number = entry.partition(_AFTER)
            self._append(_BEFORE + name + separator, number)

    def get(self, name: str) -> int:
        """The number of a name; 0 if it is not here."""
        key = _key(name)
        bucket = self._buckets[hash(key) % len(self._buckets)]
        place = bucket.find(key)
        return 0 if place < 0 else int(bucket[place + len(key) :].partition(_BEFORE)[0])

    def __getstate__(self) -> bytes:
        return b"".join(self._buckets)

    def __setstate__(self, everything: bytes) -> None:
        self._buckets = [everything]
        self.count = everything.count(_BEFORE)
        while self.count > _IN_A_BUCKET * len(self._buckets):  # another process hashes in another way
            self._spread()


def _key(name: str) -> bytes:
    return _BEFORE + name.encode("utf-8", "surrogatepass") + _AFTER


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Jobs:
    """All jobs ever submitted or registered.

    Attributes:
        live: those of which everything is known, by id, and some that have ended lately.
        ended: all others.
        settled: the ids of those in `live` of which nothing is kept but how they ended.
    """

    __slots__ = ("ended", "live", "settled")

    def __init__(self) -> None:
        self.live: dict[str, JobRecord] = {}
        self.ended = EndedJobs()
        self.settled: list[str] = []

    def get(self, job_id: str) -> JobRecord | None:
        """What is known of a job; None if there is none of this name."""
        record = self.live.get(job_id)
        return self.ended.get(job_id) if record is None else record

    def __getitem__(self, job_id: str) -> JobRecord:
        record = self.get(job_id)
        if record is None:
            raise KeyError(job_id)
        return record

    def settle(self, job_id: str) -> None:
        """Keep nothing of a job but how it ended, if nothing more is to come."""
        record = self.live.get(job_id)
        if record is None or record._settled or record.kill_due or record.acknowledgement_due:
            return
        record._settled = True
        record.profile_id = ""
        record.since = None
        self.settled.append(job_id)
        if len(self.settled) >= _AT_ONCE:
            for each in self.settled:
                self.ended.add(each, self.live.pop(each))
            self.settled.clear()


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class JobsById(Mapping[str, JobRecord]):
    """Jobs as a mapping: those that have ended first, in no certain order."""

    __slots__ = ("_jobs",)

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def __getitem__(self, job_id: str) -> JobRecord:
        return self._jobs[job_id]

    @overload
    def get(self, job_id: str, default: None = None, /) -> JobRecord | None: ...
    @overload
    def get(self, job_id: str, default: T, /) -> JobRecord | T: ...
    def get(self, job_id: str, default: object = None, /) -> object:
        record = self._jobs.get(job_id)
        return default if record is None else record

    def __contains__(self, job_id: object) -> bool:
        return isinstance(job_id, str) and self.get(job_id) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._jobs.ended
        yield from self._jobs.live

    def __len__(self) -> int:
        return len(self._jobs.ended) + len(self._jobs.live)

    def __repr__(self) -> str:
        settled = len(self._jobs.settled)
        return f"<Jobs: {len(self._jobs.live) - settled} under way, {len(self._jobs.ended) + settled} ended>"
