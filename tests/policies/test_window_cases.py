"""Single windows: maintenance, reservations, and what a real Slurm did about them."""

from __future__ import annotations

import csv
import json
import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lives import LATE
from promised import Promise
from test_independent import Reasons

from batprotocol.model import DelayProfile, parse_hosts
from batprotocol.policies import named
from batprotocol.simulator import ExternalEventList, StaticJob, Workload, described_platform, simulate

WITHOUT_ENGINE = True

# One window


HOSTS = "n[0-3] cores=4"


def job(id: str, at: float, size: int, run: float, walltime: float | None = None, **asks: Any) -> StaticJob:
    data = json.dumps(asks) if asks else None
    return StaticJob(id, at, size, DelayProfile(run), walltime=run if walltime is None else walltime, extra_data=data)


def window(begin: float, end: float, hosts: str = "0-3", **keys: Any) -> tuple[float, str]:
    announced = keys.pop("announced", 0.0)
    return announced, json.dumps({"hosts": hosts, "window": {"begin": begin, "end": end} | keys})


def starts(policy: str, windows: list[tuple[float, str]], jobs: list[StaticJob], hosts: str = HOSTS) -> dict[str, Any]:
    """The first second of each job, with the last one and the hosts; the reason, of those that were rejected."""
    reasons, logger = Reasons(), logging.getLogger("batprotocol.policies")
    logger.addHandler(reasons)
    try:
        result = simulate(
            described_platform(hosts),
            Workload(jobs, {}),
            named(policy)(),
            external_events=[ExternalEventList.of(windows, corrected=True)],
            corrected=True,
        )
    finally:
        logger.removeHandler(reasons)
    assert result.is_complete
    found: dict[str, Any] = {}
    for row in result.jobs:
        why = reasons.found.get(f"w0!{row.job_id}")
        end = None if why else row.starting_time + row.execution_time
        found[row.job_id] = why or (row.starting_time, end, str(row.allocated_resources))
    return found


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "reservations=2", "greedy"])
def test_a_job_starts_before_a_window_if_it_ends_before(policy: str) -> None:
    jobs = [
        job("fits", 0, 4, 10),
        job("meets", 10, 1, 11),
        job("endless", 11, 1, 1, math.inf),
        job("elsewhere", 11, 1, 50),
    ]
    jobs[2] = msgspec.structs.replace(jobs[2], walltime=None)
    found = starts(policy, [window(20, 30, "0-2")], jobs[:3])
    assert found["fits"] == (0, 10, "0-3")
    assert found["meets"] == (10, 21, "3")
    assert found["endless"][0] == 21  # on the host without a window, when that is free


def test_a_job_that_fits_only_between_windows_runs_between_them() -> None:
    weeks = [window(70.0 * week, 70.0 * week + 20) for week in range(5)]
    found = starts("easy", weeks, [job("short", 0, 4, 45), job("long", 1, 4, 50), job("longer", 2, 4, 51)])
    assert found == {"short": (20, 65, "0-3"), "long": (90, 140, "0-3"), "longer": (300, 351, "0-3")}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_the_risk_is_taken_if_it_is_said(policy: str) -> None:
    jobs = [job("a", 0, 4, 10, 30), job("b", 10, 4, 11, 30)]
    assert starts(f"{policy}+risk", [window(20, 30)], jobs) == {"a": (0, 10, "0-3"), "b": (10, 20, "0-3")}
    assert starts(policy, [window(20, 30)], jobs) == {"a": (30, 40, "0-3"), "b": (40, 51, "0-3")}


def test_jobs_that_run_when_a_window_is_announced_are_killed_at_its_begin() -> None:
    late = window(20, 30, "0-1", announced=15)
    found = starts("easy", [late], [job("a", 0, 2, 40), job("b", 0, 2, 40), job("c", 1, 2, 10)])
    assert found == {"a": (0, 20, "0-1"), "b": (0, 40, "2-3"), "c": (30, 40, "0-1")}


def test_jobs_run_on_when_a_reservation_begins() -> None:
    late = window(20, 60, "0-1", announced=15, users="ann", name="r")
    jobs = [job("a", 0, 1, 30, 40), job("b", 0, 3, 40), job("c", 16, 2, 10, reservation="r", user="ann")]
    assert starts("easy", [late], jobs) == {"a": (0, 30, "0"), "b": (0, 40, "1-3"), "c": (40, 50, "0-1")}


