"""Schedulers inside Batsim's process: they answer as over the socket, on a stack of 16 KiB, whoever loads them."""

from __future__ import annotations

import ctypes
import itertools
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from json import dumps, loads
from pathlib import Path

import pytest
from embedded import FAILED, HOST, SOURCES, compiled, library_with, needs_host, needs_sanitizers, play
from hypothesis import given
from hypothesis import strategies as st
from processes import BINARY, ENVIRONMENT, batproto
from replay import InThread, Peer, batsim_side, begins, ends
from support import ROOT, runs
from test_examples import EXAMPLES

from batprotocol import MessageBuilder
from batprotocol.edc import run
from batprotocol.edc.commands.scheduler import load
from batprotocol.edc.embedded import options
from batprotocol.errors import PeerGone, SchedulerError
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    load_library,
    read_platform,
    read_workload,
    simulate,
)
from batprotocol.wire import frames

pytestmark = needs_host

ARCHIVE = Path(BINARY)
FEW = 4
"""How many recorded runs are played in the usual suite; the others take minutes."""


def target(module: str) -> str:
    return f"{ROOT}/examples/{module}.py:{EXAMPLES[module]}"


def over_the_socket(target: str, told: Sequence[bytes], endpoint: str, format: str) -> list[bytes]:
    """What the scheduler answers over ZeroMQ, up to where it ends too early."""
    answers: list[bytes] = []

    def script(peer: Peer) -> None:
        answers.extend(peer.ask(frame) for frame in told)

    batsim = InThread(script)
    with suppress(PeerGone):  # some recordings are there because Batsim aborted
        run(load(target)(), endpoint, format, on_bound=batsim)
    batsim.join()
    return answers


def same(archive: Path, module: str, folder: Path) -> None:
    """In process and over the socket, a scheduler answers a recorded run with the same bytes."""
    told = batsim_side(archive)
    format = "json" if archive.name.endswith("__json.tar.xz") else "binary"
    played = play(folder, target(module), told[1:], format=format, init=frames.decode_init(told[0]))
    assert (played.status, played.stdout) == (0, "host: closed\n"), played.stderr
    answered = over_the_socket(target(module), told, f"ipc://{folder}/edc.sock", format)
    assert played.replies == answered


