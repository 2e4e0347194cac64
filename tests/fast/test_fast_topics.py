"""FaST's topics: to their parts and back, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import DecodeError, EncodeError
from batprotocol.fast import ROUTES, Participant, Topic, TopicKind
from batprotocol.fast import strategies as fast
from batprotocol.fast.topics import QOS, RESULTS, routes_on
from batprotocol.fast.values import Quit, Task

WITHOUT_ENGINE = True


@given(fast.topics())
def test_topics_survive(topic: Topic) -> None:
    assert Topic.parse(str(topic)) == topic
    assert Topic.find(topic.channel.filter()) is None


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(["fast", "migfra", "pscom", "agent", "task", "a", ""])).map("/".join))
)
def test_whatever_is_a_topic_is_written_as_it_was(text: str) -> None:
    topic = Topic.find(text)
    assert topic is None or str(topic) == text


@pytest.mark.parametrize("channel", TopicKind)
def test_each_kind_has_its_parts(channel: TopicKind) -> None:
    topic = channel.topic("node-a", 4242 if channel.has_process else None)
    assert topic == Topic.parse(
        channel.value.replace("<procID>", "4242").replace("<hostname>", "node-a").replace("<slurm_jobid>", "node-a")
    )
    assert repr(topic) == f"Topic(channel=TopicKind.{channel.name}, name='node-a', process={topic.process!r})"
    assert routes_on(channel)
    assert str(channel) == channel.value


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "fast",
            "fast/",
            "fast/migfra",
            "fast/migfra/a",
            "fast/migfra//task",
            "fast/migfra/a/Task",
            "/fast/migfra/a/task",
        ),
        *(
            "fast/migfra/a/task/",
            "fast/migfra/+/task",
            "fast/migfra/a#/task",
            "fast/migfra/a\0/task",
            "fast/pscom/a/request",
        ),
        *(
            "fast/pscom/a/1/2/request",
            "fast/agent/a/mmbwmon",
            f"fast/migfra/{'a' * 65_536}/task",
            "fast/migfra/a/task\n",
        ),
        f"fast/migfra/{'é' * 40_000}/task",
    ],
)
def test_what_is_no_topic(text: str) -> None:
    assert Topic.find(text) is None
    with pytest.raises(DecodeError, match="is not a topic of FaST"):
        Topic.parse(text)


@pytest.mark.parametrize("name", ["", "a/b", "+", "a#", "\0", "\ud800", None, 7])
def test_a_name_that_cannot_stand_in_a_topic(name: str) -> None:
    with pytest.raises(EncodeError, match=r"^(name|process): expected a text"):
        str(Topic(TopicKind.MIGFRA_TASK, name))
    with pytest.raises(EncodeError, match=r"^process: expected a text"):
        str(Topic(TopicKind.PSCOM_REQUEST, "vm1", name))
    with pytest.raises(EncodeError, match=r"^name: expected a topic of at most"):
        str(Topic(TopicKind.MIGFRA_TASK, "a" * 65_536))


def test_the_table_is_one() -> None:
    """All messages of a topic go the same way; each task has a result; nothing is retained."""
    for channel in TopicKind:
        ways = {(route.sender, route.receiver, route.qos, route.retained) for route in routes_on(channel)}
        assert len(ways) == 1
        assert QOS[channel] == routes_on(channel)[0].qos
    assert {route.message for route in routes_on(TopicKind.MIGFRA_TASK)} == set(RESULTS) == set(Task.__args__)
    assert not any(route.retained for route in ROUTES)
    assert {route.sender for route in ROUTES} == set(Participant)
    assert str(Participant.MIGFRA) == "migration framework"
    assert repr(ROUTES[7].message) == repr(Quit)
