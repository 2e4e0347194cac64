"""The resource manager of an OAR cluster.

A submission whose answer was lost is found again by the numbers in the commands of its jobs. Its jobs are on hold until
their numbers are written down, so a copy that appears later never runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from batprotocol._util.files import reason_of
from batprotocol.campaigns.managers._oar_api import (
    Misunderstood,
    OarAnswer,
    OarApi,
    OarDescription,
    OarJob,
    OarPage,
    UnsafeRequest,
    arrays,
    body_of,
    error_of,
    ids_query,
    job_number_in,
    job_page,
    media_path,
    read_description,
    resource_page,
    stress_of,
    submission,
    submitted_id,
)
from batprotocol.campaigns.managers.interface import (
    KEPT_BYTES,
    KILLED,
    LOST,
    REFUSED,
    JobRequest,
    ended,
    text_of_output,
)
from batprotocol.campaigns.model import GridJobState, Observation, RemoteEvent, RemoteJob
from batprotocol.errors import ClusterError, InputError

__all__ = ["OarCluster", "OarDescription", "read_description"]


# The jobs that a cluster has of a store: a file beside the description of the cluster, written as a whole.


MOST_BYTES: Final = 256_000_000


class _KnownJobs(msgspec.Struct):
    ids: dict[int, int] = {}
    sent: dict[int, float] = {}
    doomed: list[int] = []
    refused: dict[int, str] = {}


class Known:
    """The jobs of a store on a cluster.

    Args:
        path: the file.
        cluster: the name of the cluster, for messages.

    Attributes:
        ids: OAR's number of each job.
        sent: the jobs whose submission is not answered yet, with the time at which it was sent.
        doomed: those of them that are to be killed when they are found.
        refused: the jobs that OAR refused, and why.
        is_new: whether there was no file: jobs of before may exist all the same.

    Raises:
        ClusterError: the file cannot be read, or is not one of these.
    """

    def __init__(self, path: Path, cluster: str = "") -> None:
        self._path = path
        self._cluster = cluster
        self.is_new = not path.exists()
        jobs = _KnownJobs() if self.is_new else self._read()
        self.ids, self.sent, self.refused = jobs.ids, jobs.sent, jobs.refused
        self.doomed = set(jobs.doomed)

    def __contains__(self, job: int) -> bool:
        return job in self.ids or job in self.sent or job in self.refused

    def write(self) -> None:
        """Write the file: all of it, or nothing.

        Raises:
            ClusterError: it cannot be written.
        """
        jobs = _KnownJobs(self.ids, self.sent, sorted(self.doomed), self.refused)
        unfinished = self._path.with_name(f"{self._path.name}.unfinished")
        try:
            unfinished.unlink(missing_ok=True)  # so a link there is not followed
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.encode(jobs))
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, self._path)
        except OSError as error:
            raise ClusterError(f"{self._path}: {reason_of(error)}", self._cluster) from None

    def drop(self, job: int) -> None:
        """Forget a job."""
        self.ids.pop(job, None)
        self.sent.pop(job, None)
        self.refused.pop(job, None)
        self.doomed.discard(job)

    def _read(self) -> _KnownJobs:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(MOST_BYTES), type=_KnownJobs)
        except OSError as error:
            raise ClusterError(f"{self._path}: {reason_of(error)}", self._cluster) from None
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise ClusterError(f"{self._path} does not list jobs: {error}; move it away", self._cluster) from None


LOST_SECONDS: Final = 60.0
"""How long a job is looked for that OAR does not list, and how long OAR has to record why a job has failed."""

LOST_LOOKS: Final = 3
"""How often a job must be missing."""

BEFORE_SECONDS: Final = 7 * 86400
"""How far back jobs are looked for when the file with the jobs is missing."""

IDS: Final = 100
"""How many jobs are asked for by their numbers in one request: CiGri's `api_chunk_size`."""

PAGES: Final = 2000
"""The greatest number of pages of a collection."""

MOST_RESOURCES: Final = 100_000
"""How many resources a cluster may have."""

MOST_UNIT: Final = 200
"""How many characters of the property that counts as one resource are looked at."""

MOST_CHARACTERS: Final = 20_000_000
"""How many characters the texts of the jobs of this store may have that OAR lists."""

