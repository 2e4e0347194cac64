"""The native engine against the Python one, which it equals in values, bytes and errors; and memory, and threads."""

from __future__ import annotations

import gc
import importlib
import json as standard_json
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batprotocol._schema.description import TABLES
from engines import needs_native
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, recorded_messages

import batprotocol
from batprotocol import (
    AllocationPlacement,
    DecodeError,
    Doubles,
    EncodeError,
    Host,
    Message,
    MessageBuilder,
    PredefinedExecutorPlacementStrategy,
)
from batprotocol.testing.strategies import messages
from batprotocol.wire import binary, json, making

sys.path.append(str(ROOT / "tools"))

import in_place

pytestmark = needs_native

Outcome = tuple[str, object]


def outcome(engine: str, data: bytes) -> Outcome:
    """What an engine makes of these bytes: the message as the bytes it is written as, or the error."""
    try:
        message = binary.engine(engine).decode(data)
    except DecodeError as error:
        return "error", (error.reason, error.path, error.offset)
    return "message", (repr(message), binary.engine(engine).encode(message, allow_late_events=True))


@given(messages(chronological=False, allow_nan=True))
def test_both_engines_write_the_same_bytes_and_read_the_same_values(message: Message) -> None:
    data = binary.engine("native").encode(message, allow_late_events=True)
    assert data == binary.engine("python").encode(message, allow_late_events=True)
    assert outcome("native", data) == outcome("python", data)


def maker(kind: type[Any]) -> Callable[..., Any]:
    from batprotocol.wire import _native

    return _native.maker(kind)


@given(messages(chronological=False))
def test_values_made_of_their_fields_are_as_those_made_by_their_classes(message: Message) -> None:
    for event in message.events:
        kind = type(event)
        names = [field.name for field in TABLES[kind.__name__].fields if field.type.kind != "utype"]
        made = maker(kind)(*(getattr(event, name) for name in (*names, "timestamp")))
        assert (type(made), made, repr(made)) == (kind, event, repr(event))
    assert maker(Message)(message.now, message.events) == message


def test_what_is_not_made() -> None:
    assert maker(Message)(1.0, ()) == Message(1.0, ())
    for wrong in ((), (1.0,), (1.0, (), None)):
        with pytest.raises(TypeError, match="Message takes 2 fields"):
            maker(Message)(*wrong)
    with pytest.raises(TypeError, match="stands for no table"):
        maker(int)


@given(st.integers(1, 9), st.floats(0, 9))
def test_what_is_made_again_and_again(number: int, now: float) -> None:
    allocation = making.new_allocation(f"0-{number}", PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst)
    assert allocation == AllocationPlacement(f"0-{number}", PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst)
    given = (f"w0!{number}", allocation, None, None, now)
    assert making.new_execution(*given) == making._execution(*given)
    assert making.new_message(now, (making.new_execution(*given),)).events == (making._execution(*given),)


@st.composite
def vectors_of_many_sizes(draw: st.DrawFn) -> Message:
    """Messages with several vectors of doubles, short and long, alike and not, with texts of any length between."""
    sizes = st.sampled_from([0, 1, 2, 8, 9, 127, 128, 129, 600, 20_000])
    speeds = st.builds(lambda size, last: Doubles([1e9] * size + [last]), sizes, st.sampled_from([1.0, 2.0]))
    names = st.text("aé€", max_size=9)
    hosts = st.builds(lambda name, speed: Host(id=300, name=name, computation_speed=speed), names, speeds)
    computing, storing = draw(st.lists(hosts, max_size=14)), draw(st.lists(hosts, max_size=2))
    builder = MessageBuilder(1.0)
    builder.add_simulation_begins(batsim_version=draw(names), computation_hosts=computing, storage_hosts=storing)
    return builder.finish_message()


@given(st.lists(vectors_of_many_sizes(), min_size=1, max_size=3))
def test_long_vectors_come_to_the_same_place(several: list[Message]) -> None:
    """They are copied last of all; and what is written in a message's memory is nothing to the next one."""
    for message in several:
        data = binary.engine("native").encode(message)
        assert data == binary.engine("python").encode(message)
        assert binary.engine("native").decode(data) == message
        assert outcome("native", data) == outcome("python", data)


