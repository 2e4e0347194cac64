"""Placements and host lists that the builder refuses because they cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import force_setattr

from batprotocol import (
    AllocationPlacement,
    BuilderError,
    CustomExecutorToHostMapping,
    Event,
    ExecuteJobEvent,
    Message,
    MessageBuilder,
    PredefinedExecutorPlacementStrategy,
    ProfileAllocationPlacement,
    decode,
)
from batprotocol.builder import from_edc
from batprotocol.edc import Reply
from batprotocol.model.hosts import frozen_hosts
from batprotocol.wire import making
from batprotocol.wire.making import new_builder


@given(st.sets(st.integers(0, 40), min_size=1), st.lists(st.integers(0, 50), min_size=1))
def test_indices_are_those_of_the_hosts(hosts: set[int], indices: list[int]) -> None:
    override = ProfileAllocationPlacement("w0!p", hosts, CustomExecutorToHostMapping(indices))
    for add in (
        lambda builder: builder.add_execute_job("w0!1", hosts, placement=indices),
        lambda builder: builder.add_execute_job("w0!1", [1], profile_overrides=[override]),
        lambda builder: builder.add(
            ExecuteJobEvent(job_id="w0!1", allocation=AllocationPlacement(hosts, CustomExecutorToHostMapping(indices)))
        ),
    ):
        builder = MessageBuilder()
        if max(indices) < len(hosts):
            add(builder)
            assert len(builder) == 1
        else:
            with pytest.raises(
                BuilderError,
                match=rf"expected an index of {len(hosts)} hosts, in \[0, {len(hosts) - 1}\], got {max(indices)}",
            ) as refused:
                add(builder)
            assert refused.value.path.endswith(f"executor_placement.mapping[{indices.index(max(indices))}]")
            assert len(builder) == 0


@given(st.lists(st.integers(0, 9), min_size=1), st.sampled_from([list, tuple]))
def test_a_list_names_each_host_once(hosts: list[int], kind: type) -> None:
    builder = MessageBuilder()
    if len(set(hosts)) == len(hosts):
        builder.add_execute_job("w0!1", kind(hosts))
        assert len(builder) == 1
    else:
        with pytest.raises(BuilderError, match=r"allocation.host_allocation: expected each host once, got \d twice"):
            builder.add_execute_job("w0!1", kind(hosts))
        assert len(builder) == 0


def test_what_the_builder_refuses_can_be_written_by_hand() -> None:
    """For tests of what reads it."""
    wild = ExecuteJobEvent(
        timestamp=5.0, job_id="w0!1", allocation=AllocationPlacement("0-1", CustomExecutorToHostMapping([2]))
    )
    message = Message(now=1.0, events=[wild])
    written = message.to_binary(allow_late_events=True), message.to_json(allow_late_events=True)
    assert [decode(each) for each in written] == [message, message]


GOOD, EMPTY, HIGH = frozen_hosts("0-3"), frozen_hosts(""), frozen_hosts("4294967296")
UNKNOWN = PredefinedExecutorPlacementStrategy(7)
JOB_IDS = st.sampled_from(["w0!1", "", "w0!é", "no id", 1, None])
HOSTS = st.sampled_from([GOOD, GOOD, EMPTY, HIGH, "2", [1, 1], [0, 2], -1, None])
STRATEGIES = st.sampled_from([*PredefinedExecutorPlacementStrategy, UNKNOWN, [0], 0, None])


@given(st.lists(st.tuples(JOB_IDS, HOSTS, STRATEGIES, st.booleans()), max_size=6), st.booleans())
def test_executions_are_added_in_c_as_in_python(calls: list[tuple[Any, Any, Any, bool]], is_judged: bool) -> None:
    def judge(event: Event) -> None:
        if len(judged) % 3 == 2:
            judged.append(None)
            raise KeyError(event)
        judged.append(event)

    outcomes = []
    for add in (from_edc.add_execution, making._nothing):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(from_edc, "add_execution", add)
            for hosts in (GOOD, EMPTY, HIGH):
                force_setattr(hosts, "_sent", "")  # it was not sent yet
            judged: list[Event | None] = []
            reply = new_builder(Reply, judge if is_judged else None, 1.5, False)
            refused = []
            for *call, finishes in calls:
                try:
                    reply.add_execute_job(*call)
                except (BuilderError, KeyError) as error:
                    refused.append(repr(error))
                if finishes and not reply.is_finished:
                    reply.finish_message()
            outcomes.append((reply.events, reply.is_finished, reply.current_time, judged, refused))
    assert outcomes[0] == outcomes[1]
