"""What runs beside the migration framework of a node to test with: processes, applications, agent and mmbwmon."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from zlib import crc32

import pytest

from batprotocol.fast import Settings
from batprotocol.fast import values as v
from batprotocol.fast.runtime import nodes as room
from batprotocol.fast.runtime.hypervisor import DEEDS, Hypervisors, Luck, VirtualMachine
from batprotocol.fast.runtime.nodes import Agent, Applications, PscomProcesses
from batprotocol.fast.values import ALLOWED, ANY_PROCESS, COMPLETED, PscomRequest, PscomResponse

WITHOUT_ENGINE = True
AT_ONCE = dict.fromkeys(DEEDS, (0.0, 0.0))


class Node:
    """A host `a` with the machine `vm1`, and what is said by what runs there."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**{"times": AT_ONCE, **settings})
        self.hypervisors = Hypervisors(["a", "b"])
        self.hypervisors.start("a", VirtualMachine("vm1"))
        self.luck = Luck(self.settings, "a")
        self.said: list[Any] = []
        self.running: list[asyncio.Task[Any]] = []

    def start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        self.running.append(asyncio.ensure_future(coroutine))
        return self.running[-1]

    def processes(self) -> PscomProcesses:
        return PscomProcesses(
            self.hypervisors, self.settings, self.luck, lambda *said: self.said.append(said), self.start
        )

    def applications(self) -> Applications:
        return Applications(self.hypervisors, self.settings, lambda *said: self.said.append(said), self.start)

    def agent(self) -> Agent:
        return Agent("a", self.hypervisors, self.settings, self.luck, self.said.append, self.start)

    async def heard(self, number: int) -> list[Any]:
        """What was said, once it is so much."""
        while len(self.said) < number:
            await asyncio.sleep(0.001)
        return self.said

    def end(self) -> None:
        for task in self.running:
            task.cancel()


