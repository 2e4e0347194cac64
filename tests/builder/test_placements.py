"""Placements and host lists that the builder refuses because they cannot be meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import (
    AllocationPlacement,
    BuilderError,
    CustomExecutorToHostMapping,
    ExecuteJobEvent,
    Message,
    MessageBuilder,
    ProfileAllocationPlacement,
    decode,
)


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
