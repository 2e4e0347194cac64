"""The examples of the pages of events: what the builder's calls make, and that all shapes are of one message."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import ROOT

from batprotocol import Message, MessageBuilder, model
from batprotocol.errors import BuilderError
from batprotocol.testing.strategies import EVENT_STRATEGIES, VALUE_STRATEGIES
from batprotocol.wire import detect, frames

sys.path.append(str(ROOT / "tools"))

from handbook.events import calls, examples, python
from handbook.events.places import EVENTS

WITHOUT_ENGINE = True

NAMES: dict[str, Any] = {**vars(model), "MessageBuilder": MessageBuilder}
TAB = re.compile(r":::\{tab-item\} (\w+)\n.*?\n\n(`{3,})\w+\n(.*?)\n\2\n:::", re.DOTALL)


def made(code: str) -> Message:
    """The message that Python makes."""
    names = dict(NAMES)
    exec(code, names)
    message = names["message"]
    assert isinstance(message, Message)
    return message


def tabs(kind: type[model.Event]) -> dict[str, str]:
    text = examples.example(f"reference/events/{kind.__name__}", "")
    return {title: content for title, _, content in TAB.findall(text)}


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.__name__)
def test_all_tabs_show_one_message(kind: type[model.Event]) -> None:
    shown = tabs(kind)
    message = made(shown["Builder"])
    assert kind in map(type, message.events)
    assert eval(shown["Value"], dict(NAMES)) == message
    assert Message.from_json(shown["JSON"]) == message
    data = bytes.fromhex("".join(line[10:58] for line in shown["Bytes"].splitlines()[:-1]))
    assert (frames.decode_hello(data).message if detect(data) == "hello" else Message.from_binary(data)) == message


@pytest.mark.slow
@pytest.mark.parametrize("kind", [model.JobsKilledEvent, model.EDCHelloEvent])
def test_what_the_commands_print(kind: type[model.Event], tmp_path: Path) -> None:
    shown, text = examples.of_event(kind), tabs(kind)
    path = tmp_path / shown.name
    path.write_bytes(shown.data)
    dumped = subprocess.run(
        [sys.executable, "-m", "batprotocol", "dump", path.name],
        cwd=tmp_path, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert dumped.stdout.rstrip() == text["Dump"]


def test_hexdump_is_that_of_the_program() -> None:
    data = b"".join((bytes(40), b"batprotocol" * 3, bytes(range(256)), bytes(48)))
    assert examples.hexdump(data) == (
        "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n"
        + examples.hexdump(data).partition("*\n")[2]
    )
    lines = examples.hexdump(data).splitlines()
    assert lines[2] == "00000020  00 00 00 00 00 00 00 00  62 61 74 70 72 6f 74 6f  |........batproto|"
    assert lines[-1] == f"{len(data):08x}"
    assert examples.hexdump(b"ab") == f"00000000  61 62{' ' * 45}|ab|\n00000002"


@given(st.one_of([EVENT_STRATEGIES[kind]() for kind in EVENTS.values()]))
def test_the_call_makes_any_event_that_the_builder_takes(event: model.Event) -> None:
    builder = MessageBuilder()
    try:
        builder.add(event)
    except BuilderError:
        assume(False)
    message = builder.finish_message()
    assert made(calls.building(message)) == message


@given(st.one_of([strategy() for strategy in VALUE_STRATEGIES.values()]))
def test_python_makes_any_value(value: Any) -> None:
    assert eval(python.written(value), dict(NAMES)) == value
    assert eval(python.written(value, whole=True), dict(NAMES)) == value


@pytest.mark.parametrize(
    "name", ["DelayProfile", "SequentialCompositionProfile", "AllocationPlacement", "Periodic", "ProbeDataAccumulation"]
)
def test_values_have_examples(name: str) -> None:
    shown = {title: content for title, _, content in TAB.findall(examples.value_example(name))}
    assert type(eval(shown["Value"], dict(NAMES))).__name__ == name
    assert set(shown) == {"Value", "JSON"}
