"""The resource manager of PSI/J upon a batch system that is a list, and PSI/J's helper upon a module of the test."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from batprotocol.campaigns.managers import JobRequest, _psij_helper, psij
from batprotocol.campaigns.managers.psij import PsijCluster, PsijDescription, read_description
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.errors import ClusterError, InputError

WITHOUT_ENGINE = True


class PaperBatch:
    """A batch system on paper.

    Attributes:
        asked: the jobs that were submitted, by their numbers.
        known: the states of its jobs.
        cancelled: the numbers that were cancelled.
        most: how many more jobs it takes before it fails.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Mapping[str, Any]] = {}
        self.known: dict[str, str] = {}
        self.cancelled: list[str] = []
        self.most = 1000

    def submit(self, jobs: Sequence[Mapping[str, Any]]) -> tuple[list[str], str]:
        natives = []
        for job in jobs[: self.most]:
            natives.append(str(100 + len(self.asked)))
            self.asked[natives[-1]] = job
            self.known[natives[-1]] = "QUEUED"
        self.most -= len(natives)
        return natives, "" if len(natives) == len(jobs) else "the queue is full"

    def states(self, natives: Iterable[str]) -> dict[str, str]:
        return {each: self.known[each] for each in natives if each in self.known}

    def cancel(self, natives: Iterable[str]) -> None:
        self.cancelled += natives

    def run(self, native: str) -> None:
        """Run the script of a job, as a node does."""
        environment = {**os.environ, "PBS_JOBID": native}
        subprocess.run(["sh", self.asked[native]["script"]], env=environment, check=True)
        self.known.pop(native, None)


def described(place: Path, **more: Any) -> str:
    members = {"type": "psij", "executor": "pbs", "folder": "jobs", "slots": 4, **more}
    path = place / "psij.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in members.items()))
    return str(path)


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> PaperBatch:
    found = PaperBatch()
    monkeypatch.setattr(psij, "Psij", lambda description, name: found)
    return found


def opened(tmp_path: Path, **more: Any) -> PsijCluster:
    return PsijCluster("p", described(tmp_path, **more), "m")


def request(number: int, command: str, folder: Path | str, **more: Any) -> JobRequest:
    return JobRequest(job=number, command=command, directory=str(folder), **more)


def jobs(cluster: PsijCluster) -> dict[int, RemoteJob]:
    return {job.job: job for job in cluster.look().jobs}


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


def test_what_is_submitted(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path, cores=2)
    requests = [request(1, "true", tmp_path, walltime=59.6, weight=3), request(2, "true", tmp_path, walltime=3600.4)]
    cluster.submit([*requests, requests[0]])
    cluster.submit(requests)
    place = tmp_path / "jobs" / "m"
    assert list(batch.asked.values()) == [
        {"script": f"{place}/1/run.sh", "name": "m.1", "seconds": 60, "cores": 6},
        {"script": f"{place}/2/run.sh", "name": "m.2", "seconds": 3600, "cores": 2},
    ]
    seen = cluster.look()
    assert (seen.cluster, seen.max, seen.free) == ("p", 4, 0)
    assert {job.job: (job.state, job.remote_id) for job in seen.jobs} == {
        1: (GridJobState.REMOTE_WAITING, "100"),
        2: (GridJobState.REMOTE_WAITING, "101"),
    }
    cluster.kill([2])
    assert cluster.look().free == 1


