"""Files of users as modules: what stays of a file that fails, which schedulers are loaded, and what Batsim is told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from replay import begins, ends, submitted

from batprotocol._util.user_code import module_in
from batprotocol.edc import Scheduler
from batprotocol.edc.commands.scheduler import allocations_of, as_file, attempts_of, cap_of, is_policy
from batprotocol.edc.commands.scheduler import load as load_target
from batprotocol.edc.embedded import options
from batprotocol.edc.embedded.guest import Guest
from batprotocol.edc.embedded.options import EmbeddedReport, carried, libpython, taken
from batprotocol.edc.recording import sources
from batprotocol.edc.scheduler import LoadError, file_of, load, show_own
from batprotocol.errors import SchedulerError
from batprotocol.model import Message, RejectJobEvent

WITHOUT_ENGINE = True


def test_a_file_that_fails_leaves_no_module(tmp_path: Path) -> None:
    path = tmp_path / "fails_at_once.py"
    path.write_text("begun = True\nraise ValueError('no')\n")
    with pytest.raises(ValueError, match="no"):
        module_in(str(path))
    assert "fails_at_once" not in sys.modules
    path.write_text("begun = False\n")
    assert module_in(str(path)).begun is False
    assert sys.modules.pop("fails_at_once").begun is False


# Schedulers in files

FILE = '''
from abc import ABC, abstractmethod
from batprotocol.edc import Scheduler
from fellow_of_imports import NUMBER

class Plain(Scheduler):
    """It needs nothing."""

class Given(Scheduler):
    def __init__(self, number, *, name="x"):
        super().__init__()

class Abstract(Scheduler, ABC):
    @abstractmethod
    def choose(self): ...

    @abstractmethod
    def again(self): ...

class Other:
    """No scheduler."""

value = NUMBER
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "fellow_of_imports.py").write_text("NUMBER = 3\n")
    path = tmp_path / "some_schedulers.py"
    path.write_text(FILE)
    return path


def test_the_class_of_a_name_is_loaded(file: Path) -> None:
    found = load(f"{file}:Plain")
    assert issubclass(found, Scheduler)
    assert (found.__name__, found.__doc__) == ("Plain", "It needs nothing.")
    assert load(f"{file}:Given", {"number": 7, "name": "y"}).__name__ == "Given"
    assert load(f"{file}:Given", {"number": 7}).__name__ == "Given"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("value", None, "has no Scheduler called 'value'; it has Plain and Given and Abstract"),
        ("Other", None, "has no Scheduler called 'Other'; it has Plain and Given and Abstract"),
        ("nobody", None, "has no Scheduler called 'nobody'; it has Plain and Given and Abstract"),
        ("Abstract", None, "the class Abstract is abstract: define again and choose, too"),
        ("Given", None, "the class Given is made without arguments, but its __init__ takes (number, *, name='x')"),
        ("Given", {"name": "y"}, "the class Given cannot be made with these arguments: missing"),
        ("Given", {"number": 1, "more": 2}, "the class Given cannot be made with these arguments: got an unexpected"),
        ("Plain", {"number": 1}, "the class Plain cannot be made with these arguments"),
    ],
)
def test_what_cannot_be_loaded_is_said(name: str, arguments: dict[str, object] | None, said: str, file: Path) -> None:
    with pytest.raises(LoadError) as refused:
        load(f"{file}:{name}", arguments)
    assert said in str(refused.value)


def test_what_names_no_file_is_said(file: Path) -> None:
    for target in ("", ":", "Plain", ":Plain", f"{file}:"):
        with pytest.raises(LoadError, match="expected FILE:CLASS"):
            file_of(target)
    without = str(file.with_suffix(""))
    with pytest.raises(LoadError) as refused:
        file_of(f"{without}:Plain")
    assert str(refused.value) == f"there is no file {without!r}; did you mean {file}:Plain?"
    with pytest.raises(LoadError) as refused:
        file_of(f"{file}x:Plain")
    assert str(refused.value) == f"there is no file '{file}x'"
    assert file_of(f"{file}:Plain") == (str(file), "Plain")
    empty = file.with_name("empty.py")
    empty.write_text("from batprotocol.edc import Scheduler\n")
    with pytest.raises(LoadError, match="called 'Plain', and no other"):
        load(f"{empty}:Plain")


@pytest.mark.parametrize(
    ("code", "first"),
    [
        ("raise ValueError('mine')", "in own"),
        ("import json; json.loads('{')", "in own"),
        ("compile('(', 'x', 'exec')", "in own"),
    ],
)
def test_a_traceback_begins_with_the_users_own_code(
    code: str, first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own_fault.py"
    path.write_text(f"def own():\n    {code}\n")
    try:
        module_in(str(path)).own()
    except ValueError as error:
        told = show_own(error, "it.py:Mine")
        kind = type(error).__name__
    except SyntaxError as error:
        told = show_own(error, "it.py:Mine")
        kind = type(error).__name__
    assert told == f"the scheduler it.py:Mine ended with a {kind}"
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    frames = [line for line in lines if line.startswith("  File ")]
    mine = [number for number, line in enumerate(frames) if str(path) in line]
    assert mine
    assert first in frames[mine[0]]


def test_a_fault_of_this_library_is_not_the_users(capsys: pytest.CaptureFixture[str]) -> None:
    code = compile("def call():\n    raise KeyError('ours')\n", load.__code__.co_filename, "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    frames = []
    try:
        names["call"]()
    except KeyError as error:
        trace = error.__traceback__
        assert trace is not None
        error.__traceback__ = trace.tb_next  # without the frame of this test
        frames.append(show_own(error, "it.py:Mine"))
    assert frames == [None]
    assert capsys.readouterr().err == ""


# What the library inside Batsim is given


def test_what_is_carried_is_taken(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "libpython", lambda *_: "/lib/libpython.so")
    monkeypatch.chdir(file.parent)
    least = {
        "libpython": "/lib/libpython.so",
        "python": sys.executable,
        "prefix": sys.prefix,
        "scheduler": f"{file}:Plain",
        "format": "binary",
        "init": "",
    }
    assert taken(carried(f"{file.name}:Plain").encode()) == least
    more = carried(f"{file}:Plain", init="é\n", format="json", record="run.tar", report="r.json", verbose=True)
    assert taken(more.encode()) == least | {
        "format": "json",
        "init": "é\n",
        "record": str(file.parent / "run.tar"),
        "report": "r.json",
        "verbose": "yes",
    }


@pytest.mark.parametrize("missing", ["format", "init", "libpython", "prefix", "python", "scheduler"])
def test_data_of_somebody_else_are_refused(missing: str) -> None:
    usual = dict.fromkeys(["format", "init", "libpython", "prefix", "python", "scheduler"], "x")
    assert taken(json.dumps(usual).encode()) == usual
    bad = [{**usual, "more": "x"}, {**usual, missing: 3}, {**usual, missing: None}, [usual], "x", None]
    bad.append({key: value for key, value in usual.items() if key != missing})
    for data in [*(json.dumps(each).encode() for each in bad), b"", b"{", b"\xff"]:
        with pytest.raises(SchedulerError, match="expected to be those that `batproto library FILE:CLASS` prints"):
            taken(data)


def test_the_library_is_there_or_a_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "__file__", str(tmp_path / "options.py"))
    with pytest.raises(SchedulerError, match="Install a C compiler"):
        options.library()
    (tmp_path / "libscheduler.so.0").write_bytes(b"")
    assert options.library() == str(tmp_path / "libscheduler.so.0")


def test_the_library_of_python_is_found_where_it_is(tmp_path: Path) -> None:
    """By the names of its build, in the folders of its build, and then in those of the installation."""
    places = [
        ("lib/libpython3.11.so.1.0", {"INSTSONAME": "libpython3.11.so.1.0", "LIBDIR": "{}/lib"}),
        (
            "lib/x86/libpython3.11.so.1.0",
            {"INSTSONAME": "libpython3.11.so.1.0", "LIBDIR": "{}/lib", "MULTIARCH": "x86"},
        ),
        ("lib/libpython3.12.dylib", {"LDLIBRARY": "libpython3.12.dylib", "LIBDIR": "{}/lib"}),
        ("lib/libpython3.13t.so", {"LDVERSION": "3.13t", "VERSION": "3.13"}),
        ("lib64/libpython3.13.so.1.0", {"VERSION": "3.13", "LDLIBRARY": "libpython3.13.a"}),
        ("lib/libpython3.13.dylib", {"VERSION": "3.13", "INSTSONAME": ""}),
    ]
    for number, (place, given) in enumerate(places):
        root = tmp_path / str(number)
        (root / place).parent.mkdir(parents=True)
        variables = {key: value.format(root) for key, value in given.items()}
        with pytest.raises(SchedulerError, match="this Python has no shared library libpython3"):
            libpython(variables, (str(root),))
        (root / place).write_bytes(b"")
        assert libpython(variables, (str(tmp_path / "none"), str(root))) == str(root / place)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "report.json")
    for report in (EmbeddedReport("begun"), EmbeddedReport("failed", 'it\'s "é" \ud800'), EmbeddedReport()):
        report.write(path)
        assert EmbeddedReport.read(path).state == report.state
        assert len(EmbeddedReport.read(path).reason) >= len(report.reason)
    (tmp_path / "report.json").write_text("")
    assert EmbeddedReport.read(path) == EmbeddedReport("", "")
    EmbeddedReport("begun").write(str(tmp_path / "no" / "folder"))  # which is ignored


# Schedulers and policies on the command line


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("fcfs", True),
        ("easy-sjf+contiguous", True),
        ("misspelt", True),
        ("shared=3", True),
        ("slurm:some/slurm.conf", True),
        ("slurm=slurm.conf", True),
        ("easy+cap=caps/night.csv", True),
        ("", False),
        ("some.py", False),
        ("some.py:Plain", False),
        ("some:Plain", False),
        ("folder/some", False),
        ("folder=a/some.py:Plain", False),
        ("there", False),
    ],
)
def test_what_is_a_policy(target: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("")
    assert is_policy(target) is expected
    if not expected:
        assert as_file(target) == target


def test_a_policy_is_a_class_in_a_file() -> None:
    """Any code that loads FILE:CLASS can load it."""
    for name in ("fcfs", "easy-sjf+contiguous", "shared=3"):
        target = as_file(name)
        assert target.endswith(f"by_name.py:{name}")
        assert load(target).__name__ == load_target(name).__name__
    for wrong in ("misspelt", "easy+easy"):
        with pytest.raises(click.UsageError):
            as_file(wrong)
        with pytest.raises(click.UsageError):
            load_target(wrong)
    with pytest.raises(click.UsageError, match=r"there is no file .none\.py."):
        load_target("none.py:Plain")


def test_only_policies_have_amounts_caps_and_attempts(file: Path) -> None:
    plain, policy = load(f"{file}:Plain")(), load_target("easy+cap=450W")()
    assert (allocations_of(plain), cap_of(plain), attempts_of(plain)) == (None, None, None)
    cap = cap_of(policy)
    assert cap is not None
    assert list(cap.values) == [450.0]
    assert attempts_of(policy) is not None
    assert cap_of(load_target("easy")()) is None


GUEST = """
from batprotocol.edc import Scheduler

