"""The migration framework to test with, against what the real one was recorded to answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from support import DATA, SHARED

from batprotocol.fast import Settings, encode
from batprotocol.fast.recording import read_line
from batprotocol.fast.runtime.hypervisor import (
    DEEDS,
    Hypervisors,
    Luck,
    MigrationFramework,
    TaskRefusal,
    VirtualMachine,
)
from batprotocol.fast.values import FastMessage, Result

WITHOUT_ENGINE = True
RECORDINGS = SHARED / "fast" / "recordings" if (SHARED / "fast").is_dir() else DATA / "fast" / "recordings"
AT_ONCE = dict.fromkeys(DEEDS, (0.0, 0.0))


class Anything(Hypervisors):
    """The hypervisor that was recorded: it does whatever it is asked for, and has no machines."""

    def _nothing(self, *arguments: Any, **options: Any) -> None:
        return None

    start = stop = suspend = resume = repin = migrate = check_migration = _nothing


class Never(Hypervisors):
    """The other one that was recorded: it does nothing at all."""

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise TaskRefusal("Dummy_hypervisor is set to throw always if called.")

    start = stop = suspend = resume = repin = migrate = check_migration = spread = _refuse


class Hooks:
    """Processes that have all answered, or none."""

    def __init__(self, answers: bool = True) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, int]] = []

    def count(self, machine: str) -> int:
        return 3

    async def ask(self, machine: str, what: str, processes: int) -> bool:
        self.asked.append((machine, what, processes))
        return self.answers


def play(
    payloads: list[bytes],
    hypervisors: Hypervisors,
    settings: Settings | None = None,
    hooks: Hooks | None = None,
    in_turn: bool = True,
) -> list[FastMessage]:
    """What the framework of node-a answers to these payloads: one after the other, or all at once, and `quit` then."""
    said: list[FastMessage] = []

    async def run() -> None:
        def start(work: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
            return asyncio.get_running_loop().create_task(work)

        luck = Luck(settings or Settings(times=AT_ONCE), "node-a")
        publish: Callable[[FastMessage], None] = said.append
        framework = MigrationFramework("node-a", hypervisors, luck, hooks or Hooks(), publish, start, lambda: None)
        serving = start(framework.serve())
        for payload in payloads:
            before = len(said)
            framework.take(payload)
            until = asyncio.get_running_loop().time() + 5
            while in_turn and len(said) == before and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0)
        if not serving.done():
            framework.take(b"task: quit")
        await serving

    asyncio.run(run())
    return said


def conversation(path: Path, node: str) -> tuple[list[bytes], list[bytes]]:
    messages = [read_line(line) for line in path.read_bytes().splitlines()]
    tasks = [each.payload for each in messages if each.topic == f"fast/migfra/{node}/task"]
    return tasks, [each.payload for each in messages if each.topic == f"fast/migfra/{node}/result"]


def without_what_differs(payload: bytes) -> bytes:
    """A result without how long things took, and without yaml-cpp's words for what is wrong."""
    payload = re.sub(rb"(overall: )\S+", rb"\1", payload)
    return re.sub(rb'("?Exception while parsing message: ).*', rb"\1", payload)


@pytest.mark.parametrize(
    ("name", "node", "hypervisors"),
    [
        ("migfra_dummy_ok", "node-a", Anything),
        ("migfra_dummy_ok", "node-b", Anything),
        ("migfra_dummy_throws", "node-a", Never),
    ],
)
def test_it_answers_byte_for_byte_what_was_recorded(name: str, node: str, hypervisors: type[Hypervisors]) -> None:
    tasks, results = conversation(RECORDINGS / f"{name}.jsonl", node)
    said = play(tasks, hypervisors(["node-a"]))
    assert len(said) == len(results) > 1
    assert [without_what_differs(encode(each)) for each in said] == list(map(without_what_differs, results))


def results_of(payloads: list[str], **options: Any) -> list[Result]:
    found = play([payload.encode() for payload in payloads], **options)
    assert all(isinstance(each, Result) for each in found)
    return found  # type: ignore[return-value]  # which was just seen


def cluster(*machines: str) -> Hypervisors:
    hypervisors = Hypervisors(["node-a", "node-b"])
    for name in machines:
        hypervisors.start("node-a", VirtualMachine(name))
    return hypervisors