def test_jobs_end(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    odd = "it's $(touch x) \"\n\\"
    cluster.submit(
        [
            request(1, 'printf %s "$A" >got; echo fine', tmp_path, environment={"A": odd}),
            request(2, "echo out; echo err >&2; exit 3", tmp_path),
            request(3, "true", tmp_path / "missing"),
            request(4, "true", tmp_path, weight=5),
            request(5, "a\0b", tmp_path),
            request(6, "pwd", "~"),
        ]
    )
    before = int(time.time())
    for native in list(batch.asked):
        batch.run(native)
    found = jobs(cluster)
    assert (tmp_path / "got").read_text() == odd
    assert [found[number].exit_code for number in (1, 2, 6)] == [0, 3 << 8, 0]
    assert (found[1].output, found[2].output, found[2].errors) == ("", "out\n", "err\n")
    assert [why(found[number]) for number in (3, 4, 5)] == [["WORKING_DIRECTORY"], ["REFUSED"], ["REFUSED"]]
    assert (found[1].remote_id, found[1].node) == ("100", os.uname().nodename)
    assert found[1].start_time is not None
    assert found[1].stop_time is not None
    assert before <= found[1].start_time <= found[1].stop_time <= time.time()
    assert cluster.look().free == 4
    again = opened(tmp_path)
    assert jobs(again)[2] == found[2]


def test_a_job_begins_once(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([request(1, "echo x >>runs", tmp_path)])
    (tmp_path / "jobs" / "m" / "1" / "native").unlink()
    again = opened(tmp_path)
    assert jobs(again)[1].remote_id == "101"  # its number was not written down
    batch.run("101")
    batch.known["100"] = "ACTIVE"
    batch.run("100")
    assert (tmp_path / "runs").read_text() == "x\n"
    assert (jobs(again)[1].exit_code, jobs(again)[1].remote_id) == (0, "101")


def test_a_job_that_had_begun_without_a_number_is_not_submitted_again(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([request(1, "true", tmp_path)])
    (tmp_path / "jobs" / "m" / "1" / "native").unlink()
    batch.run("100")
    again = opened(tmp_path)
    again.look()
    assert len(batch.asked) == 1
    assert (jobs(again)[1].exit_code, jobs(again)[1].remote_id) == (0, "100")


def test_a_batch_system_that_takes_a_part(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    batch.most = 1
    with pytest.raises(ClusterError, match="the queue is full"):
        cluster.submit([request(number, "true", tmp_path) for number in (1, 2, 3)])
    batch.most = 2
    found = jobs(cluster)
    assert [found[number].remote_id for number in (1, 2, 3)] == ["100", "101", "102"]
    assert sorted(jobs(opened(tmp_path))) == [1, 2, 3]


def test_many_jobs_are_submitted_in_parts(batch: PaperBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psij, "MOST_AT_ONCE", 2)
    sizes: list[int] = []
    usual = batch.submit
    monkeypatch.setattr(batch, "submit", lambda jobs: (sizes.append(len(jobs)), usual(jobs))[1])
    opened(tmp_path).submit([request(number, "true", tmp_path) for number in range(5)])
    assert sizes == [2, 2, 1]


def test_jobs_are_killed(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([request(number, "echo x >>runs; exit 3", tmp_path) for number in (1, 2, 3)])
    batch.run("101")
    (tmp_path / "jobs" / "m" / "3" / "claim").mkdir()
    (tmp_path / "jobs" / "m" / "3" / "log").write_text("begin 10 n7 777\n")
    cluster.kill([1, 2, 3, 9])
    assert batch.cancelled == ["100", "101", "777"]
    found = jobs(cluster)
    assert [why(found[number]) for number in (1, 2)] == [["FRAG_JOB_REQUEST"]] * 2
    assert (found[2].exit_code, found[1].exit_code) == (None, None)
    assert (found[3].state, found[3].node, found[3].start_time) == (GridJobState.RUNNING, "n7", 10.0)
    batch.run("100")
    assert (tmp_path / "runs").read_text() == "x\n"
    cluster.kill([1])
    assert batch.cancelled == ["100", "101", "777"]


def test_jobs_that_the_batch_system_does_not_have(
    batch: PaperBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000.0
    monkeypatch.setattr(psij.time, "time", lambda: now)
    cluster = opened(tmp_path, slots=9)
    cluster.submit([request(number, "true", tmp_path, walltime=60.0) for number in range(1, 6)])
    for number, began in ((2, now - 59), (3, now - 60), (4, now - 5)):
        (tmp_path / "jobs" / "m" / str(number) / "claim").mkdir()
        (tmp_path / "jobs" / "m" / str(number) / "log").write_text(f"begin {began} n7 \n")
    (tmp_path / "jobs" / "m" / "4" / "kill").touch()
    batch.known = {"104": "ACTIVE", "100": "COMPLETED"}
    assert {job.state for job in jobs(cluster).values()} == {GridJobState.REMOTE_WAITING, GridJobState.RUNNING}
    now += psij.GONE_SECONDS - 0.1
    assert GridJobState.TERMINATED not in {job.state for job in jobs(cluster).values()}
    now += 0.1
    found = jobs(cluster)
    assert [why(found[number]) for number in range(1, 6)] == [
        ["EXTERMINATE"],
        ["WALLTIME"],
        ["WALLTIME"],
        ["FRAG_JOB_REQUEST"],
        [],
    ]
    batch.run("100")  # it comes to run after all
    assert not (tmp_path / "jobs" / "m" / "1" / "out").exists()


def test_a_job_that_is_seen_again_is_not_gone(
    batch: PaperBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000.0
    monkeypatch.setattr(psij.time, "time", lambda: now)
    cluster = opened(tmp_path)
    cluster.submit([request(1, "true", tmp_path)])
    batch.known = {}
    cluster.look()
    batch.known = {"100": "ACTIVE"}
    now += 60
    cluster.look()
    batch.known = {}
    now += 60
    assert jobs(cluster)[1].state is GridJobState.REMOTE_WAITING
    now += 60
    assert why(jobs(cluster)[1]) == ["EXTERMINATE"]


def test_what_is_forgotten(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([request(number, "echo x >>runs", tmp_path) for number in (1, 2)])
    cluster.submit([request(3, "true", tmp_path, weight=9)])
    batch.run("100")
    cluster.look()
    cluster.forget([1, 2, 3, 99])
    assert cluster.look().jobs == ()
    assert batch.cancelled == ["101"]
    assert list((tmp_path / "jobs" / "m").iterdir()) == []
    cluster.submit([request(1, "true", tmp_path)])
    assert list(jobs(cluster)) == [1]


def test_folders_that_were_being_made_or_are_broken(batch: PaperBatch, tmp_path: Path) -> None:
    opened(tmp_path).submit([request(1, "true", tmp_path)])
    place = tmp_path / "jobs" / "m"
    for name, content in (("7.unfinished", "{}"), ("8", "no JSON"), ("9", "\xff")):
        (place / name).mkdir()
        (place / name / "request.json").write_text(content, encoding="latin-1")
    (place / "10").mkdir()
    assert list(jobs(opened(tmp_path))) == [1]
    assert not (place / "7.unfinished").exists()


def test_a_log_that_a_job_has_spoiled(batch: PaperBatch, tmp_path: Path) -> None:
    cluster = opened(tmp_path)
    cluster.submit([request(number, "true", tmp_path) for number in (1, 2, 3)])
    for number, text in ((1, "begin\nend x 0\nend 20\n"), (2, "end 20 1234\nend 30 0\n"), (3, "end 20 300\n")):
        (tmp_path / "jobs" / "m" / str(number) / "log").write_text(text)
    found = jobs(cluster)
    assert [found[number].exit_code for number in (1, 2, 3)] == [None, None, 300 << 8]
    assert [why(found[number]) for number in (1, 2)] == [["EXTERMINATE"]] * 2
    assert (found[1].stop_time, found[2].stop_time) == (20.0, 20.0)


def test_a_folder_that_cannot_be_used(batch: PaperBatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError) as caught:
        opened(tmp_path, folder="file/jobs")
    assert caught.value.cluster == "p"
    assert "file" in caught.value.reason
    with pytest.raises(ClusterError, match="slots"):
        opened(tmp_path, slots=0)


# The description


def test_a_description(tmp_path: Path) -> None:
    found = read_description(described(tmp_path, python="bin/python3", queue="q", account="a"))
    assert found == PsijDescription(
        executor="pbs",
        folder=str(tmp_path / "jobs"),
        slots=4,
        queue="q",
        account="a",
        python=str(tmp_path / "bin" / "python3"),
    )
    assert read_description(described(tmp_path)).python == sys.executable
    assert read_description(described(tmp_path, python="python3")).python == "python3"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"executor": "sge"}, "executor: "),
        ({"slots": 0}, "slots: "),
        ({"queue": "a b"}, "queue: expected a name, got 'a b'"),
        ({"account": "--x"}, "account: expected a name, got '--x'"),
        ({"folder": ""}, "folder: expected the path of a folder, got ''"),
        ({"folder": "a\nb"}, "folder: expected the path of a folder"),
        ({"type": "oar"}, "type: expected \"psij\", got 'oar'"),
        ({"slot": 3}, "did you mean 'slots'"),
        ({"timeout": 601}, "timeout: "),
    ],
)
def test_wrong_descriptions(tmp_path: Path, members: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_description(described(tmp_path, **members))
    assert words in str(caught.value)


# The process of PSI/J


def asked(tmp_path: Path, script: str, timeout: float = 30.0) -> psij.Psij:
    """PSI/J with an interpreter that is a script of the test."""
    (tmp_path / "python").write_text(f"#!/bin/sh\ncat >given\n{script}\n")
    (tmp_path / "python").chmod(0o700)
    os.chdir(tmp_path)
    description = PsijDescription(
        executor="pbs", folder="/f", slots=1, queue="q", account="a", python=str(tmp_path / "python"), timeout=timeout
    )
    return psij.Psij(description, "p")


@pytest.fixture(autouse=True)
def _where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


JOBS = [{"script": "/1"}, {"script": "/2"}]


def test_numbers_of_jobs(tmp_path: Path) -> None:
    found = asked(tmp_path, """echo '{"native": "7"}'; echo '{"native": "8"}'""").submit(JOBS)
    assert found == (["7", "8"], "")
    assert json.loads((tmp_path / "given").read_bytes()) == {
        "executor": "pbs",
        "submit": [{"script": "/1", "queue": "q", "account": "a"}, {"script": "/2", "queue": "q", "account": "a"}],
    }


@pytest.mark.parametrize(
    ("script", "natives", "trouble"),
    [
        ("""echo '{"native": "7"}'""", ["7"], "PSI/J with pbs fails: it writes no answer"),
        ("""echo '{"native": "7"}'; printf '{"native": "8"}'""", ["7"], "PSI/J with pbs fails: it writes no answer"),
        ("""echo '{"native": "7"}'; echo '{"error": "no   queue"}'""", ["7"], "PSI/J with pbs fails: no queue"),
        ("""echo '{"native": "7"}'; echo nonsense""", ["7"], "PSI/J with pbs fails: it writes no JSON"),
        ("""echo '{"native": "7"}'; echo why >&2; exit 1""", ["7"], "PSI/J with pbs fails: why"),
        ("""echo "{\\"error\\": \\"No module named 'psij'\\"}" """, [], "python has no PSI/J: pip install"),
    ],
)
def test_answers_that_are_lacking(tmp_path: Path, script: str, natives: list[str], trouble: str) -> None:
    found, told = asked(tmp_path, script).submit(JOBS)
    assert found == natives
    assert trouble in told


def test_states_and_cancelling(tmp_path: Path) -> None:
    assert asked(tmp_path, """echo '{"7": "ACTIVE"}'""").states(["7"]) == {"7": "ACTIVE"}
    asked(tmp_path, "true").cancel(["7", "8"])
    assert json.loads((tmp_path / "given").read_bytes()) == {"executor": "pbs", "cancel": ["7", "8"]}
    with pytest.raises(ClusterError, match="it writes no answer"):
        asked(tmp_path, "true").states(["7"])
    with pytest.raises(ClusterError, match="fails: why"):
        asked(tmp_path, "echo why >&2; exit 1").cancel(["7"])
    with pytest.raises(ClusterError, match=r"PSI/J does not answer within 0\.05 s"):
        asked(tmp_path, "sleep 60", timeout=0.05).states(["7"])


def test_an_interpreter_that_is_missing(tmp_path: Path) -> None:
    description = PsijDescription(executor="pbs", folder="/f", slots=1, python="/nowhere/python")
    natives, trouble = psij.Psij(description).submit(JOBS)
    assert (natives, "/nowhere/python" in trouble) == ([], True)


# The helper, upon a module of the test in place of psij


class Ended(Exception):
    """Raised in place of the end of the process."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The modules of PSI/J. The values that they get are kept."""
    kept: dict[str, Any] = {"submitted": [], "made": []}

    def new(kind: str) -> Any:
        return lambda *values, **named: SimpleNamespace(kind=kind, values=values, **named)

    class Executor:
        def submit(self, job: Any) -> None:
            if len(kept["submitted"]) == 2:
                raise ValueError("the queue is closed")
            kept["submitted"].append(job.values[0])
            job.native_id = f"n{len(kept['submitted'])}"

        def get_status_command(self, natives: list[str]) -> list[str]:
            return ["sh", "-c", "echo out; echo err >&2; exit 3"]

        def parse_status_output(self, status: int, text: str) -> dict[str, Any]:
            assert (status, sorted(text.split())) == (3, ["err", "out"])
            return {"7": SimpleNamespace(state=SimpleNamespace(name="ACTIVE"))}

        def get_cancel_command(self, native: str) -> list[str]:
            return ["touch", f"cancelled-{native}"]

    def get_instance(name: str, config: Any) -> Executor:
        kept["made"].append((name, config))
        return Executor()

    library = SimpleNamespace(
        JobAttributes=new("attributes"),
        ResourceSpecV1=new("resources"),
        JobSpec=new("spec"),
        Job=new("job"),
        JobExecutor=SimpleNamespace(get_instance=get_instance),
    )
    inner = SimpleNamespace(BatchSchedulerExecutorConfig=new("config"))
    modules = {"psij": library, "psij.executors.batch.batch_scheduler_executor": inner}
    monkeypatch.setattr(_psij_helper.importlib, "import_module", modules.__getitem__)
    return kept


def helped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: Any) -> list[Any]:
    """The answers of the helper to a request."""

    def end(status: int) -> None:
        assert status == 0
        raise Ended

    monkeypatch.setattr(_psij_helper.os, "_exit", end)
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(asked)))
    with pytest.raises(Ended):
        _psij_helper.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_helper_submits(
    library: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = {"script": "/1/run.sh", "name": "m.1", "seconds": 90, "cores": 3, "queue": "q", "account": ""}
    other = {**job, "name": "m.2", "queue": "", "account": "science"}
    answers = helped(monkeypatch, capsys, {"executor": "lsf", "submit": [job, other, job, job]})
    assert answers == [{"native": "n1"}, {"native": "n2"}, {"error": "ValueError: the queue is closed"}]
    ((name, config),) = library["made"]
    assert (name, config.queue_polling_interval, config.initial_queue_polling_delay) == ("lsf", 10**6, 10**6)
    first, second = library["submitted"]
    assert (first.executable, first.arguments, first.name, first.launcher) == (
        "/bin/sh",
        ["/1/run.sh"],
        "m.1",
        "single",
    )
    wanted = first.resources
    assert (wanted.node_count, wanted.processes_per_node, wanted.cpu_cores_per_process) == (1, 1, 3)
    assert first.attributes.duration.total_seconds() == 120  # whole minutes, as PSI/J drops seconds for LSF
    assert (first.attributes.queue_name, first.attributes.account) == ("q", None)
    assert (second.attributes.queue_name, second.attributes.account) == (None, "science")


def test_the_helper_asks_and_cancels(
    library: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert helped(monkeypatch, capsys, {"executor": "pbs", "states": ["7"]}) == [{"7": "ACTIVE"}]
    assert helped(monkeypatch, capsys, {"executor": "pbs", "cancel": ["7", "8"]}) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cancelled-7", "cancelled-8"]


def test_the_helper_without_psij(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setattr(_psij_helper.importlib, "import_module", missing)
    answers = helped(monkeypatch, capsys, {"executor": "pbs", "states": []})
    assert answers == [{"error": "ModuleNotFoundError: No module named 'psij'"}]