class Plain(Scheduler):
    def on_job_submitted(self, event):
        self.reply.add_reject_job(event.job_id)

class Failing(Plain):
    def on_job_submitted(self, event):
        raise ValueError("mine")
"""


def guest_of(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Guest:
    """A scheduler as the library runs it, in this process."""
    monkeypatch.setattr(options, "libpython", lambda *_: "/lib/libpython.so")
    path = folder / "guests.py"
    path.write_text(GUEST)
    return Guest(carried(f"{path}:{name}", report=str(folder / "report.json"), **given).encode())


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_guest_answers_until_the_end(is_recorded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"record": str(tmp_path / "run.tar")} if is_recorded else {}
    guest = guest_of(tmp_path, "Plain", monkeypatch, init="text", **record)
    report = str(tmp_path / "report.json")
    assert EmbeddedReport.read(report) == EmbeddedReport("begun")
    assert guest.hello is not None
    answers = [guest.decide(each.to_binary()) for each in (begins(), submitted(1.0), ends(2.0))]
    said = [Message.from_binary(each or b"") for each in answers]
    assert [each.now for each in said] == [0.0, 1.0, 2.0]
    assert [[type(event) for event in each.events] for each in said] == [[], [RejectJobEvent], []]
    guest.end()
    assert EmbeddedReport.read(report) == EmbeddedReport("over")
    assert guest.decide(b"") is None
    if is_recorded:
        kept = [found.data for found in sources.messages([record["record"]])]
        assert len(kept) == 8
        assert kept[1:4:2] == [guest.hello, answers[0]]
        assert kept[7] == answers[2]
    else:
        assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == ["guests.py", "report.json"]


def test_a_guest_that_ends_early_is_not_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = guest_of(tmp_path, "Plain", monkeypatch)
    guest.decide(begins().to_binary())
    guest.end()
    assert EmbeddedReport.read(str(tmp_path / "report.json")) == EmbeddedReport("begun")


@pytest.mark.parametrize(
    ("name", "frame", "sentence", "has_traceback"),
    [
        ("Failing", submitted(1.0).to_binary(), "Failing ended with a ValueError at simulated time 1.0", True),
        ("Plain", b"no message", "message 4 of the simulator: an offset of", False),
        ("Nobody", None, "has no Scheduler called 'Nobody'; it has Plain and Failing", False),
    ],
)
def test_a_guest_says_why_it_fails(
    name: str,
    frame: bytes | None,
    sentence: str,
    has_traceback: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In one sentence, behind the traceback of the scheduler's own code only."""
    guest = guest_of(tmp_path, name, monkeypatch)
    if frame is not None:
        assert guest.decide(begins().to_binary()) is not None
        assert guest.decide(frame) is None
    assert (guest.hello is None) is (frame is None)
    lines = capsys.readouterr().err.splitlines()
    assert sentence in lines[-1]
    assert lines[-1].startswith("batprotocol: ")
    assert any(line.startswith("Traceback") for line in lines) is has_traceback
    assert not any("please report it" in line for line in lines)
    report = EmbeddedReport.read(str(tmp_path / "report.json"))
    assert (report.state, report.reason) == ("failed", lines[-1].removeprefix("batprotocol: "))
    assert guest.decide(begins().to_binary()) is None


def test_a_guest_of_another_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(options, "libpython", lambda *_: "/lib/libpython.so")
    (tmp_path / "guests.py").write_text(GUEST)
    text = carried(f"{tmp_path / 'guests.py'}:Plain")
    monkeypatch.undo()
    assert Guest(text.encode()).hello is None
    assert f"it cannot also run the one of {tmp_path}" in capsys.readouterr().err
    assert Guest(b"somebody else").hello is None
    assert "were expected to be those that `batproto library FILE:CLASS` prints" in capsys.readouterr().err