def told(result: Result) -> list[tuple[str, str]]:
    return [(entry.vm_name, entry.details or entry.status) for entry in result.list]


def test_a_task_that_is_delivered_again_is_done_once() -> None:
    start = "{task: start vm, id: x, vm-configurations: [{vm-name: vm1}]}"
    other = "{task: start vm, id: x, vm-configurations: [{vm-name: vm2}]}"  # another task that was given the same id
    hypervisors = cluster()
    found = results_of([start, start, other, start], hypervisors=hypervisors, in_turn=False)
    assert [each.is_success for each in found] == [True, True, True]
    assert hypervisors.names("node-a") == ("vm1", "vm2")


def test_tasks_without_an_id_are_done_each_time() -> None:
    start = "{task: start vm, vm-configurations: [{vm-name: vm1}]}"
    first, second, _ = results_of([start, start], hypervisors=cluster())
    assert first.is_success
    assert told(second) == [("vm1", "Requested operation is not valid: domain 'vm1' is already running")]


def test_results_overtake_each_other_unless_told_otherwise() -> None:
    slow = Settings(times={**AT_ONCE, "start": (0.1, 0.1)})
    start = "{task: start vm, id: slow, %s vm-configurations: [{vm-name: vm1}]}"
    suspend = "{task: suspend vm, id: fast, list: [{vm-name: vm0}]}"
    options: dict[str, Any] = {"settings": slow, "in_turn": False}
    beside = results_of([start % "", suspend], hypervisors=cluster("vm0"), **options)
    assert [each.id for each in beside] == [None, "fast", "slow"]  # quit answers at once, then waits for the others
    turn = results_of([start % "concurrent-execution: false,", suspend], hypervisors=cluster("vm0"), **options)
    assert [each.id for each in turn] == ["slow", None, "fast"]


@pytest.mark.slow
@pytest.mark.parametrize("beside", [True, False])
def test_entries_run_beside_each_other_unless_told_otherwise(beside: bool) -> None:
    slow = Settings(times={**AT_ONCE, "start": (0.05, 0.05)})
    flag = str(beside).lower()
    entries = [f"{{vm-name: vm{n}, time-measurement: true, concurrent-execution: {flag}}}" for n in range(20)]
    began = time.monotonic()
    result, _ = results_of(
        [f"{{task: start vm, vm-configurations: [{', '.join(entries)}]}}"], hypervisors=cluster(), settings=slow
    )
    took = time.monotonic() - began
    assert [entry.vm_name for entry in result.list] == [f"vm{n}" for n in range(20)]
    times = [float((entry.time_measurement or {})["overall"]) for entry in result.list]
    assert min(times) >= 0.05
    assert (sum(times) > took) == beside


def test_stopping_by_expression() -> None:
    hypervisors = cluster("vm1", "vm2", "other")
    stop = "{task: stop vm, list: [{regex: 'vm.*', force: true}, {regex: '('}, {vm-name: gone}]}"
    result, _ = results_of([stop], hypervisors=hypervisors)
    assert told(result) == [
        ("vm.*", "success"),
        ("(", "regex_error: '(' cannot be read as a regular expression"),
        ("gone", "Domain not found: no domain with matching name 'gone'"),
    ]
    assert hypervisors.names("node-a") == ("other",)


def test_starting_needs_what_it_needs() -> None:
    start = (
        "{task: start vm, vm-configurations: [{vm-name: a, transient: true}, {xml: '<name>b</name>', transient: true}, "
        "{vm-name: c, vcpus: 2, vcpu-map: [[0]]}, {}]}"
    )
    hypervisors = cluster()
    result, _ = results_of([start], hypervisors=hypervisors)
    assert [words for _, words in told(result)] == [
        "A transient domain needs its xml.",
        "success",
        "invalid argument: 1 entries in the vcpu-map for 2 vcpus",
        "Domain not found: no domain with matching name ''",
    ]
    assert hypervisors.names("node-a") == ("b",)


def test_evacuating() -> None:
    hypervisors = cluster("vm1", "vm2")
    result, again, _ = results_of(["{task: evacuate node, destinations: [node-b]}"] * 2, hypervisors=hypervisors)
    assert (result.result, told(result)) == ("node evacuated", [("vm1", "success"), ("vm2", "success")])
    assert told(again) == []
    assert hypervisors.names("node-b") == ("vm1", "vm2")