def test_a_reservation_is_for_the_jobs_that_ask_for_it_in_its_time() -> None:
    jobs = [
        job("in", 0, 2, 5, reservation="r", user="ann"),
        job("other", 0, 4, 5, user="eve"),
        job("besides", 6, 2, 20, user="ann"),
        job("more", 7, 4, 5, user="eve"),
        job("last", 13, 2, 5, reservation="r", user="ann"),
        job("late", 14, 2, 8, reservation="r", user="ann"),
        job("stranger", 8, 2, 5, reservation="r", user="eve"),
    ]
    found = starts("easy", [window(10, 20, "0-1", users=["ann"], name="r")], jobs)
    assert found.pop("stranger") == "the reservation 'r' is for users ann, and it is of user eve and account None"
    assert found.pop("late") == "the windows of the reservation 'r' are over"
    assert found == {
        "in": (10, 15, "0-1"),
        "other": (0, 5, "0-3"),
        "besides": (6, 26, "2-3"),
        "more": (26, 31, "0-3"),
        "last": (15, 20, "0-1"),
    }


def test_a_reservation_without_a_name_is_for_all_jobs_of_its_users() -> None:
    jobs = [job("a", 0, 3, 15, user="ann"), job("b", 1, 2, 15, user="eve"), job("c", 10, 2, 15, user="ann")]
    found = starts("conservative", [window(10, 40, "0-1", users="ann")], jobs)
    assert found == {"a": (40, 55, "0-2"), "b": (1, 16, "2-3"), "c": (10, 25, "0-1")}


def test_a_job_without_a_walltime_has_its_reservation_until_that_is_over() -> None:
    jobs = [
        msgspec.structs.replace(job("a", 0, 1, 50, reservation="r", user=1), walltime=None),
        job("b", 15, 1, 20, reservation="r", user=1),
        job("c", 0, 1, 12),
    ]
    found = starts("easy", [window(10, 40, "0", users=[1], name="r")], jobs, "n0 cores=4")
    assert found["a"] == (10, 40, "0")
    assert found["b"] == "the windows of the reservation 'r' are over"
    assert found["c"] == (40, 52, "0")


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        ([], "it asks for the reservation 'r', and there is none of that name"),
        (
            [window(5, 9, "0-1", users="eve", name="r")],
            "the reservation 'r' is for users eve, and it is of user ann and account None",
        ),
        (
            [window(5, 9, "0-1", accounts="a,b", name="r")],
            "the reservation 'r' is for accounts a, b, and it is of user ann and account None",
        ),
        ([window(5, 9, "0-1", name="r")], "the window 'r' is closed to all jobs"),
        ([window(5, 9, "0", users="ann", name="r")], "it asks for 2 hosts, and the reservation 'r' does not have them"),
        (
            [window(5, 9, "0-1", users="ann", name="r"), window(90, 91, announced=80)],
            "the windows of the reservation 'r' are over",
        ),
    ],
)
def test_jobs_that_can_have_no_reservation_are_rejected(windows: list[tuple[float, str]], why: str) -> None:
    assert starts("easy", windows, [job("a", 0, 2, 5, user="ann", reservation="r")])["a"] == why


def test_a_job_waits_for_a_reservation_that_is_not_known() -> None:
    windows = [window(10, 20, "0-1", users="ann", name="r", announced=8), window(90, 91, announced=80)]
    assert starts("easy", windows, [job("a", 0, 2, 5, user="ann", reservation="r")]) == {"a": (10, 15, "0-1")}


def test_hosts_that_are_promised_without_an_end_are_not_waited_for() -> None:
    forever = window(50, 2.0**52, "0-2")
    jobs = [job("first", 0, 4, 40), job("too-late", 1, 2, 15), job("last", 2, 1, 15), job("never", 60, 2, 1)]
    found = starts("fcfs", [forever], jobs)
    why = "it asks for 2 hosts, and of those that it can have, too few will ever be free again"
    assert found == {"first": (0, 40, "0-3"), "too-late": why, "last": (50, 65, "3"), "never": why}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_a_job_does_not_wait_for_a_reservation_that_was_its_last_hope_and_is_over(policy: str) -> None:
    """It could have run beside the reservation before; later, its hosts are promised without an end."""
    windows = [window(10, 100, users="ann"), window(100, 2.0**52)]
    jobs = [job("a", 1, 2, 80, user="ann"), job("b", 2, 4, 15, user="ann"), job("c", 3, 3, 20, user="ann")]
    found = starts(policy, windows, jobs)
    why = "it asks for {} hosts, and of those that it can have, too few will ever be free again"
    assert found == {"a": (10, 90, "0-1"), "b": why.format(4), "c": why.format(3)}