@given(messages(), st.data())
def test_both_engines_agree_on_mutated_bytes(message: Message, draw: st.DataObject) -> None:
    data = bytearray(message.to_binary())
    places = st.integers(0, len(data) - 1)
    for place, byte in draw.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4)):
        data[place] = byte
    cut = bytes(data[: draw.draw(st.integers(0, len(data)) | st.just(len(data)))])
    assert outcome("native", cut) == outcome("python", cut)


@given(messages(chronological=False, allow_nan=True))
def test_both_engines_write_the_same_json(message: Message) -> None:
    native = json.dumps(message, allow_late_events=True)
    binary.use_engine("python")
    assert native == json.dumps(message, allow_late_events=True)


@pytest.mark.slow
def test_the_usual_is_read_and_written_natively() -> None:
    """Nothing that was recorded from a real Batsim is left to the slow ways."""
    from batprotocol.wire import _native

    for recorded in recorded_messages():
        message = batprotocol.decode(recorded.data)
        assert _native.encode_json(message) is not None
        if recorded.is_json:
            assert _native.decode_json(recorded.data) == message


@given(messages(chronological=False, allow_nan=True))
def test_members_of_objects_come_in_any_order(message: Message) -> None:
    """But a union after its type. The message and the envelopes of its events are read as all other tables are."""
    usual = json.dumps(message, allow_late_events=True)
    parsed = standard_json.loads(usual)
    events = [{**event, "timestamp": event.pop("timestamp")} for event in parsed["events"]]
    other = standard_json.dumps({"events": events, "now": parsed["now"]})
    read = binary.engine("native").decode_json
    assert repr(read(other.encode())) == repr(read(usual.encode()))


def test_the_build_knows_all_files_of_the_engine() -> None:
    """A source that is not compiled is missed at once; a header that is not named leaves old objects as they are."""
    project = (ROOT / "pyproject.toml").read_text()
    files = sorted((ROOT / "batprotocol" / "wire" / "native").glob("*.[ch]"))
    assert files
    assert [path.name for path in files if f'"batprotocol/wire/native/{path.name}"' not in project] == []


@pytest.mark.parametrize(
    "number",
    [
        *("0", "-0", "0.1", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "1e400", "-1e400", "1e-400"),
        *("9007199254740993", "0.30000000000000004", "123456789012345678901234567890", "1.5e+22", "1e22", "1e23"),
        *("8.5E-5", "0.000015002008", "100000000000000000000000.0"),
    ],
)
def test_doubles_in_json_are_rounded_as_python_does(number: str) -> None:
    found = binary.engine("native").decode_json(b'{"now": %s,"events": []}' % number.encode())
    assert found is not None
    assert repr(found.now) == repr(float(number))


@given(st.floats())
def test_doubles_in_json_are_written_as_python_does(number: float) -> None:
    expected = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(number), repr(number))
    assert binary.engine("native").encode_json(Message(number)) == f'{{"now": {expected},"events": []}}'


def test_other_buffers_than_bytes() -> None:
    data = Message(1.0).to_binary()
    for buffer in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        assert binary.decode(buffer) == Message(1.0)
    with pytest.raises(DecodeError, match="bytes"):
        binary.decode("text")  # type: ignore[arg-type]  # a wrong argument is the point


def test_what_is_not_a_message_is_refused() -> None:
    with pytest.raises(EncodeError, match="Message"):
        binary.encode(42)  # type: ignore[arg-type]  # a wrong argument is the point


