"""The check of a copy: a log that a policy has made is copied exactly, and that policy explains it."""

from __future__ import annotations

import json
import lzma
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from commands import run_here
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA

from batprotocol.model import DelayProfile, parse_hosts
from batprotocol.model.hosts import frozen_hosts
from batprotocol.policies import PolicyNameError, named
from batprotocol.simulator import StaticJob, Workload, described_platform, read_external_events, simulate
from batprotocol.sites.logs import Attempt, AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.checking import EQUAL, check_copy, numbers_of_log
from batprotocol.sites.logs.commands.imports import explanations, simulated_copy
from batprotocol.sites.logs.windows import HostWindow, events_of, windows_of
from batprotocol.sites.logs.workloads import Unit, logged_workload
from batprotocol.workloads.host_events import HostEvent, HostStates, Window, read_host_event

WITHOUT_ENGINE = True

MACHINE = described_platform("n[0-3] cores=4 memory=8G")
NAMES = [host.name for host in MACHINE.computation_hosts]
ORIGIN = 1.7e9


def logged(seed: int, policy: str, unit: Unit) -> list[LoggedJob]:
    """A log that a policy has made of random jobs."""
    draw = Random(seed)
    jobs = []
    for number in range(draw.randint(1, 20)):
        asks = {"cores": draw.randint(1, 4)} if unit == "shares" and draw.random() < 0.7 else {}
        runs, at = float(draw.randint(1, 20)), float(draw.randint(0, 30))
        data = json.dumps(asks) if asks else None
        jobs.append(StaticJob(str(number), at, draw.choice([1, 1, 2, 4]), DelayProfile(runs), runs + 5, data))
    asked = {job.id: json.loads(job.extra_data or "{}").get("cores") for job in jobs}
    found = []
    for row in simulate(MACHINE, Workload(jobs), named(policy)()).jobs:
        assert row.starting_time is not None
        assert row.execution_time is not None
        hosts = tuple(NAMES[number] for number in parse_hosts(row.allocated_resources))
        started = ORIGIN + round(row.starting_time, 3)
        attempt = Attempt(
            submitted=ORIGIN + row.submission_time,
            started=started,
            ended=started + row.execution_time,
            state=AttemptState.COMPLETED,
            hosts=hosts,
        )
        cores = asked[row.job_id]
        job = LoggedJob(
            id=row.job_id,
            attempts=(attempt,),
            host_count=len(hosts),
            cores=len(hosts) * (cores or 4),
            exclusive=cores is None,
            walltime=row.requested_time,
            partition=draw.choice(["p", "q"]),
        )
        found.append(job)
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["easy", "conservative", "fcfs"]), st.sampled_from(["hosts", "shares"]))
def test_a_log_is_copied_exactly_and_its_policy_explains_it(seed: int, policy: str, unit: Unit) -> None:
    log = logged(seed, policy, unit)
    # The partitions are names only: the platform has none, and the policy `recorded` needs none.
    workload = logged_workload(log, platform=MACHINE, unit=unit)
    check = simulated_copy(workload, MACHINE, numbers_of_log(log, MACHINE, unit))
    assert check.jobs == check.equal_starts == check.equal_hosts == len(log)
    assert (check.not_started, check.conflicts) == (0, ())
    assert check.copy.utilisation == pytest.approx(check.log.utilisation, abs=1e-3)
    assert check.copy.waits.keys() == check.log.waits.keys() <= {"", "p", "q"}
    for name, waits in check.log.waits.items():
        jobs = [job for job in log if not name or job.partition == name]
        assert waits.jobs == check.copy.waits[name].jobs == len(jobs)
        mean = sum((job.first.started or 0.0) - job.first.submitted for job in jobs) / len(jobs)
        assert waits.mean == pytest.approx(mean, abs=1e-5)
        assert check.copy.waits[name].mean == pytest.approx(mean, abs=EQUAL)
        assert check.copy.waits[name].median == pytest.approx(waits.median, abs=EQUAL)
    plain = [
        LoggedJob(**{**{field: getattr(job, field) for field in job.__struct_fields__}, "partition": None})
        for job in log
    ]
    (found,) = explanations(logged_workload(plain, platform=MACHINE, unit=unit), MACHINE, [policy])
    assert (found.policy, found.jobs, found.within_a_minute, found.not_started) == (policy, len(log), 1.0, 0)
    if unit == "hosts":
        assert found.mean_difference <= EQUAL