def test_a_job_without_a_walltime_waits_for_its_reservation_though_some_hosts_fail_for_ever() -> None:
    failed = 0.5, json.dumps({"hosts": "3", "state": "down"})
    jobs = [job("a", 1, 1, 500, reservation="r", user=1), job("b", 1, 2, 5, reservation="r", user=1)]
    jobs[0] = msgspec.structs.replace(jobs[0], walltime=None)
    found = starts("easy", [window(10, 40, "2-3", users=[1], name="r"), failed], jobs)
    assert found["a"] == (10, 40, "2")
    assert "too few will ever be free again" in found["b"]


# A real Slurm with maintenance and a reservation: version 22.05.8, sched/backfill, select/linear, eight nodes


SLURM = Path(__file__).parents[1] / "data" / "slurm" / "reservations.csv"
MAINTENANCE = Promise(1.0, [4, 5], 264.0, 504.0, "m1")
RESERVATION = Promise(5.0, [6, 7], 35.0, 335.0, "r2", ["u1", "u2"])
LOOKED_LATE = 15.0
"""Slurm looks at the ends of reservations each 30 s, and this one was over 13.97 s before."""


def recorded() -> list[dict[str, str]]:
    with SLURM.open() as file:
        return list(csv.DictReader(file))


def check_facts(rows: Iterable[tuple[str, float, float, Iterable[int]]], *, is_slurm: bool) -> None:
    """Check the id, start, end and hosts of each job that ran: Slurm kept these rules of windows."""
    limits = {row["id"]: float(row["limit"]) for row in recorded()}
    asks = {row["id"]: row["reservation"] for row in recorded()}
    late = LOOKED_LATE if is_slurm else LATE
    for id, start, end, hosts in rows:
        if set(hosts) & {4, 5}:
            assert start >= 504 or start + limits[id] <= 264 + LATE, f"{id} meets the maintenance"
        if asks[id]:
            assert set(hosts) == {6, 7}
            assert start >= 35
            assert end <= 335 + late
        elif set(hosts) & {6, 7}:
            assert start >= 335 or start + limits[id] <= 35 + LATE, f"{id} meets the reservation"


def replayed(policy: str) -> dict[str, tuple[float, float, list[int]]]:
    jobs = []
    for row in recorded():
        data = {"user": row["user"], **({"reservation": row["reservation"]} if row["reservation"] else {})}
        profile = DelayProfile(float(row["run"]))
        jobs.append(
            StaticJob(
                *(row["id"], float(row["submitted"]), int(row["nodes"]), profile),
                walltime=float(row["limit"]),
                extra_data=json.dumps(data),
            )
        )
    events = ExternalEventList.of([(each.announced, each.data) for each in (MAINTENANCE, RESERVATION)])
    result = simulate(
        described_platform("n[0-7] cores=1"), Workload(jobs, {}), named(policy)(), external_events=[events]
    )
    return {
        row.job_id: (
            row.starting_time,
            row.starting_time + row.execution_time,
            list(parse_hosts(row.allocated_resources)),
        )
        for row in result.jobs
        if row.execution_time
    }


def test_slurm_kept_windows_as_policies_do() -> None:
    ran = [row for row in recorded() if row["start"]]
    check_facts(
        ((row["id"], float(row["start"]), float(row["end"]), parse_hosts(row["on"])) for row in ran), is_slurm=True
    )
    ours = replayed("conservative+best-fit")
    check_facts(((id, *rest) for id, rest in ours.items()), is_slurm=False)
    assert {"14", "17", "22"}.isdisjoint(ours)  # they could not be sure to end in the reservation
    assert "18" in ours


def test_slurm_killed_a_job_at_the_end_of_its_reservation_as_policies_do_with_the_risk() -> None:
    rows = {row["id"]: row for row in recorded()}
    ours = replayed("conservative+best-fit+risk")
    for id in ("14", "17"):
        assert float(rows[id]["start"]) + float(rows[id]["limit"]) > 335
        assert ours[id][0] == pytest.approx(float(rows[id]["start"]), abs=3.0)
        assert ours[id][2] == [6, 7]
    assert 335 <= float(rows["17"]["end"]) <= 335 + LOOKED_LATE
    assert ours["17"][1] == pytest.approx(335.0, abs=LATE)
    for id in ("18", "22"):  # the reservation was over before they had hosts
        assert not rows[id]["start"]
        assert id not in ours
