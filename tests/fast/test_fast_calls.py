"""Which answer belongs to which task: every call is settled once, by its own answer, its time-out or the end."""

from __future__ import annotations

import asyncio
from concurrent.futures import wait
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from batprotocol import PeerGone, PeerSilent, ProtocolError
from batprotocol.errors import TaskFailed
from batprotocol.fast.runtime import cluster as room
from batprotocol.fast.runtime.cluster import Call, Ledger
from batprotocol.fast.values import (
    ERROR,
    UNKNOWN,
    VM,
    FastMessage,
    MmbwmonRequest,
    MmbwmonResponse,
    MmbwmonStop,
    MmbwmonStopAck,
    Result,
    StopVM,
    SuspendVM,
    VMResult,
)

WITHOUT_ENGINE = True
HOSTS = st.sampled_from(["a", "b"])


def task(id: str, *names: str) -> SuspendVM:
    return SuspendVM([VM(vm_name=name) for name in names or ("vm",)], id=id)


def answer(id: str | None, status: str = "success", word: str = "vm suspended") -> Result:
    return Result(word, [VMResult("vm", status, "why" if status == ERROR else None)], id=id)


def call_of(message: FastMessage, host: str = "a", deadline: float = 10.0) -> Call[Any]:
    return Call(host, message, 10.0, deadline)


class Ledgers(RuleBasedStateMachine):
    """Tasks of all kinds in any order, whose answers come, come twice, come late, or never."""

    calls: Bundle[Call[Any]] = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.now = 0.0
        self.number = 0
        self.waiting: list[Call[Any]] = []
        self.heard: set[tuple[str, str]] = set()

    def added(self, host: str, message: FastMessage, patience: float) -> Call[Any]:
        call: Call[Any] = Call(host, message, patience, self.now + patience)
        self.ledger.add(call)
        self.waiting.append(call)
        return call

    @rule(target=calls, host=HOSTS, patience=st.floats(0.1, 10))
    def add_task(self, host: str, patience: float) -> Call[Any]:
        self.number += 1
        return self.added(host, task(str(self.number)), patience)

    @rule(target=calls, host=HOSTS, patience=st.floats(0.1, 10), cores=st.sampled_from([(0,), (1, 2)]))
    def add_measurement(self, host: str, patience: float, cores: tuple[int, ...]) -> Call[Any]:
        return self.added(host, MmbwmonRequest(cores), patience)

    @rule(call=calls, status=st.sampled_from(["success", ERROR]))
    def answer_task(self, call: Call[Any], status: str) -> None:
        if isinstance(call.task, MmbwmonRequest):
            self.answer_measurement(call)
            return
        message = answer(call.task.id, status)
        waits = call in self.waiting
        is_news, settled = self.ledger.take(call.host, message)
        assert is_news == ((call.host, call.task.id) not in self.heard)
        self.heard.add((call.host, call.task.id))
        assert (settled is call) == waits
        if waits:
            self.waiting.remove(call)
            assert (call.exception() is None) == (status == "success")

    def answer_measurement(self, call: Call[Any]) -> None:
        alike = [each for each in self.waiting if (each.host, each.task) == (call.host, call.task)]
        message = MmbwmonResponse(call.task.cores, 0.5)
        assert self.ledger.take(call.host, message) == (True, alike[0] if alike else None)
        if alike:
            assert alike[0].result() == message
            self.waiting.remove(alike[0])

    @rule(seconds=st.floats(0.1, 10))
    def let_time_pass(self, seconds: float) -> None:
        self.now += seconds
        late = [call for call in self.waiting if call.deadline <= self.now]
        assert set(self.ledger.expire(self.now)) == set(late)
        for call in late:
            self.waiting.remove(call)
            assert isinstance(call.exception(0), PeerSilent)

    @invariant()
    def waiting_calls_are_known(self) -> None:
        assert len(self.ledger) == len(self.waiting)
        assert not any(call.done() for call in self.waiting)
        deadline = self.ledger.next_deadline()
        assert not self.waiting or (deadline is not None and deadline <= min(call.deadline for call in self.waiting))

    def teardown(self) -> None:
        self.ledger.close(PeerGone("closed"))
        for call in self.waiting:
            assert isinstance(call.exception(0), PeerGone)
        assert len(self.ledger) == 0


def test_each_call_is_settled_once() -> None:
    run_state_machine_as_test(Ledgers, settings=settings(max_examples=60, stateful_step_count=30))


