"""Policies on a Batsim whose messages come late: reservations are over before the policy hears of their time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay import HOSTS, begins, said

from batprotocol import model
from batprotocol.edc.scheduler import attend_to, hello_of
from batprotocol.edc.session import Session
from batprotocol.model.free_hosts import Hosts
from batprotocol.policies import EASY, Conservative, Policy, Reservations
from batprotocol.policies.site import SiteRules

WITHOUT_ENGINE = True

Waiting = tuple[float, int, float, float]
"""The submission, the hosts, the run time and the walltime of a job."""

JOBS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 2.0, 5.0]),
        st.integers(1, HOSTS),
        st.sampled_from([0.25, 1.0, 5.0, 10.0]),
        st.sampled_from([0.5, 2.0, 10.0]),
    ),
    min_size=1,
    max_size=8,
)


def turns(policy: Policy, jobs: list[Waiting], late: float) -> Iterator[tuple[float, int, set[str]]]:
    """Play jobs; after each turn, its time, the number of free hosts, and the jobs that wait.

    Args:
        policy: the policy, a new one.
        jobs: the jobs.
        late: for how long Batsim waits with a message, in seconds. More events happen meanwhile.
    """
    session = Session(lambda text: hello_of(policy, text))
    session.hear_init("")
    attend = attend_to(policy)
    coming: list[tuple[float, int, str, model.Event]] = []
    for number, (at, size, _, walltime) in enumerate(jobs):
        job = model.Job(resource_request=size, walltime=walltime, profile_id="w0!delay")
        profile = model.ProfileAndId("w0!delay", model.DelayProfile(1.0))
        submitted = model.JobSubmittedEvent(job_id=f"w0!{number}", job=job, submission_time=at, profile=profile)
        heapq.heappush(coming, (at, len(coming), f"w0!{number}", submitted))
    waiting: set[str] = set()
    held: dict[str, int] = {}
    count, message = len(coming), begins()
    while True:
        attend(session.hear(message))
        reply = session.say()
        for event in reply.events:
            count += 1
            if isinstance(event, model.ExecuteJobEvent):
                number = int(event.job_id.partition("!")[2])
                _, size, run, walltime = jobs[number]
                assert isinstance(event.allocation, model.AllocationPlacement)
                held[event.job_id] = len(Hosts(event.allocation.host_allocation))
                assert held[event.job_id] == size
                waiting.remove(event.job_id)
                state = model.FinalJobState.COMPLETED_SUCCESSFULLY
                ended = model.JobCompletedEvent(job_id=event.job_id, state=state)
                heapq.heappush(coming, (reply.now + min(run, walltime), count, event.job_id, ended))
            elif isinstance(event, model.CallMeLaterEvent):
                assert isinstance(event.when, model.OneShot)
                assert event.when.time_unit is model.TimeUnit.Millisecond
                call = model.RequestedCallEvent(call_me_later_id=event.call_me_later_id)
                heapq.heappush(coming, (event.when.time / 1000, count, "", call))
        yield reply.now, HOSTS - sum(held.values()), waiting
        if not coming:
            return
        now = coming[0][0] + late
        events = []
        while coming and coming[0][0] <= now:
            _, _, job_id, event = heapq.heappop(coming)
            events.append(event)
            if isinstance(event, model.JobSubmittedEvent):
                waiting.add(job_id)
            elif isinstance(event, model.JobCompletedEvent):
                del held[job_id]
        message = said(now, *events)


POLICIES = {
    "easy": lambda: Policy(backfilling=EASY(), site=SiteRules()),
    "conservative": lambda: Policy(backfilling=Conservative(), site=SiteRules()),
    "reservations": lambda: Policy(backfilling=Reservations(3), site=SiteRules()),
}


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60)
@given(jobs=JOBS, late=st.sampled_from([0.0, 0.3, 2.0, 6.0]))
def test_all_jobs_start(policy: str, jobs: list[Waiting], late: float) -> None:
    """Jobs waited for one another, if the times of two reservations had passed."""
    waiting: set[str] = set()
    idle = 0.0
    for turn, (now, free, waiting) in enumerate(turns(POLICIES[policy](), jobs, late)):
        assert turn < 100
        idle = 0.0 if free < HOSTS or not waiting else idle or now
        assert not idle or now - idle <= 11.0  # for the longest reservation behind a job, whose time has come
    assert not waiting