def _samples() -> list[bytes]:
    by_size = sorted({recorded.data for recorded in recorded_messages() if not recorded.is_json}, key=len)
    return by_size[:: max(1, len(by_size) // 25)]


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    """References and blocks do not grow with the number of messages read and written, right or wrong."""
    samples = _samples()
    wrong = [data[: len(data) // 2] for data in samples] + [data.replace(b"w0!", b"\xff\xff\xff") for data in samples]
    texts = [json.encode(binary.decode(data)) for data in samples]
    native = binary.engine("native")

    def work() -> None:
        for data in samples:
            native.encode(native.decode(data))
        for data in wrong:
            try:
                native.decode(data)
            except DecodeError:
                continue
        for text in texts:
            message = native.decode_json(text)
            assert message
            assert native.encode_json(message)
            assert native.decode_json(text[: len(text) // 2]) is None

    def state() -> tuple[int, ...]:
        gc.collect()
        shared = (None, True, False, batprotocol.TimeUnit.Second, batprotocol.Job, batprotocol.Doubles, Message)
        return (sys.getallocatedblocks(), *map(sys.getrefcount, shared))

    for _ in range(20):
        work()
    before = state()
    for _ in range(100):
        work()
    growth = [after - start for start, after in zip(before, state(), strict=True)]
    assert max(growth) < 100, growth


@pytest.mark.slow
def test_threads() -> None:
    samples = _samples()
    expected = [binary.engine("python").decode(data) for data in samples]
    faults: list[object] = []

    def work() -> None:
        for _ in range(50):
            for data, message in zip(samples, expected, strict=True):
                found = binary.decode(data)
                if found != message or binary.decode(binary.encode(found)) != message:
                    faults.append(message)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={**os.environ, "BATPROTOCOL_ENGINE": "", "PYTHONPATH": str(ROOT), **environment},
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "said"),
    [("python", "python\n"), ("native", "native\n"), ("", "native\n"), ("fast", "BATPROTOCOL_ENGINE")],
)
def test_the_environment_chooses(wanted: str, said: str) -> None:
    done = _python("from batprotocol.wire import binary; print(binary.ENGINE)", BATPROTOCOL_ENGINE=wanted)
    assert said in done.stdout + done.stderr
    assert (done.returncode == 0) == (wanted != "fast")


@pytest.mark.slow
def test_without_the_extension_the_package_works_all_the_same() -> None:
    code = (
        "import sys; sys.modules['batprotocol.wire._native'] = None\n"
        "import batprotocol; from batprotocol.wire import binary\n"
        "message = batprotocol.Message(1.0)\n"
        "assert batprotocol.decode(message.to_binary()) == message == batprotocol.decode(message.to_json().encode())\n"
        "print(binary.ENGINE, *binary.ENGINES)"
    )
    for wanted in "", "python":
        assert _python(code, BATPROTOCOL_ENGINE=wanted).stdout == "python python\n"
    assert "no native engine here" in _python(code, BATPROTOCOL_ENGINE="native").stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", [name.replace("/", ".") for name in in_place.MODULES])
def test_other_interpreters_are_refused_cleanly(name: str) -> None:
    """What is bound is one for the process, so a sub-interpreter gets ImportError, and with it what is in Python."""
    compiled = importlib.import_module(name)
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    path = str(Path(compiled.__file__ or "").resolve())
    inner = (
        "import importlib.machinery, importlib.util\n"
        f"loader = importlib.machinery.ExtensionFileLoader({name!r}, {path!r})\n"
        f"spec = importlib.util.spec_from_loader({name!r}, loader)\n"
        "try:\n    loader.exec_module(importlib.util.module_from_spec(spec))\n"
        "except ImportError as error:\n    assert 'interpreter' in str(error), error\n"
        "else:\n    raise AssertionError('it was not refused')\n"
    )
    code = f"import {module} as interpreters\nprint(interpreters.run_string(interpreters.create(), {inner!r}))"
    done = _python(code)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


def test_free_threading_is_not_claimed() -> None:
    """A free-threaded Python turns its lock on for a module that does not say that it works without."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        done = _python("import batprotocol, sys; print(sys._is_gil_enabled())")
        assert done.stdout == "True\n"
    else:
        sources = ("native.h", "simulator/native/copier.c", "wire/native/module.c")
        assert not any("Py_mod_gil" in (ROOT / "batprotocol" / source).read_text() for source in sources)
