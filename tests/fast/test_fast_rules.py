"""The rules of FaST's conversations: each is broken once, and once nearly; recordings break none for no reason."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fast_oracle import recordings
from memory import peak_memory

from batprotocol.fast import _rules as state
from batprotocol.fast import values as v
from batprotocol.fast.conversation import CATALOGUE, RULE_SETS, Conversation, Violation, check
from batprotocol.fast.recording import Recorded, read_line
from batprotocol.fast.topics import Topic, topic_for
from batprotocol.fast.wire import encode

WITHOUT_ENGINE = True

Said = tuple[float, str, bytes] | tuple[float, str, bytes, bool]
"""When, on which topic, what, and whether it was kept by the broker."""


def say(
    time: float, message: v.FastMessage | bytes, name: str = "a", process: str | None = None, topic: str = ""
) -> Said:
    """Something that is said."""
    if isinstance(message, bytes):
        return time, topic or f"fast/migfra/{name}/task", message
    return time, topic or str(topic_for(message, name, process)), encode(message)


def start(time: float, *names: str, id: str | None = None, node: str = "a") -> Said:
    return say(time, v.StartVM([v.VMConfiguration(name) for name in names], id=id), node)


def stop(time: float, *names: str, id: str | None = None) -> Said:
    return say(time, v.StopVM([v.VMToStop(name) for name in names], id=id))


def result(
    time: float, title: str, *names: str, id: str | None = None, status: str = "success", node: str = "a"
) -> Said:
    return say(time, v.Result(title, [v.VMResult(name, status) for name in names], id), node)


def migrate(time: float, processes: str | None = "2", swap: v.SwapWith | None = None) -> Said:
    parameter = v.MigrateParameter(pscom_hook_procs=processes, swap_with=swap)
    return say(time, v.MigrateVM("vm1", "b", parameter, id="m"))


def pscom(time: float, task: str, vm: str = "vm1") -> Said:
    return say(time, v.PscomRequest(task), vm, v.ANY_PROCESS)


def answer(time: float, process: int = 1, vm: str = "vm1") -> Said:
    return say(time, v.PscomResponse("COMPLETED", process), vm, str(process))


RUNNING = (start(0, "vm1", id="s"), result(1, "vm started", "vm1", id="s"))
CORES = v.MmbwmonRequest([1, 2])

CASES: dict[str, tuple[list[Said], list[Said]]] = {
    "message.topic": (
        [say(0, b"", topic="fast/migfra/a/tasks")],
        [say(0, b"", topic="faster/a"), say(0, b"[", topic="x")],
    ),
    "message.form": (
        [say(0, b"cores: [1]", topic="fast/agent/a/mmbwmon/response")],
        [say(0, b"cores: [1]\nresponse: 1", topic="fast/agent/a/mmbwmon/response")],
    ),
    "message.dialect": (
        [say(0, b"cgroup: c\nresponse: 1\ncores: []", topic="fast/agent/a/mmbwmon/response")],
        [say(0, v.Init("a")), say(1, v.InitAgent(v.KPIConfiguration({"x": "1"}, 1)))],
    ),
    "message.retained": (
        [(*start(0, "vm1"), True), result(1, "vm started", "vm1")],
        [start(0, "vm1"), result(1, "vm started", "vm1")],
    ),
    "task.form": (
        [say(0, b"task: fly vm"), result(1, "unknown", "unknown", status="error")],
        [say(0, b"task: quit"), result(1, "quit", "n/a")],
    ),
    "task.empty": (
        [stop(0, id="1"), result(1, "unknown", "unknown", id="1", status="error")],
        [stop(0, "vm1", id="1"), result(1, "vm stopped", "vm1", id="1")],
    ),
    "task.id-twice": (
        [
            start(0, "x", id="1"),
            start(0, "y", id="1"),
            result(1, "vm started", "x", id="1"),
            result(1, "vm started", "y", id="1"),
        ],
        [
            start(0, "x", id="1"),
            result(1, "vm started", "x", id="1"),
            start(2, "y", id="1"),
            result(3, "vm started", "y", id="1"),
        ],
    ),
    "task.unanswered": (
        [start(0, "x"), say(61, CORES), say(62, v.MmbwmonResponse([1, 2], 1.0))],
        [
            start(0, "x", "y"),
            say(61, CORES),
            say(62, v.MmbwmonResponse([1, 2], 1.0)),
            result(119, "vm started", "x", "y"),
        ],
    ),
    "task.open": ([start(0, "x")], [start(0, "x"), result(59, "vm started", "x")]),
    "result.unasked": (
        [start(0, "x"), result(1, "vm started", "x"), result(2, "vm started", "x")],
        [
            result(0, "vm started", "x"),
            start(1, "x"),
            start(1, "y"),
            result(2, "vm started", "y"),
            result(2, "vm started", "x"),
        ],
    ),
    "result.twice": (
        [start(0, "x", id="1"), result(1, "vm started", "x", id="1"), result(2, "vm started", "x", id="1")],
        [
            start(0, "x", id="1"),
            result(1, "vm started", "x", id="1"),
            start(2, "x", id="1"),
            result(3, "vm started", "x", id="1"),
        ],
    ),
    "result.id": (
        [start(0, "x", id="1"), result(1, "vm started", "x")],
        [start(0, "x", id=""), result(1, "vm started", "x")],
    ),
    "result.title": (
        [start(0, "x", id="1"), result(1, "vm stopped", "x", id="1")],
        [start(0, "x", id="1"), result(1, "unknown", "unknown", id="1", status="error")],
    ),
    "result.entries": (
        [start(0, "x", "y"), result(1, "vm started", "x")],
        [
            say(
                0,
                v.StartVM([v.VMConfiguration(xml="<domain><name> x </name></domain>"), v.VMConfiguration(xml="<d/>")]),
            ),
            result(1, "vm started", "x", "<d/>"),
            say(2, v.StopVM([v.VMToStop(regex="x.*")])),
            result(3, "vm stopped", "x.*"),
            say(4, v.EvacuateNode(["b"])),
            result(5, "node evacuated", "p", "q"),
        ],
    ),
    "result.order": (
        [start(0, "x", "y"), result(1, "vm started", "y", "x")],
        [start(0, "x", "x"), result(1, "vm started", "x", "x")],
    ),
    "result.status": (
        [start(0, "x"), result(1, "vm started", "x", status="good")],
        [start(0, "x"), result(1, "vm started", "x", status="error")],
    ),
    "vm.not-started": (
        [
            *RUNNING,
            stop(2, "vm1"),
            result(3, "vm stopped", "vm1"),
            say(4, v.SuspendVM([v.VM("vm1")])),
            result(5, "vm suspended", "vm1", status="error"),
        ],
        [*RUNNING, say(4, v.SuspendVM([v.VM("vm1")])), result(5, "vm suspended", "vm1")],
    ),
    "vm.not-suspended": (
        [*RUNNING, say(2, v.ResumeVM([v.VM("vm1")])), result(3, "vm resumed", "vm1")],
        [
            *RUNNING,
            say(2, v.SuspendVM([v.VM("vm1")])),
            result(3, "vm suspended", "vm1"),
            say(4, v.ResumeVM([v.VM("vm1")])),
            result(5, "vm resumed", "vm1"),
        ],
    ),
    "vm.suspended": (
        [
            *RUNNING,
            say(2, v.SuspendVM([v.VM("vm1")])),
            result(3, "vm suspended", "vm1"),
            say(4, v.SuspendVM([v.VM("vm1")])),
            result(5, "vm suspended", "vm1"),
        ],
        [
            *RUNNING,
            say(2, v.SuspendVM([v.VM("vm1")])),
            result(3, "vm suspended", "vm1", status="error"),
            say(4, v.SuspendVM([v.VM("vm1")])),
            result(5, "vm suspended", "vm1"),
        ],
    ),
    "agent.no-init-agent": (
        [say(0, v.Init("a"))],
        [say(0, v.Init("a")), say(1, v.InitAgent(v.KPIConfiguration({}, 1))), say(2, v.Init("a"))],
    ),
    "agent.order": (
        [say(0, v.Init("a")), say(1, v.KPI("a", {"x": "1"})), say(2, v.InitAgent(v.KPIConfiguration({}, 1)))],
        [
            say(0, v.Init("a")),
            say(1, v.InitAgent(v.KPIConfiguration({}, 1)), topic="fast/agent/a/task/init_agent"),
            say(2, v.Configuration("a", "accepted")),
            say(3, v.KPI("a", {"x": "1"})),
            say(4, v.StopMonitoring(v.JobDescription("1", 2))),
        ],
    ),
    "mmbwmon.unasked": (
        [say(0, CORES), say(1, v.MmbwmonResponse([2, 1], 1.0)), say(2, v.MmbwmonResponse([1, 2], 1.0))],
        [say(0, v.MmbwmonResponse([1], 1.0)), say(0, CORES), say(1, v.MmbwmonResponse([1, 2], 1.0))],
    ),
    "mmbwmon.cores": (
        [say(0, CORES), say(1, v.MmbwmonResponse([1, 3], 1.0))],
        [
            say(0, CORES),
            say(0, v.MmbwmonRequest([3])),
            say(1, v.MmbwmonResponse([3], 1.0)),
            say(2, v.MmbwmonResponse([2, 1], 1.0)),
        ],
    ),
    "mmbwmon.unanswered": (
        [say(0, v.MmbwmonStop("c")), say(61, CORES), say(62, v.MmbwmonResponse([1, 2], 0.5))],
        [
            say(0, v.MmbwmonStop("c")),
            say(59, v.MmbwmonStopAck()),
            say(61, CORES),
            say(62, v.MmbwmonResponse([1, 2], 0.5)),
        ],
    ),
    "mmbwmon.open": ([say(0, v.MmbwmonRestart("c"))], [say(0, v.MmbwmonRestart("c")), say(1, v.MmbwmonRestartAck())]),
    "pscom.not-suspended": (
        [
            *RUNNING,
            migrate(2),
            pscom(3, "suspend"),
            answer(4),
            result(5, "vm migrated", "vm1", id="m"),
            answer(5, 2),
            pscom(6, "resume"),
            *(answer(7), answer(7, 2)),
        ],
        [*RUNNING, migrate(2, "0"), result(5, "vm migrated", "vm1", id="m")],
    ),
    "pscom.not-resumed": (
        [*RUNNING, migrate(2), pscom(3, "suspend"), answer(4), answer(4, 2), result(5, "vm migrated", "vm1", id="m")],
        [
            *RUNNING,
            migrate(2),
            *(pscom(3, "suspend"), answer(4), answer(4, 2), pscom(5, "resume"), answer(6, 2), answer(6)),
            result(7, "vm migrated", "vm1", id="m"),
            answer(8),
        ],
    ),
    "pscom.order": ([pscom(0, "resume"), answer(1)], [pscom(0, "suspend"), answer(1), pscom(2, "resume"), answer(3)]),
    "pscom.unasked": ([answer(0)], [pscom(0, "suspend"), answer(1), answer(1)]),
    "pscom.unanswered": (
        [pscom(0, "suspend"), say(11, v.Init("a")), say(11, v.InitAgent(v.KPIConfiguration({}, 1)))],
        [pscom(0, "suspend"), answer(9), say(11, v.Init("a")), say(11, v.InitAgent(v.KPIConfiguration({}, 1)))],
    ),
}
"""For each rule, a conversation that breaks it and one that comes near to it."""


def judged(said: list[Said], rules: str = "") -> list[Violation]:
    """All that is wrong with it."""
    return check([Recorded(topic, data, time, retain=bool(kept)) for time, topic, data, *kept in said], rules)


def rules_of(said: list[Said], rule: str) -> set[str]:
    return {violation.rule for violation in judged(said, "fast-lib" if rule == "message.dialect" else "")}


@pytest.mark.parametrize("rule", CATALOGUE.rules)
def test_each_rule_is_broken_alone_and_nearly(rule: str) -> None:
    broken, near = CASES[rule]
    assert rules_of(broken, rule) == {rule}
    assert rules_of(near, rule) == set()


def test_the_cases_are_those_of_the_catalogue_in_its_order() -> None:
    assert list(CASES) == list(CATALOGUE.rules)
    assert CATALOGUE.default == RULE_SETS[-1] == "protocol"
    for rule in CATALOGUE.rules.values():
        assert rule.title
        assert rule.explanation.endswith(".")


# Recordings


TRUE = {
    "dummy_scheduler": {"task.form": 2, "mmbwmon.cores": 2, "message.form": 1, "task.open": 1},
    "migfra_dummy_ok": {"task.form": 8, "task.empty": 1},
    "migfra_dummy_throws": {"vm.not-started": 4},
    "poncos_abort_on_bad_reply": {"message.form": 1},
}
"""What is really wrong in recordings: tasks that the framework refused, answers for other cores, machines that did not
start, a task for a node that is not there, and the reply that poncos aborts on."""


def read(path: Path) -> list[Recorded]:
    return [read_line(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_recordings_raise_no_false_alarm(path: Path) -> None:
    found = check(read(path))
    assert {rule: [each.rule for each in found].count(rule) for rule in {each.rule for each in found}} == TRUE.get(
        path.stem, {}
    )


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_what_is_taken_out_of_a_recording_is_missed(path: Path) -> None:
    """A result that never came, or came twice, is told, wherever it is."""
    messages = read(path)
    usual = check(messages)
    for index, message in enumerate(messages):
        topic = Topic.find(message.topic)
        if topic is not None and topic.channel.value.endswith("result"):
            without = check([*messages[:index], *messages[index + 1 :]])
            assert len(without) > len(usual), index
            twice = check([*messages[: index + 1], *messages[index:]])
            assert len(twice) > len(usual), index


def test_the_beginning_of_a_recording_may_be_missing() -> None:
    """Who begins to listen later is told of no error or deadlock that is none."""
    for path in recordings():
        messages = read(path)
        usual = {violation.text for violation in check(messages)}
        for begin in range(1, len(messages)):
            found = check(messages[begin:])
            assert [each for each in found if each.is_fatal and each.text not in usual] == []


# The conversation itself


def test_it_tells_at_once_and_counts_messages() -> None:
    conversation = Conversation()
    assert conversation.feed("fast/migfra/a/task", b"task: quit", 0.0) == []
    [violation] = conversation.feed("fast/migfra/a/task", b"task: [quit", 1.0)
    assert str(violation).startswith("message 1: warning: line 2: while parsing a flow sequence")
    assert violation.explained.id == "task.form"
    assert conversation.number == 2
    late = conversation.wait(601.0)
    assert [(each.message, each.rule) for each in late] == [(1, "task.unanswered"), (0, "task.unanswered")]
    assert conversation.wait(602.0) == conversation.finish() == []


def test_there_are_two_rule_sets() -> None:
    with pytest.raises(ValueError, match="there is no rule set 'strict', only 'fast-lib', 'protocol'"):
        Conversation("strict")


def test_swapped_machines_are_watched_too() -> None:
    swap = v.SwapWith("vm2", "1")
    said = [
        *(start(0, "vm1"), result(1, "vm started", "vm1")),
        *(start(0, "vm2", node="b"), result(1, "vm started", "vm2", node="b")),
        migrate(2, "1", swap),
        *(pscom(3, "suspend"), answer(4), pscom(5, "resume"), answer(6)),
        result(7, "vm migrated", "vm1", id="m"),
    ]
    assert [violation.rule for violation in judged(said)] == ["pscom.not-suspended"]
    assert "'vm2'" in judged(said)[0].text
    both = [
        *said[:-1],
        pscom(6, "suspend", "vm2"),
        answer(6, 1, "vm2"),
        pscom(6, "resume", "vm2"),
        answer(6, 1, "vm2"),
        said[-1],
    ]
    assert judged(both) == []
    there = v.SuspendVM([v.VM("vm1")])
    assert judged([*both, say(8, there, "b"), result(9, "vm suspended", "vm1", node="b")]) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([pscom(0, "suspend"), pscom(5, "resume"), answer(6)], [0]),  # resumed before it was suspended
        ([pscom(0, "suspend"), pscom(10, "resume"), answer(11)], [0]),
        ([pscom(0, "suspend"), pscom(11, "resume"), answer(12)], [0]),  # told once, when it was overdue
        ([pscom(0, "suspend"), answer(1), pscom(5, "resume"), pscom(6, "suspend"), answer(7)], [2]),
        ([pscom(0, "suspend"), pscom(1, "suspend"), answer(2)], []),  # the same is waited for on
        ([pscom(0, "suspend"), answer(1), pscom(5, "resume"), answer(6)], []),
    ],
)
def test_processes_that_are_not_waited_for_any_longer_have_not_answered(said: list[Said], expected: list[int]) -> None:
    found = [violation.message for violation in judged(said) if violation.rule == "pscom.unanswered"]
    assert found == expected


def test_too_few_processes_have_answered() -> None:
    said = [*RUNNING, migrate(2), pscom(3, "suspend"), answer(4), pscom(14, "resume"), answer(15), answer(15, 2)]
    assert [(each.rule, each.message) for each in judged([*said, result(16, "vm migrated", "vm1", id="m")])] == [
        ("pscom.unanswered", 3),
        ("pscom.not-suspended", 8),
    ]


def test_where_pscom_is_not_listened_to_nobody_knows_of_it() -> None:
    said = [*RUNNING, migrate(2), result(5, "vm migrated", "vm1", id="m")]
    for rules in RULE_SETS:
        [violation] = judged(said, rules)
        assert (violation.rule, violation.severity) == ("pscom.not-suspended", "warning")
        assert violation.text.endswith("no other message of pscom: check the subscription to its topics")
    for heard in (pscom(1, "suspend", "vm9"), answer(1, 7, "vm9")):
        found = judged([*RUNNING, heard, *said[2:]])
        assert [(each.severity) for each in found if each.rule == "pscom.not-suspended"] == ["error"]


def peak_of(rounds: int) -> int:
    """The memory that a conversation takes in which nothing is ever answered."""
    with peak_memory() as peak:
        conversation = Conversation()
        for number in range(rounds):
            for topic, payload in (
                (
                    f"fast/migfra/n{number % 40}/task",
                    b"task: suspend vm\nlist: [{vm-name: v%d}]\nid: %d" % (number, number),
                ),
                (f"fast/migfra/n{number}/result", b"result: vm started\nlist: []\nid: %d" % number),
                (f"fast/pscom/v{number}/any_proc/request", b"suspend"),
                (f"fast/agent/n{number}/status", b"hostname: a"),
                ("fast/agent/a/mmbwmon/request", b"cores: [%d]" % number),
            ):
                conversation.feed(topic, payload, 0.0)
    return peak.bytes


@pytest.mark.slow
def test_a_conversation_without_end_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is never answered, the oldest is forgotten."""
    monkeypatch.setattr(state, "LARGEST", 20)
    assert peak_of(600) < 1.3 * peak_of(200)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_said_in_whatever_order_is_judged(seed: int) -> None:
    """Recordings, shuffled, doubled and cut, with times that run back."""
    chance = random.Random(seed)
    messages = [message for path in recordings() for message in read(path)]
    for _ in range(5):
        said = chance.choices(messages, k=200)
        for violation in check([message._replace(time=chance.choice((0.0, 1e9, message.time))) for message in said]):
            assert violation.rule in CATALOGUE.rules
            assert 0 <= violation.message < len(said)


@pytest.mark.parametrize("late", [11, 13, 40, 100])
def test_how_long_an_answer_is_overdue_is_said(late: int) -> None:
    found = [each for each in judged([pscom(0, "suspend"), answer(late)]) if "is overdue for" in each.text]
    assert [each.text.rpartition(" is overdue for ")[2] for each in found] == [f"{late - 10} s"]