def one(id: str, submitted: float, started: float, ended: float, hosts: str, **more: object) -> LoggedJob:
    attempt = Attempt(submitted=submitted, started=started, ended=ended, hosts=tuple(hosts.split()))
    return LoggedJob(id=id, attempts=(attempt,), host_count=len(hosts.split()) or 1, **more)  # type: ignore[arg-type]


def test_conflicts_are_counted_by_reason() -> None:
    log = [
        one("1", 0, 10, 60, "n0 n1"),
        one("2", 0, 58, 90, "n1"),  # it overlaps by two seconds
        one("3", 0, 89, 95, "n1"),  # and so this one is late by three
        one("4", 0, 20, 30, "n2"),
        one("4", 0, 20, 30, "n2"),  # from a log that overlaps: it counts once
    ]
    workload = logged_workload(log, platform=MACHINE, unit="hosts")
    check = simulated_copy(workload, MACHINE, numbers_of_log(log, MACHINE, "hosts"))
    (busy,) = check.conflicts
    assert (busy.reason, busy.count, busy.jobs) == ("its hosts were busy", 2, ("w0!2", "w0!3"))
    assert (busy.mean_delay, busy.max_delay) == pytest.approx((2.5, 3.0), abs=EQUAL)
    assert (check.jobs, check.equal_starts, check.log.waits[""].jobs) == (4, 2, 4)
    assert check.log.utilisation == pytest.approx((2 * 50 + 32 + 6 + 10) / (4 * 95))


def test_jobs_that_never_start_are_counted() -> None:
    log = [one("1", 0, 10, 60, "n0"), one("2", 0, 10, 20, "n0 n1")]
    workload = logged_workload(log, platform=MACHINE, unit="hosts")
    small = described_platform("n0 cores=4")
    rows = list(simulate(small, workload, named("recorded")()).jobs)
    check = check_copy(workload, small, rows, numbers_of_log(log, small, "hosts"))
    assert (check.jobs, check.equal_starts, check.not_started, check.conflicts) == (2, 1, 1, ())
    (found,) = explanations(workload, small, ["easy"])
    assert (found.within_a_minute, found.not_started) == (0.5, 1)
    assert found.mean_difference == pytest.approx(10.0, abs=EQUAL)
    with pytest.raises(PolicyNameError):
        list(explanations(workload, small, ["easy", "eazy"]))


def test_cores_are_hosts_where_a_log_has_no_names() -> None:
    log = [one("1", 0, 5, 9, "", cores=2), one("2", 0, 6, 10, "", cores=30)]
    platform = described_platform("c[0-31] cores=1")
    workload = logged_workload(log, platform=platform, unit="cores")
    check = simulated_copy(workload, platform, numbers_of_log(log, platform, "cores"))
    assert check.equal_starts == 2
    assert check.log.utilisation == pytest.approx((2 * 4 + 30 * 4) / (32 * 10))
    assert check.copy.utilisation == pytest.approx(check.log.utilisation, abs=1e-3)


def test_empty_logs() -> None:
    numbers = numbers_of_log([], MACHINE, "hosts")
    assert math.isnan(numbers.utilisation)
    assert numbers.waits[""].jobs == 0
    check = simulated_copy(logged_workload([], platform=MACHINE), MACHINE, numbers)
    assert (check.jobs, check.equal_starts) == (0, 0)
    assert windows_of([], 0.0) == []


# Windows

spans = st.tuples(
    st.integers(0, 60),
    st.integers(1, 9),
    st.sampled_from(["a", "b", "a b"]),
    st.sampled_from([*AttemptState][:2] * 3 + [*AttemptState]),
)