TIMES: Final = 10
"""How many time-outs the pages of a collection may take together."""

COLLECTION_BYTES: Final = 256_000_000
"""How many bytes these pages may have together."""

DELETIONS: Final = 100
"""How many copies of jobs one look deletes. The next look deletes others."""

OUTPUTS: Final = 20
"""How many jobs that did not end well are reported by one look: each takes two requests for its output."""

LINES: Final = 200
"""How many lines of an output are asked for."""

OUTPUT_BYTES: Final = 1_000_000
"""How many bytes of these lines are read."""


class OarCluster:
    """A cluster with OAR's REST API.

    Args:
        name: the name of the cluster.
        path: the file that describes it. The file PATH.MARK.jobs is written beside it.
        mark: the prefix of the names of the jobs, unique to the store.

    Raises:
        ClusterError: the description, the secret or the file with the jobs cannot be read.
    """

    def __init__(self, name: str, path: str, mark: str = "cigri") -> None:
        self.name = name
        self._path = path
        self._mark = mark
        try:
            self._description = read_description(path)
            self._api = OarApi(self._description, name)
        except InputError as error:
            raise ClusterError(str(error), name) from None
        self._known = Known(Path(f"{path}.{mark}.jobs"), name)
        self._adopts = self._known.is_new  # whether jobs that are not known may be ours
        self._dropped: set[int] = set()  # those that it has forgotten meanwhile
        self._live: dict[int, OarJob] = {}
        self._ended: dict[int, RemoteJob] = {}
        self._missing: dict[int, tuple[float, int]] = {}  # since when, and in how many looks
        self._units: dict[int, str] = {}  # the unit of each resource
        self._stress: float | None = None
        self._read_at: float | None = None

    # A resource manager

    def look(self) -> Observation:
        now = time.time()
        self._read_resources()
        busy: set[int] = set()
        found = self._none()
        clock = now
        for page in self._pages("jobs/details", job_page):
            clock = page.time or clock
            for job in page.items:
                if job.seen_as is GridJobState.RUNNING:
                    busy.update(each for each in job.resources if each in self._units)
                self._keep(job, found)
        if self._adopts:
            since = f"jobs/details?user={quote(self._description.user, safe='')}&from={int(clock - BEFORE_SECONDS)}"
            for page in self._pages(since, job_page):
                for job in page.items:
                    self._keep(job, found)
        self._settle(found)
        self._adopts = False
        self._dropped.clear()
        self._give_up(now)
        jobs = tuple(self._reported(found, now, clock))
        free = len(set(self._units.values()) - {self._units[each] for each in busy})
        return Observation(
            cluster=self.name,
            time=now,
            max=len(set(self._units.values())),
            free=free,
            jobs=jobs,
            stress_factor=self._stress,
        )

    def submit(self, requests: Sequence[JobRequest]) -> None:
        new = {each.job: each for each in requests if each.job not in self._known and each.job not in self._ended}
        safe = [each for each in new.values() if self._is_safe(each)]
        if len(safe) < len(new):
            self._known.write()
        for together in arrays(safe):
            self._send(together)

    def kill(self, jobs: Iterable[int]) -> None:
        doomed = {each for each in jobs if each not in self._ended}
        sent = {each for each in doomed if each in self._known.sent} - self._known.doomed
        if sent:
            self._known.doomed |= sent
            self._known.write()
        doomed = {each for each in doomed if each in self._known.ids}
        requests = {number: ("DELETE", f"jobs/{self._known.ids[number]}") for number in doomed}
        for array, members in self._arrays_of(doomed).items():
            requests = {number: each for number, each in requests.items() if number not in members}
            requests[max(members)] = "POST", f"jobs/array/{array}/deletions/new"
        # The last first: what waits does not start on the hosts of what is killed before it.
        for _, (method, path) in sorted(requests.items(), reverse=True):
            self._delete(method, path)

    def forget(self, jobs: Iterable[int]) -> None:
        forgotten = [each for each in jobs if each in self._known or each in self._ended]
        self.kill(each for each in forgotten if each in self._known.ids)
        for each in forgotten:
            self._known.drop(each)
            for record in (self._live, self._ended, self._missing):
                record.pop(each, None)
        if forgotten:
            self._dropped.update(forgotten if self._adopts else ())
            self._known.write()

    def tend(self) -> None:
        """Do nothing: OAR starts jobs."""

    def close(self) -> None:
        """Do nothing: there is no connection between two requests."""

    # Submissions

    def _is_safe(self, request: JobRequest) -> bool:
        """Whether a request may be sent. If not, it is recorded as refused."""
        try:
            submission([request], self._mark, self._description.queue)
        except UnsafeRequest as error:
            self._known.refused[request.job] = str(error)
            return False
        return True

    def _send(self, together: Sequence[JobRequest]) -> None:
        """Submit jobs as one job or array, on hold; write their numbers down; resume them."""
        body = body_of(submission(together, self._mark, self._description.queue))
        self._known.sent.update((each.job, time.time()) for each in together)
        self._known.write()
        answer = self._api.ask("POST", "jobs", body)
        if answer.status not in (200, 201):
            self._not_accepted(answer, together)
            return
        first = self._understood(submitted_id, answer)
        if len(together) == 1:
            found = self._none()
            found.keep(together[0].job, OarJob(id=first, state="Hold", array=first))
        else:
            found = self._none()
            for page in self._pages(f"jobs/details?array={first}", job_page):
                for job in page.items:
                    self._keep(job, found)
        self._settle(found)

    def _not_accepted(self, answer: OarAnswer, together: Sequence[JobRequest]) -> None:
        """A submission had another answer than a number. After an error of the server, its jobs may exist."""
        if answer.status >= 500:
            raise ClusterError(self._error(answer), self.name)
        for each in together:
            self._known.drop(each.job)
            if answer.status == 400:
                self._known.refused[each.job] = self._api.safe(error_of(answer))
        self._known.write()
        if answer.status != 400:
            raise ClusterError(self._error(answer), self.name)

    def _settle(self, found: Mapping[int, Sequence[OarJob]]) -> None:
        """Write down the numbers of jobs whose submission was not answered, resume them, and delete copies."""
        known = self._known
        changed = False
        for number, jobs in found.items():
            adopted = self._adopts and not (number in known or number in self._ended or number in self._dropped)
            if number in known.sent or adopted:
                known.ids[number] = min(job.id for job in jobs)
                known.sent.pop(number, None)
                changed = True
        if changed:
            known.write()
        held: dict[int, OarJob] = {}
        left = DELETIONS
        for number, jobs in found.items():
            for job in jobs:
                if not job.is_held:
                    continue
                if job.id != known.ids.get(number) or number in known.doomed:
                    left -= 1
                    if left >= 0:
                        self._delete("DELETE", f"jobs/{job.id}")
                else:
                    held[number] = job
        self._resume(held.values())

    def _resume(self, held: Iterable[OarJob]) -> None:
        """Let jobs run: those of an array by one request."""
        by_array: dict[int, list[OarJob]] = {}
        for job in held:
            by_array.setdefault(job.array or job.id, []).append(job)
        for array, jobs in by_array.items():
            path = f"jobs/array/{array}" if len(jobs) > 1 else f"jobs/{jobs[0].id}"
            answer = self._api.ask("POST", f"{path}/resumptions/new", b"{}")
            if answer.status not in (200, 202, 400):  # 400: one of them is not on hold any more
                raise ClusterError(self._error(answer), self.name)

    def _give_up(self, now: float) -> None:
        """Report submissions as lost that OAR does not list. If one appears later, it is on hold, and is deleted."""
        late = [number for number, at in self._known.sent.items() if not 0 <= now - at <= self._patience]
        for number in late:
            self._ended[number] = ended(number, because=KILLED if number in self._known.doomed else LOST, stop_time=now)
            self._known.drop(number)
        if late:
            self._known.write()

    @property
    def _patience(self) -> float:
        """How long a submission is looked for."""
        return LOST_SECONDS + self._description.timeout

    def _delete(self, method: str, path: str) -> None:
        answer = self._api.ask(method, path, b"{}")
        if answer.status in (200, 202, 204, 404):
            return
        if answer.status == 400 and "right user" not in error_of(answer):  # it is killed already, or has ended
            return
        raise ClusterError(self._error(answer), self.name)

    def _arrays_of(self, doomed: set[int]) -> dict[int, set[int]]:
        """The arrays of which all jobs that have not ended are to be killed, if there are at least two; these jobs."""
        members: dict[int, set[int]] = {}
        for number, job in self._live.items():
            if job.array is not None:
                members.setdefault(job.array, set()).add(number)
        return {array: numbers for array, numbers in members.items() if len(numbers) > 1 and numbers <= doomed}

    # Jobs

    def _keep(self, job: OarJob, found: _FoundJobs) -> None:
        """Keep a job if it is one of ours."""
        number = job_number_in(job.command, self._mark)
        if number is not None and self._description.user in ("", job.owner):
            found.keep(number, job)

    def _none(self) -> _FoundJobs:
        return _FoundJobs(self._description.host, self.name)

    def _reported(self, found: Mapping[int, Sequence[OarJob]], now: float, clock: float) -> Iterator[RemoteJob]:
        """All jobs that are known, as campaigns know them."""
        listed = {job.id: job for jobs in found.values() for job in jobs}
        silent = [id for number, id in self._known.ids.items() if number not in self._ended and id not in listed]
        for start in range(0, len(silent), IDS):
            asked = silent[start : start + IDS]
            for page in self._pages(ids_query(asked), job_page):
                listed.update((job.id, job) for job in page.items if job.id in asked)
        self._live = {}
        left = OUTPUTS
        for number, id in list(self._known.ids.items()):
            if number in self._ended:
                continue
            job = listed.get(id)
            if job is None:
                self._look_for(number, now)
            elif job.seen_as is not GridJobState.TERMINATED:
                self._missing.pop(number, None)
                self._live[number] = job
            elif job.became is not None and job.exit_code is None:
                self._known.ids[number] = job.became
                self._known.write()
            elif self._is_unexplained(job, clock) or not (left or job.is_well):
                self._live[number] = job
            else:
                left -= not job.is_well
                self._ended[number] = self._end(number, job)
        yield from self._ended.values()
        for number, reason in self._known.refused.items():
            yield ended(number, because=RemoteEvent(REFUSED.type, reason), stop_time=now)
        for number in {**self._known.ids, **self._known.sent}:
            if number not in self._ended:
                yield self._going_on(number)

    def _going_on(self, number: int) -> RemoteJob:
        job = self._live.get(number)
        id = self._known.ids.get(number)
        if job is None:
            return RemoteJob(job=number, state=GridJobState.SUBMITTED, remote_id=None if id is None else str(id))
        state = GridJobState.RUNNING if job.seen_as is GridJobState.TERMINATED else job.seen_as
        return RemoteJob(job=number, state=state, remote_id=str(job.id), start_time=job.start, node=job.node)

    def _look_for(self, number: int, now: float) -> None:
        """OAR does not list a job: it is lost if that stays so."""
        since, looks = self._missing.get(number, (now, 0))
        self._missing[number] = since, looks + 1
        if looks + 1 >= LOST_LOOKS and now - since >= LOST_SECONDS:
            self._ended[number] = ended(number, because=LOST, stop_time=now, remote_id=str(self._known.ids[number]))

    def _is_unexplained(self, job: OarJob, clock: float) -> bool:
        """Whether OAR may still record why a job has failed. CiGri waits as long."""
        explained = job.exit_code is not None or any(event.type in CAUSES for event in job.events)
        return not explained and job.stop is not None and 0 <= clock - job.stop < LOST_SECONDS

    def _end(self, number: int, job: OarJob) -> RemoteJob:
        well = job.is_well
        return RemoteJob(
            job=number,
            state=GridJobState.TERMINATED,
            remote_id=str(job.id),
            exit_code=job.exit_code,
            events=() if well else job.events,
            start_time=job.start,
            stop_time=job.stop,
            node=job.node,
            output="" if well else self._printed(job, job.stdout),
            errors="" if well else self._printed(job, job.stderr),
        )

    def _printed(self, job: OarJob, file: str) -> str:
        """The end of a file of a job, or the empty text if the server does not give it."""
        if not file or job.start is None:
            return ""
        try:
            answer = self._api.ask("GET", media_path(job.directory, file, job.id, LINES), limit=OUTPUT_BYTES)
        except ClusterError:
            return ""
        if answer.status != 200:
            return ""
        whole = answer.body.count(b"\n") < LINES and len(answer.body) <= KEPT_BYTES and answer.whole
        return text_of_output(bytes(answer.body[-KEPT_BYTES:]), whole=whole)

    # Resources and pages

    def _read_resources(self) -> None:
        """Read the resources and the stress factor, unless they are still valid."""
        now = time.monotonic()
        if self._read_at is not None and now - self._read_at < self._description.period:
            return
        wanted, unit = self._description.wanted, self._description.resource_unit
        units: dict[int, str] = {}
        for page in self._pages("resources/full", partial(resource_page, names=(*wanted, unit))):
            for each in page.items:
                if _is_usable(each) and all(each.get(name) == value for name, value in wanted.items()):
                    units[int(each["resource_id"])] = each.get(unit, each["resource_id"])[:MOST_UNIT]
            if len(units) > MOST_RESOURCES:
                raise ClusterError(f"{self._description.host} lists more than {MOST_RESOURCES} resources", self.name)
        self._units = units
        self._stress = stress_of(self._api.ask("GET", "stress_factor"))
        self._read_at = now

    def _pages(self, path: str, read: Callable[[OarAnswer], OarPage]) -> Iterator[OarPage]:
        """All pages of a collection."""
        at, seconds, left = path, TIMES * self._description.timeout, COLLECTION_BYTES
        until = time.monotonic() + seconds
        for _ in range(PAGES):
            if time.monotonic() > until or left < 0:
                limit = f"{COLLECTION_BYTES} bytes" if left < 0 else f"{seconds:g} s"
                raise ClusterError(f"{self._description.host} lists {path} on pages of more than {limit}", self.name)
            answer = self._api.ask("GET", at)
            if answer.status != 200:
                raise ClusterError(self._error(answer), self.name)
            left -= len(answer.body)
            page = self._understood(read, answer)
            yield page
            if page.next is None:
                return
            at = f"{path}{'&' if '?' in path else '?'}offset={page.next}"
        raise ClusterError(f"{self._description.host} lists {path} on more than {PAGES} pages", self.name)

    def _understood(self, read: Callable[[OarAnswer], Any], answer: OarAnswer) -> Any:
        try:
            return read(answer)
        except Misunderstood as error:
            reason = self._api.safe(str(error))
            raise ClusterError(f"{self._description.host}: {reason}; check 'url' in {self._path}", self.name) from None

    def _error(self, answer: OarAnswer) -> str:
        """An answer that reports an error, as a sentence."""
        host, message = self._description.host, self._api.safe(error_of(answer))
        if answer.status in (401, 403):
            return f"{host} does not accept the login for {answer.about}: check {self._path} ({message})"
        if 300 <= answer.status < 400:
            return f"{host} redirects {answer.about}: give the address to which it redirects in {self._path}"
        return f"{host} answers {answer.about} with the status {answer.status} ({message})"