def play(node: Node, story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            await asyncio.wait_for(story(), 20)
        finally:
            node.end()

    asyncio.run(whole())


# Processes of MPI


def test_the_numbers_of_processes_are_told_by_their_machine() -> None:
    processes = Node(pscom_procs=3).processes()
    first = 2000 + crc32(b"vm1") % 8000
    assert processes.numbers("vm1") == (first, first + 1, first + 2)
    assert processes.count("vm1") == processes.count("vm2") == 3
    assert len({processes.numbers(f"vm{number}") for number in range(50)}) > 40
    assert all(2000 <= processes.numbers(f"vm{number}")[0] < 10_000 for number in range(500))


@pytest.mark.parametrize(("request_", "state"), [(v.SUSPEND, ALLOWED), (v.RESUME, COMPLETED)])
@pytest.mark.parametrize("who", ["all", "first", "last"])
def test_those_answer_who_are_asked(request_: str, state: str, who: str) -> None:
    node = Node(pscom_procs=3)
    processes = node.processes()
    numbers = processes.numbers("vm1")
    asked = {"all": numbers, "first": numbers[:1], "last": numbers[-1:]}[who]

    async def story() -> None:
        processes.take_request("vm1", ANY_PROCESS if who == "all" else str(asked[0]), PscomRequest(request_))
        assert len(node.running) == len(asked)
        await asyncio.gather(*node.running)

    play(node, story)
    assert sorted(node.said, key=lambda said: said[2]) == [
        ("vm1", PscomResponse(state, number), number) for number in asked
    ]


@pytest.mark.parametrize(
    ("machine", "process", "request_"),
    [
        ("vm1", "1", v.SUSPEND),
        ("vm1", "", v.SUSPEND),
        ("vm2", ANY_PROCESS, v.SUSPEND),  # no machine of ours
        ("vm1", ANY_PROCESS, "abort"),
        ("vm2", ANY_PROCESS, "abort"),
    ],
)
def test_nobody_else_answers(machine: str, process: str, request_: str) -> None:
    node = Node()

    async def story() -> None:
        node.processes().take_request(machine, process, PscomRequest(request_))

    play(node, story)
    assert node.running == []


@pytest.mark.parametrize("luck", [{"fail": {"pscom": 1.0}}, {"silent": {"pscom": 1.0}}])
def test_processes_without_luck_do_not_answer(luck: dict[str, Any]) -> None:
    node = Node(**luck)

    async def story() -> None:
        node.processes().take_request("vm1", ANY_PROCESS, PscomRequest(v.SUSPEND))
        await asyncio.gather(*node.running)

    play(node, story)
    assert (len(node.running), node.said) == (2, [])


def test_a_framework_waits_for_as_many_answers_as_it_expects() -> None:
    node = Node()
    processes = node.processes()

    async def story() -> None:
        asked = node.start(processes.ask("vm1", v.SUSPEND, 2))  # type: ignore[arg-type]
        assert await node.heard(1) == [("vm1", PscomRequest(v.SUSPEND), ANY_PROCESS)]
        processes.take_response("vm2")
        processes.take_response("vm1")
        await asyncio.sleep(0.01)
        assert not asked.done()
        processes.take_response("vm1")
        assert await asked is True
        processes.take_response("vm1")  # nobody waits for it any more
        assert await processes.ask("vm1", v.RESUME, 0) is True

    play(node, story)


def test_a_framework_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node()
    processes = node.processes()
    assert room.PATIENCE == 10.0
    monkeypatch.setattr(room, "PATIENCE", 0.05)

    async def story() -> None:
        asked = node.start(processes.ask("vm1", v.SUSPEND, 2))  # type: ignore[arg-type]
        await node.heard(1)
        processes.take_response("vm1")
        assert await asked is False
        processes.take_response("vm1")  # too late, and not for the next one
        again = node.start(processes.ask("vm1", v.SUSPEND, 1))  # type: ignore[arg-type]
        assert await again is False

    play(node, story)


# Applications


def test_applications_report_while_their_machines_run() -> None:
    node = Node(applications=True, report_time=0.25, bandwidth={"vm*": 0.125})
    applications = node.applications()

    async def story() -> None:
        applications.look()
        applications.look()
        assert len(node.running) == 1
        status, *reports = await node.heard(3)
        assert status == ("vm1", v.ApplicationStatus("vm1", True, ["progress", "memory bandwidth"]), None)
        assert reports == [
            ("vm1", v.ApplicationKPIs("vm1", {"progress": progress, "memory bandwidth": "0.125"}), None)
            for progress in ("0.25", "0.5")
        ]
        node.hypervisors.start("b", VirtualMachine("vm2"))
        node.hypervisors.stop("a", "vm1")
        applications.look()
        await asyncio.sleep(0)
        assert [task.cancelled() for task in node.running] == [True, False]
        assert (await node.heard(4))[3][:1] == ("vm2",)
        node.hypervisors.start("a", VirtualMachine("vm1"))
        applications.look()
        assert len(node.running) == 3

    play(node, story)


def test_applications_that_nobody_wants_are_silent() -> None:
    node = Node()

    async def story() -> None:
        node.applications().look()

    play(node, story)
    assert node.running == []


# The agent, and mmbwmon


def test_an_agent_begins_with_its_name() -> None:
    node = Node()
    node.agent().begin()
    assert node.said == [v.Init("a")]


@pytest.mark.parametrize(("repeat", "word"), [(0, "denied"), (1, "accepted")])
def test_a_configuration_is_accepted_or_denied(repeat: int, word: str) -> None:
    node = Node()

    async def story() -> None:
        node.agent().take(v.InitAgent(v.KPIConfiguration({}, repeat)))

    play(node, story)
    assert node.said == [v.Configuration("a", word)]
    assert len(node.running) == repeat


BANDWIDTH, MACHINES = "Node memory bandwidth", "Node virtual machines"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("categories", "kpis"),
    [
        ({}, {BANDWIDTH: "0.75", MACHINES: "1"}),
        ({MACHINES: "x"}, {MACHINES: "1"}),
        ({BANDWIDTH: "x", "energy consumption": "y"}, {BANDWIDTH: "0.75", "energy consumption": "0"}),
    ],
)
def test_an_agent_reports_what_it_was_asked_for(categories: dict[str, str], kpis: dict[str, str]) -> None:
    node = Node(bandwidth={"vm1": 0.25})

    async def story() -> None:
        agent = node.agent()
        agent.take(v.InitAgent(v.KPIConfiguration(categories, 1)))
        assert await node.heard(2) == [v.Configuration("a", "accepted"), v.KPI("a", kpis)]

    play(node, story)