@given(st.lists(spans, max_size=12))
def test_hosts_are_down_until_they_are_used_again(given: list[tuple[int, int, str, AttemptState]]) -> None:
    log = [
        LoggedJob(
            id=str(number),
            attempts=(Attempt(submitted=0, started=at, ended=at + lasts, state=state, hosts=tuple(hosts.split())),),
        )
        for number, (at, lasts, hosts, state) in enumerate(given)
    ]
    down = set()
    for at, lasts, hosts, state in given:
        for host in hosts.split() if state in (AttemptState.NODE_FAIL, AttemptState.BOOT_FAIL) else ():
            end = at + lasts
            down.add(
                (
                    host,
                    end,
                    min((other for other, _, names, _ in given if host in names and other >= end), default=None),
                )
            )
    found = windows_of(log, 0.0)
    assert {(host, window.begin, window.end) for window in found for host in window.hosts} == {
        each for each in down if each[1] != each[2]
    }
    assert [window.begin for window in found] == sorted(window.begin for window in found)


def test_reservations_lend_hosts() -> None:
    day = 86_400.0
    log = [
        one("1", 0, 10, 60, "n0 n1", reservation="maint"),
        one("2", 0, 50, 99, "n2", reservation="maint"),
        one("3", 0, 10, 20, "n3"),
        one("4", 0, 3 * day, 3 * day + 5, "n0", reservation="maint"),
        one("5", 0, 30, 40, "n3", reservation="class"),
    ]
    found = windows_of(log, 5.0)
    assert [(each.hosts, each.begin, each.end, each.reservation) for each in found] == [
        (("n0", "n1", "n2"), 5.0, 94.0, "maint"),
        (("n3",), 25.0, 35.0, "class"),
        (("n0",), 3 * day - 5, 3 * day, "maint"),
    ]
    assert [each.why for each in found[:2]] == [
        *("they were lent to the reservation maint", "they were lent to the reservation class")
    ]


Shown = tuple[int, int | None, frozenset[str], str | None, int, Any]
shown = st.tuples(
    *(st.integers(-20, 60), st.none() | st.integers(1, 30), st.frozensets(st.sampled_from("abcx"), min_size=1)),
    *(st.sampled_from([None, None, "r", "s"]), st.integers(0, 40), st.sampled_from([(), ("u",), ("u", "v")])),
)


@given(st.lists(shown, max_size=8))
def test_windows_become_events_that_can_be(given: list[Shown]) -> None:
    """Each host is down in exactly the union of its windows, and reservations never share a host."""
    windows = [
        HostWindow(
            hosts=tuple(sorted(hosts)),
            begin=float(begin),
            end=None if lasts is None and name is None else float(begin + (lasts or 1)),
            why="seen",
            reservation=name,
            users=users,
            known=float(begin - 10),
            limit=float(begin + (lasts or 1) + more),
        )
        for begin, lasts, hosts, name, more, users in given
    ]
    left_out, states = LeftOut(), HostStates(3)
    events = events_of(windows, {"a": 0, "b": 1, "c": 2}, left_out)
    assert [time for time, _ in events] == sorted(time for time, _ in events)
    spans: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for place, (time, event) in enumerate(events):
        states.take(time, event)  # it raises an error if the event cannot be
        later = int(events[place + 1][0]) if place + 1 < len(events) else 200
        for host in states.down:
            spans[host].update(range(int(time), later))
        assert not isinstance(event, Window) or (event.users and event.name in "rs")
    for number, name in enumerate("abc"):
        down = [each for each in windows if each.reservation is None and name in each.hosts]
        expected = {
            *(
                time
                for each in down
                for time in range(int(max(each.begin, 0)), 200 if each.end is None else int(each.end))
            )
        }
        assert spans[number] == expected
    lent = [each for each in windows if each.reservation is not None and set(each.hosts) & set("abc") and each.end > 0]
    kept = reservations_of(lent)
    assert [(event.name, event.users, str(event.hosts), event.begin, event.end) for event in windows_in(events)] == kept
    assert any("x" in each.hosts for each in windows) == any("not on the platform" in each.reason for each in left_out)
    assert sum(isinstance(event, Window) for _, event in events) <= sum(
        each.reservation is not None for each in windows
    )


