"""Decision components elsewhere: at an endpoint, in a shared library; and what is recorded of them."""

from __future__ import annotations

import ctypes
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from support import shared_library

from batprotocol._util import sockets as requester
from batprotocol.cli.terminal import Output
from batprotocol.edc import Scheduler, run
from batprotocol.errors import DecodeError, PeerGone, PeerSilent
from batprotocol.model import DelayProfile, JobSubmittedEvent
from batprotocol.simulator import (
    Platform,
    Result,
    SimulationRecorder,
    StaticJob,
    Workload,
    components,
    connect,
    load_library,
    simulate,
)
from batprotocol.simulator.components import LARGEST, RawLibrary
from batprotocol.wire import frames
from batprotocol.wire.commands.check import check

PLATFORM = Platform.homogeneous(4)
WORKLOAD = Workload([StaticJob(str(n), float(n // 3), 1 + n % 5 // 4, DelayProfile(2.5)) for n in range(20)])


class OnHost0(Scheduler):
    """Does what the library does."""

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if event.job.resource_request == 1:
            self.reply.add_execute_job(event.job_id, "0")
        else:
            self.reply.add_reject_job(event.job_id)


def jobs(result: Result) -> list[tuple[object, ...]]:
    return [(row.job_id, row.final_state, row.starting_time, row.execution_time) for row in result.jobs]


# At an endpoint


class Served:
    """A scheduler at an endpoint of its own, in a thread."""

    def __init__(self, format: str) -> None:
        self.endpoint = ""
        bound = threading.Event()

        def ready(endpoint: str) -> None:
            self.endpoint = endpoint
            bound.set()

        def work() -> None:
            run(OnHost0(), "tcp://127.0.0.1:*", format=format, on_bound=ready)

        self.thread = threading.Thread(target=work)
        self.thread.start()
        bound.wait()


@pytest.mark.parametrize("format", ["binary", "json"])
def test_a_component_at_an_endpoint_decides_as_it_does_in_process(format: str) -> None:
    served = Served(format)
    with connect(served.endpoint) as component:
        result = simulate(PLATFORM, WORKLOAD, component)
    served.thread.join()
    assert jobs(result) == jobs(simulate(PLATFORM, WORKLOAD, OnHost0()))


@pytest.fixture
def socket() -> Iterator[zmq.Socket[bytes]]:
    """A bound REP socket."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    bound = context.socket(zmq.REP)
    bound.linger = 0
    bound.bind("tcp://127.0.0.1:*")
    yield bound
    bound.close()
    context.term()


def endpoint_of(socket: zmq.Socket[bytes]) -> str:
    return socket.getsockopt_string(zmq.LAST_ENDPOINT)


def in_thread(socket: zmq.Socket[bytes], *parts: bytes) -> threading.Thread:
    """Answer the next message with these frames."""

    def answer() -> None:
        socket.recv()
        socket.send_multipart(parts)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


@pytest.mark.parametrize("parts", [[b""], [b"\2\0\0\0{}{"], [b"\1\0\0\0"], [b"a", b"b"]])
def test_what_is_no_hello_is_refused(socket: zmq.Socket[bytes], parts: list[bytes]) -> None:
    thread = in_thread(socket, *parts)
    with connect(endpoint_of(socket)) as component, pytest.raises(DecodeError):
        component.hello("")
    thread.join()


def test_a_component_that_does_not_answer_is_told_of(socket: zmq.Socket[bytes]) -> None:
    with connect(endpoint_of(socket), timeout=0.3) as component, pytest.raises(PeerSilent, match=r"for 0\.3 seconds"):
        component.hello("")


@pytest.mark.slow
def test_a_component_that_closes_the_connection_is_told_of() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    bound = context.socket(zmq.REP)
    bound.linger = 0
    bound.bind("tcp://127.0.0.1:*")
    endpoint = endpoint_of(bound)

    def take_and_leave() -> None:
        bound.recv()
        bound.close()

    thread = threading.Thread(target=take_and_leave)
    thread.start()
    with connect(endpoint) as component, pytest.raises(PeerGone, match="closed the connection"):
        component.hello("")
    thread.join()
    context.term()


@pytest.mark.slow
def test_a_reply_that_is_too_large_is_not_read(socket: zmq.Socket[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """libzmq closes the connection when it has read its size."""
    monkeypatch.setattr(requester, "LARGEST", 2**20)
    thread = in_thread(socket, bytes(2**20 + 1))
    with connect(endpoint_of(socket)) as component, pytest.raises(PeerGone, match="with one of more than 1 MiB"):
        component.hello("")
    thread.join()
    thread = in_thread(socket, bytes(2**20))
    with connect(endpoint_of(socket)) as component, pytest.raises(DecodeError):
        component.hello("")
    thread.join()


@pytest.mark.parametrize("endpoint", ["", "nonsense", "tcp://", "http://127.0.0.1:1"])
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(OSError, match="this is not an endpoint"):
        connect(endpoint)


# In a library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of `component.c`."""
    return shared_library(tmp_path_factory.mktemp("library") / "component.so", Path(__file__).parent / "component.c")


@pytest.mark.slow
def test_a_component_in_a_library_decides_as_it_does_in_process(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPONENT_TRACE", str(tmp_path / "trace"))
    with load_library(library) as component:
        result = simulate(PLATFORM, WORKLOAD, component)
    assert jobs(result) == jobs(simulate(PLATFORM, WORKLOAD, OnHost0()))
    assert (tmp_path / "trace").read_text() == "deinit\n"


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        ("fail", PeerGone, "batsim_edc_init of .* it returned 7"),
        ("late", PeerGone, "batsim_edc_take_decisions of .* it returned 9"),
        ("junk", DecodeError, "JSON|expected"),
        ("large", DecodeError, "returned 4,294,967,295 bytes, but a message has at most 268,435,456"),
    ],
)
def test_libraries_that_fail_are_told_of(library: Path, init: str, error: type[Exception], message: str) -> None:
    with load_library(library, init) as component, pytest.raises(error, match=message):
        simulate(PLATFORM, WORKLOAD, component)


def test_a_closed_library_answers_no_more(library: Path) -> None:
    component = load_library(library)
    component.close()
    component.close()
    with pytest.raises(PeerGone, match="is closed"):
        component.hello("")


@pytest.mark.slow
def test_files_that_are_no_components_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library")
    for path in (tmp_path / "text.so", tmp_path / "nowhere.so"):
        with pytest.raises(OSError, match="cannot be loaded"):
            load_library(path)
    (tmp_path / "empty.c").touch()
    empty = shared_library(tmp_path / "empty.so", tmp_path / "empty.c")
    with pytest.raises(OSError, match="not a decision component: it has no function batsim_edc_init"):
        load_library(empty)


# Recorded runs


@pytest.mark.parametrize("format", ["binary", "json"])
@pytest.mark.parametrize("name", ["run.tar.xz", "run"])
def test_recorded_runs_are_read_by_the_command(tmp_path: Path, format: str, name: str) -> None:
    with SimulationRecorder(tmp_path / name, format) as recorder:
        scheduler = OnHost0()
        recorder.hello("init", scheduler.hello("init"))
        simulate(PLATFORM, WORKLOAD, OnHost0(), on_turn=recorder.turn)
    if name == "run":
        names = sorted(path.name for path in (tmp_path / name).iterdir())
        first = (tmp_path / name / names[1]).read_bytes()
    else:
        with tarfile.open(tmp_path / name) as archive:
            names = archive.getnames()
            handle = archive.extractfile(names[1])
            assert handle is not None
            first = handle.read()
    assert names[:4] == ["00000-b2e.bin", "00001-e2b.bin", "00002-b2e.bin", "00003-e2b.bin"]
    assert len(names) % 2 == 0
    assert frames.decode_hello(first).format == format
    output = Output()
    check([str(tmp_path / name)], output, rules="batsim-5.0.0-rc2", quiet=True)
    assert not output.failed


def test_folders_that_hold_something_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "00000-b2e.bin").write_text("")
    with pytest.raises(FileExistsError, match="already holds messages"):
        SimulationRecorder(tmp_path)


# A library of Python functions


class Function:
    """A function of a library, which notes its calls, and returns bytes through its arguments, as in C."""

    def __init__(self, name: str, calls: list[tuple[Any, ...]], answer: tuple[int, bytes | None, int | None]) -> None:
        self.name, self.calls, self.answer = name, calls, answer

    def __call__(self, *arguments: Any) -> int:
        self.calls.append((self.name, *(each for each in arguments if isinstance(each, bytes | int))))
        status, data, size = self.answer
        if arguments:
            *_, reply, length = arguments
            if len(arguments) == 5:
                arguments[2]._obj.value = 0x0201
            if data is not None:
                self.kept = (ctypes.c_uint8 * len(data))(*data)
                reply._obj.contents = ctypes.cast(self.kept, type(reply._obj)).contents
            length._obj.value = len(data or b"") if size is None else size
        return status


NAMES = ("batsim_edc_init", "batsim_edc_take_decisions", "batsim_edc_deinit")


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A library that a test fills with functions, and the calls of them."""
    made = SimpleNamespace(_handle=7, calls=[])
    monkeypatch.setattr(components.ctypes, "CDLL", lambda *_, **__: made)
    monkeypatch.setattr(components, "_ctypes", SimpleNamespace(dlclose=lambda handle: made.calls.append(handle)))
    for name in NAMES:
        setattr(made, name, Function(name, made.calls, (0, b"abc", None)))
    return made


def test_a_library_is_ended_only_if_it_has_begun(functions: Any) -> None:
    """And it is unloaded once, also if it is closed twice."""
    with RawLibrary("some.so"):
        pass
    assert functions.calls == [7]
    functions.calls.clear()
    with RawLibrary("some.so") as found:
        assert found.begin(b"text") == b"\x01\x02\x00\x00abc"
        assert found.decide(b"message") == b"abc"
        found.close()
    assert functions.calls == [
        ("batsim_edc_init", b"text", 4),
        ("batsim_edc_take_decisions", b"message", 7),
        ("batsim_edc_deinit",),
        7,
    ]
    with pytest.raises(PeerGone, match=r"the library .*some\.so is closed"):
        found.decide(b"message")


@pytest.mark.parametrize("missing", NAMES)
def test_a_library_without_a_function_is_unloaded(missing: str, functions: Any) -> None:
    delattr(functions, missing)
    with pytest.raises(OSError, match=f"it is not a decision component: it has no function {missing}"):
        RawLibrary("some.so")
    assert functions.calls == [7]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        ((1, b"abc", None), PeerGone, "failed: it returned 1"),
        ((255, None, None), PeerGone, "failed: it returned 255"),
        ((0, None, None), DecodeError, "returned no reply"),
        ((0, b"abc", LARGEST + 1), DecodeError, "bytes, but a message has at most"),
    ],
)
@pytest.mark.parametrize("name", NAMES[:2])
def test_what_a_library_may_not_answer(
    name: str, answer: tuple[int, bytes | None, int | None], kind: type[Exception], said: str, functions: Any
) -> None:
    setattr(functions, name, Function(name, functions.calls, answer))
    with RawLibrary("some.so") as found, pytest.raises(kind, match=rf"{name} of .*some\.so .*{said}"):
        (found.begin if name == NAMES[0] else found.decide)(b"x")