CAUSES: Final = frozenset(
    {
        "BESTEFFORT_KILL",
        "EXTERMINATE",
        "FRAG_JOB_REQUEST",
        "RESUBMIT_JOB_AUTOMATICALLY",
        "WALLTIME",
        "WORKING_DIRECTORY",
    }
)
"""The events that say why a job has ended without an exit code."""


class _FoundJobs(dict[int, list[OarJob]]):
    """The jobs of this store that OAR lists, by their numbers: of one number, there may be copies."""

    def __init__(self, host: str, cluster: str) -> None:
        super().__init__()
        self._host = host
        self._cluster = cluster
        self._left = MOST_CHARACTERS

    def keep(self, number: int, job: OarJob) -> None:
        """Keep a job. It raises `ClusterError` if all of them are too much."""
        self._left -= job.characters
        if self._left < 0:
            raise ClusterError(
                f"{self._host} lists jobs of this store with more than {MOST_CHARACTERS} characters", self._cluster
            )
        self.setdefault(number, []).append(job)


def _is_usable(resource: Mapping[str, str]) -> bool:
    """Whether best-effort jobs may run on a resource."""
    return (
        resource["state"] == "Alive"
        and resource.get("type", "default") == "default"
        and resource.get("drain", "NO") != "YES"
        and resource.get("besteffort", "YES") != "NO"
    )
