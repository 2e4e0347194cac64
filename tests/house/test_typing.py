"""What type checkers make of the library: of the examples, of what `batproto new` writes, of values' constructors."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import typing
from functools import cache
from pathlib import Path

import pytest
from support import ROOT

from batprotocol import model
from batprotocol.model import Doubles, Value

pytestmark = pytest.mark.slow

WITHOUT_ENGINE = True

USER = """\
from procset import ProcSet
from typing_extensions import assert_never, assert_type

from batprotocol import *
from batprotocol import Event
from batprotocol.edc import Scheduler, Turn

host = Host(id=0, name="a", computation_speed=[1, 2.5], properties=[HostProperty("key", "value")])
assert_type(host.computation_speed, Doubles)
assert_type(host.properties, "tuple[HostProperty, ...] | None")
message = Message(0.0, [SimulationEndsEvent(), KillJobsEvent(job_ids={"w0!1"})])
assert_type(message.events, "tuple[Event, ...]")
for event in message.events:
    if isinstance(event, ChangeHostsPStateEvent):
        assert_type(event.host_ids, str)
        assert_type(event.hosts, ProcSet)
    match event:
        case HostsTurnedOnOffEvent(host_ids=hosts):
            assert_type(hosts, str)
        case ExecuteJobEvent(allocation=AllocationPlacement(host_allocation=allocated)):
            assert_type(allocated, str)
        case JobsKilledEvent(profiles=profiles):
            assert_type(profiles, "tuple[ProfileAndId, ...] | None")
ChangeHostsPStateEvent(host_ids=range(3), pstate=1)
AllocationPlacement(ProcSet(1, (2, 3)), CustomExecutorToHostMapping(range(2)))
VectorialProbeData(float(number) for number in range(3))
assert_type(ParallelTaskProfile([1], None).computation_vector, "Doubles | None")
SequentialCompositionProfile(profile_ids=["w0!p"])
KillProgressForkJoinProfile("w0!p", [KillProgressAtomicProfile("w0!q", 0.5)])
pool = Hosts(number for number in range(8))
assert_type(pool.take(2), FrozenHosts)
assert_type(pool.take_these(ProcSet(3)) | "4-5", FrozenHosts)
assert_type(pool - ProcSet(1), FrozenHosts)
pool |= "9"
pool -= ProcSet(4)
assert_type(pool, Hosts)
MessageBuilder().add_execute_job("w0!1", pool.take(1))
pool.give_back(1.5)  # wrong: arg-type
free = ProcSet(1, 2)
free -= ProcSet(1)
assert_type(free[:2], list[int])
Host(id=0, name="a", computation_speed=["fast"])  # wrong: list-item
KillJobsEvent(job_ids=[1])  # wrong: list-item
AllocationPlacement(1.5)  # wrong: arg-type
HostResources(None)  # wrong: arg-type
Message(0.0, [], "binary")  # wrong: call-arg
message.events = ()  # wrong: misc


class Mine(Scheduler):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        assert_type(self.conversation.usage.overlap(0, 4).pop().begin, "Any")  # wrong: name-defined


def wrong_in(scheduler: Scheduler) -> None:
    scheduler.reply.add_execute_job("w0!1", 1.5)  # wrong: arg-type


def on_turn(turn: Turn) -> None:
    assert_type(turn.events, tuple[EventFromBatsim, ...])


def forgetful(event: EventFromEDC) -> None:
    match event:
@EVENTS@
            pass
        case _:
            assert_never(event)  # wrong: arg-type
"""
_OTHERS = " | ".join(f"{each.__name__}()" for each in model.EDC_TO_BATSIM if each is not model.RejectJobEvent)
USER = USER.replace("@EVENTS@", f"        case {_OTHERS}:")
"""What a user writes, right and wrong. The last function forgets one event."""


def mypy(folder: Path, *files: Path) -> list[str]:
    """What `mypy --strict` has to say about these files, as it would say it about a user's."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--cache-dir", str(folder / "cache"), "--no-error-summary", *map(str, files)],
        cwd=folder,
        env={
            **os.environ,
            "MYPYPATH": os.pathsep.join(map(str, (ROOT, ROOT / "batprotocol" / "stubs", ROOT / "examples", folder))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_type_checkers_pass_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    """Of the examples, of what `batproto new` writes, and of a file that uses values in all ways."""
    command = [sys.executable, "-m", "batprotocol", "new", "scheduler", "Fresh"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    user = tmp_path / "user.py"
    user.write_text(USER)
    files = [user, tmp_path / "fresh.py", tmp_path / "test_fresh.py", *sorted((ROOT / "examples").glob("*.py"))]
    lines = mypy(tmp_path, *files)
    assert any('to "assert_never" has incompatible type "RejectJobEvent"' in line for line in lines)
    found = [re.fullmatch(r"(.*\.py):(\d+): error: .* \[([\w-]+)\]", line) for line in lines]
    wrong = re.compile(r"# wrong: ([\w-]+)")
    expected = [(number, match[1]) for number, line in enumerate(USER.splitlines(), 1) if (match := wrong.search(line))]
    assert len(expected) == 10
    own = str(ROOT / "batprotocol")  # what is wrong there, with these versions of others' types, no user is told
    assert [(each[1], int(each[2]), each[3]) for each in found if each and not each[1].startswith(own)] == [
        (user.name, number, code) for number, code in expected
    ]


@cache
def fields() -> list[tuple[type[Value], str, object]]:
    """Each field of each value, and what it holds."""
    classes = [each for each in vars(model).values() if isinstance(each, type) and issubclass(each, Value)]
    return [
        (each, name, hint)
        for each in classes
        for name, hint in typing.get_type_hints(each).items()
        if name in each.__struct_fields__
    ]


def declared(class_: type[Value], name: str) -> str:
    """The text of a field's declaration, where the class that declares it has it."""
    return next(str(own[name]) for own in map(inspect.get_annotations, class_.__mro__) if name in own)


@pytest.mark.parametrize(
    ("is_one", "declaration"),
    [
        (lambda name, hint: typing.get_origin(hint) is tuple, "TupleOf["),
        (
            lambda name, hint: any(typing.get_origin(each) is tuple for each in typing.get_args(hint)),
            "OptionalTupleOf[",
        ),
        (lambda name, hint: hint is Doubles, "Vector"),
        (lambda name, hint: hint == Doubles | None, "OptionalVector"),
        (lambda name, hint: name in ("host_ids", "host_allocation"), "HostString"),
    ],
)
def test_fields_that_are_converted_say_so(is_one: typing.Callable[[str, object], bool], declaration: str) -> None:
    """All of them, and no others; what the program sees are the plain types."""
    all_of_them = {(class_, name) for class_, name, hint in fields() if is_one(name, hint)}
    assert len(all_of_them) > 1
    assert all_of_them == {
        (class_, name) for class_, name, _ in fields() if declared(class_, name).startswith(declaration)
    }