def test_an_agent_reports_until_it_is_told_otherwise() -> None:
    node = Node()

    async def story() -> None:
        agent = node.agent()
        agent.end()
        for _ in range(2):
            agent.take(v.InitAgent(v.KPIConfiguration({}, 1)))
        await asyncio.sleep(0)
        assert [task.cancelled() for task in node.running] == [True, False]
        agent.take(v.StopMonitoring(v.JobDescription("1", 2)))
        await asyncio.sleep(0)
        assert node.running[1].cancelled()
        agent.end()
        agent.take(v.InitAgent(v.KPIConfiguration({}, 1)))
        agent.take(v.InitAgent(v.KPIConfiguration({}, 0)))
        await asyncio.sleep(0)
        assert [task.cancelled() for task in node.running] == [True] * 3

    play(node, story)


@pytest.mark.parametrize(
    ("shares", "suspended", "left"),
    [
        ({}, (), 1.0),
        ({"x": 0.25}, (), 0.75),
        ({"x": 0.25, "y": 0.125}, (), 0.625),
        ({"x": 0.25, "y": 0.125}, ("x",), 0.875),
        ({"x": 0.25, "y": 0.125}, ("x", "y"), 1.0),
        ({"x": 0.12345678}, (), 0.8765),
        ({"x": 0.6, "y": 0.07}, (), 0.33),
        ({"x": 0.6, "y": 0.05}, (), 0.35),
        ({"x": 1.0, "y": 1.0}, (), 0.33),
    ],
)
def test_machines_leave_some_bandwidth(shares: dict[str, float], suspended: tuple[str, ...], left: float) -> None:
    node = Node(bandwidth=shares)
    node.hypervisors.migrate("a", "vm1", "b")  # what others use does not count
    for name in shares:
        node.hypervisors.start("a", VirtualMachine(name))
    for name in suspended:
        node.hypervisors.suspend("a", name)
    agent = node.agent()
    assert agent.available_bandwidth == left

    async def story() -> None:
        agent.take(v.MmbwmonRequest([3, 1]))
        await asyncio.gather(*node.running)

    play(node, story)
    assert node.said == [v.MmbwmonResponse([3, 1], left)]


@pytest.mark.parametrize("luck", [{"fail": {"mmbwmon": 1.0}}, {"silent": {"mmbwmon": 1.0}}])
def test_mmbwmon_without_luck_does_not_answer(luck: dict[str, Any]) -> None:
    node = Node(**luck)

    async def story() -> None:
        node.agent().take(v.MmbwmonRequest([1]))
        await asyncio.gather(*node.running)

    play(node, story)
    assert (len(node.running), node.said) == (1, [])


@pytest.mark.parametrize(
    ("told", "answer"),
    [(v.MmbwmonStop("c"), v.MmbwmonStopAck()), (v.MmbwmonRestart("c"), v.MmbwmonRestartAck())],
)
def test_mmbwmon_acknowledges(told: v.FastMessage, answer: v.FastMessage) -> None:
    node = Node()
    node.agent().take(told)
    assert node.said == [answer]