def test_evacuating_without_a_place_to_go() -> None:
    result, _ = results_of(["{task: evacuate node, destinations: [node-a, gone]}"], hypervisors=cluster("vm1"))
    assert told(result) == [("vm1", "no destination has enough free cores for 'vm1'")]


MIGRATE = "{task: migrate vm, vm-name: vm1, destination: node-b, parameter: {pscom-hook-procs: %s, swap-with: %s}}"


@pytest.mark.parametrize(("count", "processes"), [("2", 2), ("auto", 3), ("' 4 of them'", 4)])
def test_connections_are_closed_before_a_migration_and_opened_after_it(count: str, processes: int) -> None:
    hypervisors, hooks = cluster("vm1"), Hooks()
    hypervisors.start("node-b", VirtualMachine("vm2"))
    task = MIGRATE % (count, "{vm-name: vm2, pscom-hook-procs: 1}")
    result, _ = results_of([task], hypervisors=hypervisors, hooks=hooks)
    assert told(result) == [("vm1", "success")]
    assert hooks.asked == [
        ("vm1", "suspend", processes),
        ("vm2", "suspend", 1),
        ("vm1", "resume", processes),
        ("vm2", "resume", 1),
    ]
    assert (hypervisors.names("node-a"), hypervisors.names("node-b")) == (("vm2",), ("vm1",))


@pytest.mark.parametrize(
    ("count", "answers", "details"),
    [
        ("many", True, "pscom-hook-procs is malformed: stoul"),
        ("-1", True, "pscom-hook-procs is malformed: stoul"),
        ("2", False, "Timeout while waiting for message."),
    ],
)
def test_connections_that_are_not_closed_keep_a_machine_where_it_is(count: str, answers: bool, details: str) -> None:
    hypervisors = cluster("vm1")
    parameter = f"{{pscom-hook-procs: '{count}'}}"
    task = f"{{task: migrate vm, vm-name: vm1, destination: node-b, parameter: {parameter}}}"
    result, _ = results_of([task], hypervisors=hypervisors, hooks=Hooks(answers))
    assert told(result) == [("vm1", details)]
    assert hypervisors.names("node-a") == ("vm1",)


def test_failures_that_were_asked_for_change_nothing() -> None:
    hypervisors = cluster("vm1")
    unlucky = Settings(times=AT_ONCE, fail=dict.fromkeys(DEEDS, 1.0))
    tasks = [
        "{task: stop vm, list: [{vm-name: vm1}]}",
        "{task: suspend vm, list: [{vm-name: vm1}]}",
        "{task: migrate vm, vm-name: vm1, destination: node-b}",
        "{task: repin vm, vm-name: vm1, vcpu-map: [[0]]}",
    ]
    found = results_of(tasks, hypervisors=hypervisors, settings=unlucky)
    assert [each.is_success for each in found] == [False] * 4 + [True]
    assert hypervisors.machines("node-a") == {"vm1": VirtualMachine("vm1")}


def test_silence_is_a_deed_without_an_answer() -> None:
    hypervisors = cluster("vm1")
    silent = Settings(times=AT_ONCE, silent={"stop": 1.0})
    stop = "{task: stop vm, list: [{vm-name: vm1}]}"
    (quit,) = results_of([stop], hypervisors=hypervisors, settings=silent, in_turn=False)
    assert quit.result == "quit"
    assert hypervisors.names("node-a") == ()


@pytest.mark.parametrize(
    ("says", "vcpus"),
    [("", 1), ("vcpus: 3", 3), ("vcpu-map: [[0], [1]]", 2), ("vcpus: 2, vcpu-map: [[0], [1]]", 2), ("vcpus: 0", 1)],
)
def test_a_machine_has_as_many_virtual_cpus_as_are_named(says: str, vcpus: int) -> None:
    hypervisors = Hypervisors(["node-a"])
    task = f"{{task: start vm, vm-configurations: [{{vm-name: vm1, {says}}}]}}"
    [result, _] = results_of([task], hypervisors=hypervisors)
    assert result.is_success, result
    assert hypervisors.machines("node-a")["vm1"].vcpus == vcpus