def windows_in(events: list[tuple[float, HostEvent | Window]]) -> list[Window]:
    """The windows among some events, by their begin."""
    return sorted((event for _, event in events if isinstance(event, Window)), key=lambda event: event.begin)


def reservations_of(lent: list[HostWindow]) -> list[tuple[object, ...]]:
    """The reservations that windows become, from the definition: the first one has a host, and none meets the next one.

    A reservation lasts until the jobs in it would have ended at their limits, or until hosts of it are lent again.
    """
    ordered, kept = sorted(lent, key=lambda each: each.begin), []
    for place, each in enumerate(ordered):
        begin = max(each.begin, 0.0)
        free = {"abc".index(name) for name in each.hosts if name in "abc"}
        free -= {host for _, end, hosts, _ in kept if end > begin for host in hosts}
        if not free or not each.users:
            continue
        assert each.end is not None
        later = [(other.begin, {"abc".index(name) for name in other.hosts if name in "abc"}) for other in ordered]
        again = [time for time, hosts in later[place + 1 :] if free & hosts]
        end = max(each.end, min([each.limit or 0.0, *again]))
        kept.append((begin, end, free, each))
    return [(each.reservation, each.users, str(frozen_hosts(hosts)), begin, end) for begin, end, hosts, each in kept]


def test_the_command_checks_a_log_of_a_real_slurm(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(lzma.decompress((DATA / "logs" / "sacct.txt.xz").read_bytes()))
    done = run_here("import", log, "--check", "--policies", "fcfs, easy")
    assert done.status == 0
    text = " ".join(done.out.split())
    for words in (
        "copy 26 of 26 jobs start as in the log",
        "n5 from 33 s to 158 s: a job ended because a host failed",
        "n1 from 148 s to 173 s: they were lent to the reservation rsv",
        "mean waiting time, all 2.92 s 2.92 s",
        "policy starts within a minute of the log",
    ):
        assert words in text
    assert [line.split()[0] for line in done.out.splitlines()[-2:]] == ["fcfs", "easy"]
    found = json.loads(run_here("import", log, "--check", "--json").out)
    assert found["check"]["equal_starts"] == found["check"]["equal_hosts"] == found["jobs"] == 26
    assert [each["policy"] for each in found["explained"]] == ["fcfs", "easy", "conservative"]
    assert found["windows"][0]["hosts"] == ["n5"]
    assert run_here("import", log, "--policies", "easy").status == 2
    assert run_here("import", log, "--check", "--policies", "eazy").status != 0
    assert "check" not in json.loads(run_here("import", log, "--json").out)


def test_policies_meet_the_failures_and_reservations_of_a_log(tmp_path: Path) -> None:
    log, files = tmp_path / "log.txt", [tmp_path / name for name in ("log.json", "hosts.txt", "hosts.jsonl")]
    log.write_bytes(lzma.decompress((DATA / "logs" / "sacct.txt.xz").read_bytes()))
    done = run_here("import", log, "--reservations", "-o", files[0], "-p", files[1], "--events", files[2])
    assert (done.status, f"wrote       {files[2]}" in done.out) == (0, True)
    events = [(each.timestamp, read_host_event(each.data)) for each in read_external_events(files[2]).events]
    assert [(time, event.hosts.text) for time, event in events if isinstance(event, HostEvent)] == [
        *((33.0, "5-7"), (35.0, "7"), (158.0, "5"))
    ]
    [window] = [event for _, event in events if isinstance(event, Window)]
    assert (window.begin, window.name, window.users, window.hosts.text) == (148.0, "rsv", ("u1",), "1")
    words = ["simulate", "easy", "--hosts", files[1].read_text(), "-w", files[0], "--json"]
    without, found = (json.loads(run_here(*words, *more).out)["metrics"] for more in ((), ("--events", files[2])))
    assert (without["nb_rejected"], found["nb_rejected"]) == (1, 0)
    assert found["availability"] < 1
