"""The jobs of a conversation: full records of the active jobs, and compact records of all others.

A simulation can have millions of jobs. For a job that has ended, rules only need its name, and how it ended.
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
    """The record of a job.

    Attributes:
        state: its state.
        job: its requests; None after it has ended, when Batsim has forgotten it too.
        profile_id: the full name of its profile; "" from Batsim's next message after its end.
        allocation: the host set it is executed on, or None.
        since: when it was executed (the timestamp of its ExecuteJobEvent), in simulated seconds, or None. It is also
            None from Batsim's next message after its end.
        final: how it ended, or None.
        acknowledgement_due: it was registered, and a JobSubmittedEvent is to come.
        kill_due: its kill was requested, and a JobsKilledEvent is to come.
    """

    # Not a msgspec.Struct, whose fields compiled code finds by their names: rules read these records most.
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
"""The maximum number of digits at the end of an id."""
_SPARSE: Final = 64
"""The largest ratio of a number to the count of ids with its beginning; ids beyond it are kept by name."""
_BEGINNINGS: Final = 64
"""The maximum number of beginnings of ids; other ids are kept by name."""
_IN_A_BUCKET: Final = 8
_AT_ONCE: Final = 128
"""The number of jobs that are stored at once. Storing them one by one, between other work, takes three times as
long."""
_BEFORE, _AFTER = b"\xff", b"\xfe"
"""The bytes before and after an id: UTF-8 does not contain them."""

Ending: TypeAlias = "tuple[JobState, model.FinalJobState]"


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Numbers:
    """Ids with the same beginning and a number at the end: a byte at the place of each number."""

    __slots__ = ("_codes", "_count")

    def __init__(self) -> None:
        self._codes = bytearray()
        self._count = 0

    def __iter__(self) -> Iterator[int]:
        for number, code in enumerate(bytes(self._codes)):
            if code:
                yield number

    def takes(self, number: int, code: int) -> bool:
        """Keep the code of a number, unless the number is too large."""
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
    """How jobs ended, by id, in one to about fifteen bytes for each job. A dict of strings would take a hundred.

    Most ids end with a number. For ids with the same beginning (`w0!`, `w0!j`), a byte at the place of the number
    stores how the job ended. Ids without a number, or with one far larger than the others, are in a table of names.
    """

    __slots__ = ("_code", "_codes", "_count", "_endings", "_named", "_numbered", "_top")

    def __init__(self) -> None:
        self._count = 0
        self._endings: list[Ending] = []
        self._codes: dict[Ending, int] = {}
        self._code = 0  # of the last job
        self._top = ""  # the last one of the longest ids: new jobs are mostly beyond it, and not searched
        self._numbered: dict[str, _Numbers] = {}
        self._named = _Names()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for beginning, numbers in self._numbered.items():
            yield from (f"{beginning}{number}" for number in numbers)
        yield from self._named

    def add(self, job_id: str, record: JobRecord) -> None:
        """Store how a job ended that is not stored yet."""
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
        """Whether it comes after all stored ids, which are ordered by length first."""
        size, longest = len(job_id), len(self._top)
        return size > longest or (size == longest and job_id > self._top)

    def _new(self, ending: Ending) -> int:
        self._endings.append(ending)
        code = self._codes[ending] = len(self._endings)
        return code

    def get(self, job_id: str) -> JobRecord | None:
        """The compact record of a job that has ended, or None if there is no job of this name."""
        if self._is_beyond(job_id):
            return None
        code = self._found(job_id)
        if not code:
            return None
        state, final = self._endings[code - 1]
        return JobRecord(state, None, "", final=final)

    def _found(self, job_id: str) -> int:
        """The code of a stored job, or 0 if there is no job of this name."""
        beginning, number = _parts(job_id)
        numbers = self._numbered.get(beginning)
        code = numbers.get(number) if numbers is not None and number >= 0 else 0
        if not code and self._named.count:
            return self._named.get(job_id)
        return code


def _parts(job_id: str) -> tuple[str, int]:
    """The beginning of an id, and the number at its end; -1 if there is none, or it begins with 0 or is too long."""
    beginning = job_id.rstrip("0123456789")
    digits = job_id[len(beginning) :]
    if 0 < len(digits) <= _DIGITS and (digits[0] != "0" or len(digits) == 1):
        return beginning, int(digits)
    return beginning, -1


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class _Names:
    """Numbers by name: a hash table whose buckets are texts. Each name is between two separators; its number follows.

    The number of buckets grows with the number of names, so that a look-up always takes the same time.
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
        """Make four times as many buckets. This moves all entries, so it must be rare."""
        entries = list(self._entries())
        self._buckets = [b""] * (4 * len(self._buckets))
        for entry in entries:
            name, separator, number = entry.partition(_AFTER)
            self._append(_BEFORE + name + separator, number)

    def get(self, name: str) -> int:
        """The number of a name, or 0 if it is not in the table."""
        key = _key(name)
        bucket = self._buckets[hash(key) % len(self._buckets)]
        place = bucket.find(key)
        return 0 if place < 0 else int(bucket[place + len(key) :].partition(_BEFORE)[0])

    def __getstate__(self) -> bytes:
        return b"".join(self._buckets)

    def __setstate__(self, everything: bytes) -> None:
        self._buckets = [everything]
        self.count = everything.count(_BEFORE)
        while self.count > _IN_A_BUCKET * len(self._buckets):  # another process has other hashes
            self._spread()


def _key(name: str) -> bytes:
    return _BEFORE + name.encode("utf-8", "surrogatepass") + _AFTER


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Jobs:
    """All jobs that were submitted or registered.

    Attributes:
        live: the full records by id, including some jobs that have ended lately.
        ended: all other jobs.
        settled: the ids of jobs in `live` for which only the way in which they ended is kept.
    """

    __slots__ = ("ended", "live", "settled")

    def __init__(self) -> None:
        self.live: dict[str, JobRecord] = {}
        self.ended = EndedJobs()
        self.settled: list[str] = []

    def get(self, job_id: str) -> JobRecord | None:
        """The record of a job, or None if there is no job of this name."""
        record = self.live.get(job_id)
        return self.ended.get(job_id) if record is None else record

    def __getitem__(self, job_id: str) -> JobRecord:
        record = self.get(job_id)
        if record is None:
            raise KeyError(job_id)
        return record

    def settle(self, job_id: str) -> None:
        """Keep only how a job ended, if nothing more is to come."""
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
    """Jobs as a mapping: those that have ended first, in no particular order."""

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
        return f"<Jobs: {len(self._jobs.live) - settled} active, {len(self._jobs.ended) + settled} ended>"