def test_a_failure_names_node_task_and_machine() -> None:
    ledger, call = Ledger(), call_of(task("7", "vm1", "vm2", "vm3"))
    ledger.add(call)
    entries = [VMResult("vm1"), VMResult("vm2", ERROR, "no such machine"), VMResult("vm3", ERROR)]
    result = Result("vm suspended", entries, id="7")
    ledger.take("a", result)
    with pytest.raises(TaskFailed, match=r"^a: suspend vm 7: vm2: no such machine, and 1 more$") as caught:
        call.result()
    assert (caught.value.host, caught.value.task, caught.value.result) == ("a", call.task, result)


def test_another_kind_of_result_is_a_failure() -> None:
    ledger, call = Ledger(), call_of(task("7"))
    ledger.add(call)
    ledger.take("a", answer("7", word="vm stopped"))
    with pytest.raises(TaskFailed, match="expected the result 'vm suspended', got 'vm stopped'"):
        call.result()


def test_a_time_out_tells_what_the_node_has_complained_about() -> None:
    ledger, call = Ledger(), call_of(task("7"))
    ledger.add(call)
    complaint = "Exception: Unknown type of Task while loading."
    assert ledger.take("a", Result(UNKNOWN, [VMResult(UNKNOWN, ERROR, complaint)])) == (True, None)
    assert ledger.expire(9.9) == []
    assert ledger.expire(10.0) == [call]
    with pytest.raises(PeerSilent, match=f"^a: suspend vm 7: no answer within 10 seconds; .*: {complaint}$"):
        call.result()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([], ""),
        ([(False, -5.0), (True, -1.0)], ""),
        ([(False, -5.0), (True, 2.0)], "; the broker was away for 2 of them, and the task or its result may be lost"),
        (
            [(False, 1.0), (True, 2.0), (False, 8.5), (False, 9.0), (True, 9.5), (True, 9.6)],
            "; the broker was away for 2 of them, and the task or its result may be lost",
        ),
        ([(False, 1.0), (True, 2.0), (False, 7.5)], "; the broker is away, since 3 seconds"),
    ],
)
def test_a_time_out_tells_that_the_broker_was_away(changes: list[tuple[bool, float]], said: str) -> None:
    ledger, call = Ledger(), call_of(task("7"))
    ledger.add(call)
    for is_there, now in changes:
        ledger.connected(is_there, now)
    assert ledger.expire(10.5) == [call]
    assert str(call.exception(0)) == f"a: suspend vm 7: no answer within 10 seconds{said}"


def test_answers_of_others_settle_nothing() -> None:
    ledger, call = Ledger(), call_of(task("7"))
    ledger.add(call)
    for host, message in [("b", answer("7")), ("a", answer("8")), ("a", answer(None)), ("a", MmbwmonStopAck())]:
        assert ledger.take(host, message) == (True, None)
    assert not call.done()


def test_acknowledgements_settle_calls_in_their_order() -> None:
    ledger, calls = Ledger(), [call_of(MmbwmonStop("one")), call_of(MmbwmonStop("two"))]
    for call in calls:
        ledger.add(call)
    assert ledger.take("a", MmbwmonStopAck()) == (True, calls[0])
    assert [call.done() for call in calls] == [True, False]


def test_an_id_that_waits_cannot_be_used_again() -> None:
    ledger = Ledger()
    ledger.add(call_of(task("7")))
    with pytest.raises(ProtocolError, match="a task with the id '7' is waiting for its result from a"):
        ledger.add(call_of(StopVM([], id="7")))
    ledger.add(call_of(task("7"), "b"))
    ledger.take("a", answer("7"))
    assert len(ledger) == 1


def test_what_could_not_be_sent_is_forgotten() -> None:
    ledger, call = Ledger(), call_of(task("7"))
    ledger.add(call)
    ledger.drop(call)
    assert len(ledger) == 0
    assert ledger.expire(100.0) == []


def test_memory_does_not_grow_with_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "REMEMBERED", 100)
    ledger = Ledger()
    for number in range(5000):
        ledger.add(call_of(task(str(number))))
        ledger.take("a", answer(str(number)))
        ledger.take(f"host{number}", Result(UNKNOWN, [VMResult(UNKNOWN, ERROR, "why")]))
    assert len(ledger._answered) == len(ledger._complaints) == 100
    assert len(ledger._deadlines) <= 1001
    assert not ledger._waiting


def test_a_call_is_a_future_that_can_be_awaited() -> None:
    async def both(call: Call[Any]) -> list[Any]:
        asyncio.get_running_loop().call_later(0.01, call.set_result, 7)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call, 0.001)  # who waits no longer does not end it for others
        return [await call, await call, *await asyncio.gather(call, call)]

    call: Call[Any] = call_of(task("7"))
    assert repr(call) == "<Call a: suspend vm 7, waiting>"
    assert asyncio.run(both(call)) == [7] * 4
    assert wait([call], 0).done == {call}
    assert repr(call) == "<Call a: suspend vm 7, done>"