by_run = [pytest.param(archive, id=archive.name.removesuffix(".tar.xz")) for archive in runs()]
both_formats = list(itertools.chain.from_iterable(zip(by_run[: FEW // 2], by_run[-FEW // 2 :], strict=True)))


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("module", EXAMPLES)
@pytest.mark.parametrize("archive", both_formats)
def test_answers_are_those_over_the_socket(
    archive: Path, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "batprotocol.edc")  # these runs were recorded with other schedulers
    same(archive, module, tmp_path)


@pytest.mark.minutes
@pytest.mark.parametrize("module", EXAMPLES)
@pytest.mark.parametrize("archive", by_run)
def test_all_answers_are_those_over_the_socket(
    archive: Path, module: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "batprotocol.edc")
    same(archive, module, tmp_path)


# Whoever loads the library


LIBRARIES = {
    "on a thread of its own, as from CPython 3.14 on": ("-DFIRST_WITH_THREAD=300",),
    "on a stack of its own, as on other processors": ("-DPORTABLE_STACK",),
}


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("flags", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("arguments", [(), ("--threads",), ("--plain",)], ids=" ".join)
def test_whatever_the_library_runs_on(flags: tuple[str, ...], arguments: tuple[str, ...], tmp_path: Path) -> None:
    library = library_with(*flags)
    told = batsim_side(ARCHIVE)[1:]
    played = play(tmp_path, target("easy_backfilling"), told, *arguments, library=library)
    usual = play(tmp_path, target("easy_backfilling"), told)
    assert (played.status, played.replies) == (0, usual.replies), played.stderr
    assert len(usual.replies) == len(told) + 1


@pytest.mark.slow
def test_calls_may_come_from_any_thread(tmp_path: Path) -> None:
    """SimGrid can be told to give each actor a thread."""
    told = batsim_side(ARCHIVE)[1:]
    played = play(tmp_path, target("killer"), told, "--threads")
    assert (played.status, played.replies) == (0, play(tmp_path, target("killer"), told).replies), played.stderr


@needs_sanitizers
@pytest.mark.slow
@pytest.mark.once  # what is compiled is the same
@pytest.mark.parametrize("arguments", [(), ("--threads",)], ids=" ".join)
def test_the_host_and_the_library_are_clean(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """With AddressSanitizer and UndefinedBehaviorSanitizer in both, and in what Python allocates."""
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
    program = compiled("host-sanitized", (HOST,), *sanitizers)
    library = compiled("library-sanitized.so", tuple(SOURCES), "-shared", "-fPIC", "-fvisibility=hidden", *sanitizers)
    environment = {**ENVIRONMENT, "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0"}  # Python never ends there
    told = batsim_side(ARCHIVE)[1:]
    how = {"program": program, "library": library, "environment": environment}
    for module in ("fcfs", "power_saver"):
        played = play(tmp_path, target(module), told, "--plain", *arguments, **how)
        assert (played.status, len(played.replies)) == (0, len(told) + 1), played.stderr
        assert "ERROR" not in played.stderr
        assert "runtime error" not in played.stderr
    failed = play(tmp_path, target("fcfs"), [b"nonsense"], "--plain", *arguments, **how)
    assert failed.status == FAILED
    assert "message 2 of the simulator" in failed.stderr
    assert "ERROR: AddressSanitizer" not in failed.stderr


def test_batproto_simulates_with_it() -> None:
    """The simulator is a Python program, so the library finds an interpreter that runs, and is a guest in it."""
    workload, platform = read_workload(EXAMPLE_WORKLOAD), read_platform(EXAMPLE_PLATFORM)
    with load_library(options.library(), options.carried(target("fcfs"), init="text")) as component:
        result = simulate(platform, workload, component)
    usual = simulate(platform, workload, load(target("fcfs"))())
    assert [row.job_id for row in result.jobs] == [row.job_id for row in usual.jobs]
    assert str(result) == str(usual)
    with load_library(options.library(), options.carried(target("easy_backfilling"))) as component:
        assert str(simulate(platform, workload, component)) != str(usual)  # another one, in the same process


def test_initialization_data_of_others_are_refused() -> None:
    data = loads(options.carried(target("fcfs"), record="there", verbose=True))
    assert options.taken(dumps(data).encode()) == data
    needed = data.keys() - {"record", "verbose"}
    assert options.taken(dumps({name: data[name] for name in needed}).encode()).keys() == needed
    others = [{other: data[other] for other in data if other != name} for name in needed]
    for wrong in *others, data | {"more": "x"}, data | {"init": 5}, [], "init", {}:
        with pytest.raises(SchedulerError, match="those that `batproto library FILE:CLASS` prints"):
            options.taken(dumps(wrong).encode())


def test_a_guest_of_another_python_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    data = loads(options.carried(target("fcfs"))) | {"prefix": "/nowhere"}
    with load_library(options.library(), dumps(data)) as component, pytest.raises(PeerGone):
        component.hello("")
    assert capfd.readouterr().err == (
        f"batprotocol: this process already runs the Python of {sys.prefix}: it cannot also run the one of /nowhere\n"
    )


BROKEN = """
from batprotocol.edc import Scheduler
class Broken(Scheduler):
    def on_job_submitted(self, event):
        if not self.conversation.usage and "1" in event.job_id[-1:]:
            self.reply.add_execute_job(event.job_id, range(event.job.resource_request))
    def on_job_completed(self, event):
        self.reply.add_execute_job("w0!2", "999")
"""


@pytest.mark.slow
def test_batproto_simulate_tells_what_a_guest_raises(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("from batprotocol.edc import Scheduler\nclass Wrong(Scheduler):\n    def decide(self): 1 / 0\n")
    data = options.carried(f"{file}:Wrong")
    done = batproto("simulate", "--library", options.library(), "--init", data)
    assert done.returncode == 1
    assert "ZeroDivisionError: division by zero\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("batproto: batsim_edc_take_decisions of ")


def test_a_broken_rule_leaves_the_rows_of_the_jobs_that_had_ended(tmp_path: Path) -> None:
    """As docs/howto/run-inside-batsim.md says: the files are there, but they are not whole."""
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    data = options.carried(f"{file}:Broken")
    done = batproto("simulate", "--library", options.library(), "--init", data, "-o", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "there is no host 999" in done.stderr
    header, *rows = (tmp_path / "out" / "jobs.csv").read_text().splitlines()
    assert header.startswith("job_id,workload_name,")
    assert [row.split(",")[0] for row in rows] == ["1"]
    assert not (tmp_path / "out" / "schedule.csv").exists()


# Recordings


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.tar.xz", "run"])
def test_recordings_are_those_over_the_socket(tmp_path: Path, name: str) -> None:
    told = batsim_side(ARCHIVE)
    init = frames.decode_init(told[0])
    recorded = {}
    for folder in ("inside", "outside"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        if folder == "inside":
            played = play(tmp_path, target("fcfs"), told[1:], init=init, record=str(path))
            assert played.status == 0, played.stderr
        else:
            batsim = InThread(lambda peer: peer.replay(told))
            run(load(target("fcfs"))(), f"ipc://{tmp_path}/edc.sock", record=str(path), on_bound=batsim)
            batsim.join()
        files = [path] if path.is_file() else sorted(path.iterdir())
        recorded[folder] = [(file.name, file.read_bytes()) for file in files]
    assert recorded["inside"] == recorded["outside"]


@pytest.mark.slow
def test_a_recording_of_a_scheduler_that_fails_is_whole(tmp_path: Path) -> None:
    told = batsim_side(ARCHIVE)[1:]
    played = play(tmp_path, target("fcfs"), [told[0], b"nonsense"], record=str(tmp_path / "run"))
    assert played.status == FAILED
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "00000-b2e.bin",
        "00001-e2b.bin",
        "00002-b2e.bin",
        "00003-e2b.bin",
        "00004-b2e.bin",
    ]


@pytest.mark.slow
def test_a_recording_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.tar").write_text("something")
    played = play(tmp_path, target("fcfs"), batsim_side(ARCHIVE)[1:], record=str(tmp_path / "run.tar"))
    assert played.status == FAILED
    assert "run.tar: it exists, and a recording does not overwrite files" in played.stderr


# Memory


@pytest.mark.slow
@pytest.mark.once
def test_memory_stays_flat(tmp_path: Path) -> None:
    file = tmp_path / "quiet.py"
    file.write_text("from batprotocol.edc import Scheduler\nclass Quiet(Scheduler):\n    pass\n")
    happening = MessageBuilder(1.0)
    happening.add_external_event_occurred("event", "data")
    told = [each.to_binary() for each in (begins(), happening.finish_message(), ends(2.0))]
    played = play(tmp_path, f"{file}:Quiet", told, "--repeat", "100000")
    assert played.status == 0, played.stderr
    _, _, growth = played.stdout.split("\n")[0].split()
    assert int(growth) < 1024, "KiB in 100,000 calls"


# What the C half reads of the initialization data


def library_of_members() -> ctypes.CDLL:
    source = tuple(path for path in SOURCES if path.name == "member.c")
    library = ctypes.CDLL(str(compiled("member.so", source, "-shared", "-fPIC")))
    library.member.restype = ctypes.c_void_p
    library.member.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    library.free.argtypes = [ctypes.c_void_p]
    return library


def member(library: ctypes.CDLL, data: bytes, name: str) -> str | None:
    exact = ctypes.create_string_buffer(data, max(len(data), 1))  # without a NUL behind it
    found = library.member(ctypes.cast(exact, ctypes.c_char_p), len(data), name.encode("utf-8", "surrogateescape"))
    if found is None:
        return None
    value = ctypes.string_at(found)
    library.free(found)
    return value.decode("utf-8", "surrogateescape")


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.slow
@given(st.dictionaries(texts, texts), st.booleans(), st.sampled_from([None, 0, 3]))
def test_members_are_those_of_json(data: dict[str, str], ascii: bool, indent: int | None) -> None:
    library = library_of_members()
    if ascii:  # without what takes two escapes
        data = {name: value for name, value in data.items() if all(ord(each) < 0x10000 for each in name + value)}
    text = dumps(data, ensure_ascii=ascii, indent=indent).encode()
    for name, value in data.items():
        assert member(library, text, name) == value
    assert member(library, text, "".join(data) + "x") is None


@given(st.binary() | st.text('{}":,\\u01 abx').map(str.encode))
def test_what_is_no_such_object_has_no_members(data: bytes) -> None:
    library = library_of_members()
    found = member(library, data, "a")
    try:
        value = loads(data)
    except ValueError:
        return
    expected = value.get("a") if isinstance(value, dict) else None
    assert found in (None, expected)


# Where Python's library is


def test_a_python_without_shared_library_is_named(tmp_path: Path) -> None:
    variables = {"LDLIBRARY": "libpython3.11.a", "INSTSONAME": "libpython3.11.a", "LIBDIR": str(tmp_path)}
    with pytest.raises(SchedulerError) as caught:
        options.libpython({**variables, "LDVERSION": "3.11", "VERSION": "3.11"}, (str(tmp_path),))
    assert f"with {sys.executable}: this Python has no shared library libpython3.11.so.1.0" in str(caught.value)


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/x86_64-linux-gnu", "elsewhere"])
@pytest.mark.parametrize("name", ["libpython3.11.so.1.0", "libpython3.11.so"])
def test_pythons_library_is_found_where_it_is(tmp_path: Path, folder: str, name: str) -> None:
    """Of a Python that was built to be somewhere else, and in the folders of Debian and others."""
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / name).touch()
    where = tmp_path / "elsewhere" if folder == "elsewhere" else tmp_path / "lib"
    variables = {"LDLIBRARY": "libpython3.11.a", "LIBDIR": str(where), "MULTIARCH": "x86_64-linux-gnu"}
    found = options.libpython({**variables, "LDVERSION": "3.11", "VERSION": "3.11"}, (str(tmp_path),))
    assert found == str(tmp_path / folder / name)


def test_a_library_that_was_not_compiled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "_FILE", "libnothing.so.0")
    with pytest.raises(SchedulerError, match=r"was not compiled when batprotocol was installed\. Install a C compiler"):
        options.library()
