"""What a cluster of Slurm does without Slurm: its description, and the state of each job."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.campaigns.managers._slurm_jobs import BatchLines, BatchState, BatchTerms, judged
from batprotocol.campaigns.managers.slurm import SlurmDescription, read_description
from batprotocol.campaigns.managers.types import TYPES, type_in
from batprotocol.campaigns.model import GridJobState, RemoteJob
from batprotocol.errors import InputError
from batprotocol.sites.slurm.client import ReportedJob

WITHOUT_ENGINE = True

# The description


def described(folder: Path, text: str) -> SlurmDescription:
    (folder / "site.toml").write_text(text)
    return read_description(folder / "site.toml")


def test_a_description(tmp_path: Path) -> None:
    text = 'type = "slurm"\nfolder = "~/jobs"\npartition = "idle"\nnice = 100\nprologue = "modules.sh"\n'
    found = described(tmp_path, text)
    assert found == SlurmDescription(folder="~/jobs", partition="idle", nice=100, prologue=str(tmp_path / "modules.sh"))
    assert type_in(str(tmp_path / "site.toml")) == "slurm"
    assert "slurm" in TYPES


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('folder = "/a"\npartion = "x"', "there is no key 'partion'; did you mean 'partition'?"),
        ("", 'expected a key "folder", with a folder that all nodes share'),
        ('folder = "a"', "folder: expected a path that begins with / or ~/, got 'a'"),
        ('folder = "/a"\npartition = "--wrap=x"', "partition: expected a name, got '--wrap=x'"),
        ('folder = "/a"\nnice = -1', "nice: expected a number from 0, got -1"),
        ('folder = "/a"\ncores = "two"', "cores: expected `int`, got `str`"),
        ('folder = "/a"\ntoken_file = "t"', 'rest: expected a key "rest" too, as only slurmrestd takes a token'),
        (
            'folder = "/a"\nrest = "unix:/s"\ntoken_file = "t"\ntoken_variable = "T"',
            "token_file: expected one of token_file and token_variable, got both",
        ),
        ('folder = "/a"\nresources = 0', "resources: expected a number from 1, got 0"),
        ('folder = "/a"\nhost = "ssh:"', """host: expected "ssh:HOST", got 'ssh:'"""),
        ('folder = "/a"\nhost = "login"', """host: expected "ssh:HOST", got 'login'"""),
        ('folder = "/a"\nmemory = "lots"', "memory: expected an amount such as 2G, got 'lots'"),
    ],
)
def test_a_description_that_cannot_be_used(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        described(tmp_path, f'type = "slurm"\n{text}\n')
    assert str(error.value) == f"{tmp_path}/site.toml: {sentence}"


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("timeout", ["1", "600"], ["0.9", "601"]),
        ("cores", ["1", "1048576"], ["0", "1048577"]),
        ("nice", ["0", "2147483647"], ["-1", "2147483648"]),
        ("resources", ["1", "2147483648"], ["0", "2147483649"]),
        ("memory", ['""', '"1"', '"2G"', '"999999999999T"'], ['"0G"', '"2g"', '"2 G"', '"9999999999999"']),
        ("folder", ['"/a"', '"~/a"'], ['"~a"', '"/a\\nb"', '""']),
        ("host", ['""', '"ssh:h"'], ['"ssh:-h"', '"ssh:a b"']),
        ("qos", ['""', '"a.b,c@d+e:f/g-h"'], ['"-a"', '"a b"', f'"{"a" * 201}"']),
        ("constraint", ['""', '"[a&b|c]*(2)"'], ['"a b"', f'"{"a" * 401}"']),
        ("token_variable", ['""'], ['"1a"', '"a-b"']),
    ],
)
def test_the_limits_of_a_description(tmp_path: Path, key: str, good: list[str], bad: list[str]) -> None:
    usual = 'type = "slurm"\n' + ("" if key == "folder" else 'folder = "/a"\n')
    for value in good:
        assert described(tmp_path, f"{usual}{key} = {value}\n")
    for value in bad:
        with pytest.raises(InputError) as error:
            described(tmp_path, f"{usual}{key} = {value}\n")
        assert error.value.path == key


def test_files_of_a_description(tmp_path: Path) -> None:
    keys = {"prologue": "p", "token_file": "t", "ssh_config": "/s"}
    text = 'type = "slurm"\nfolder = "/a"\nrest = "unix:/s"\n' + "".join(f'{k} = "{v}"\n' for k, v in keys.items())
    found = described(tmp_path, text)
    assert (found.prologue, found.token_file, found.ssh_config) == (f"{tmp_path}/p", f"{tmp_path}/t", "/s")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"a\0b", "expected a text without zero bytes"), (b"\xff", "expected a text in UTF-8, got other bytes")],
)
def test_a_prologue_that_cannot_be_used(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(InputError) as error:
        SlurmDescription(folder="/a", prologue=str(tmp_path / "p")).prologue_text()
    assert (error.value.reason, error.value.path) == (sentence, "prologue")
    assert SlurmDescription(folder="/a").prologue_text() == ""


def test_a_file_that_describes_nothing(tmp_path: Path) -> None:
    """A pipe that nobody writes is not waited for."""
    (tmp_path / "deep").write_text(f"type = {'[' * 100_000}")
    (tmp_path / "bytes").write_bytes(b"\xff\n")
    (tmp_path / "empty").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name, sentence in {
        "deep": "expected TOML: ",
        "bytes": "expected a text in UTF-8, got other bytes",
        "empty": 'type: expected "slurm", "oar", "psij", got nothing',
        "pipe": "expected a file, got a folder, a device or a pipe",
        "none": "it cannot be read: no such file or directory",
    }.items():
        with pytest.raises(InputError) as error:
            type_in(str(tmp_path / name))
        assert str(error.value).startswith(f"{tmp_path}/{name}: {sentence}")


def test_another_type(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="type: expected \"slurm\", got 'slrum'"):
        described(tmp_path, 'type = "slrum"\nfolder = "/a"\n')
    with pytest.raises(InputError, match="did you mean 'slurm'"):
        type_in(str(tmp_path / "site.toml"))


KEYS = st.sampled_from([*SlurmDescription.__struct_fields__, "type", "other"])
VALUES = st.one_of(st.text(max_size=8), st.integers(-5, 5), st.booleans(), st.floats(), st.lists(st.integers()))


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_table_is_a_description_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, table: dict[str, Any]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    keys = {"type": "slurm", "folder": "/a", **table}
    file.write_text("".join(f"{key} = {json.dumps(value).lower()}\n" for key, value in keys.items()))
    try:
        found: SlurmDescription | InputError = read_description(file)
    except InputError as error:
        found = error
    assert isinstance(found, SlurmDescription) or found.file == str(file)


# The state of each job


def why(job: RemoteJob) -> list[str]:
    return [event.type for event in job.events]


STATES = ("PENDING", "RUNNING", "COMPLETING", "COMPLETED", "FAILED", "PREEMPTED", "NODE_FAIL", "TIMEOUT", "CANCELLED")
WORDS = st.sampled_from(
    ["submitted 5", "begin 1 10.5 n1", "end 1 20 0", "end 1 20 3", "end 1 20 killed", "cut 1 20 143", "killed 1",
     "kill 1", "refused 1 because", "begin", "end 1", "end 1 x y", "gone 2", "nonsense",
     "end 999999999999999999999999 1 1"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=6), st.lists(st.sampled_from(STATES), max_size=3), st.booleans())
def test_each_job_has_one_state(said: list[str], states: list[str], late: bool) -> None:
    words = [each.split(" ", 3) for each in said if " " in each]
    batch = BatchState(BatchLines(BatchTerms(size=1, minutes=1, weight=1), {0: {1: 60.0, 2: 60.0}}, words))
    rows = {0: [ReportedJob("5_0", "", state) for state in states]}
    found = {job.job: job for job in judged(batch, rows, now=100.0, missing=lambda index: late)}
    assert set(found) == {1, 2} - batch.forgotten
    alive = any(state in ("PENDING", "RUNNING", "COMPLETING") for state in states)
    for job in found.values():
        if job.state is not GridJobState.TERMINATED:
            assert alive or not late or not batch.id
    if "end 1 20 0" in said and not any(each.startswith("end 1 ") and each != "end 1 20 0" for each in said):
        assert found[1].exit_code == 0


@pytest.mark.parametrize(
    ("state", "event"),
    [("PREEMPTED", "BESTEFFORT_KILL"), ("NODE_FAIL", "EXTERMINATE"), ("TIMEOUT", "WALLTIME"),
     ("CANCELLED", "FRAG_JOB_REQUEST"), ("BOOT_FAIL", "EXTERMINATE")],
)  # fmt: skip
def test_a_job_that_slurm_has_ended(state: str, event: str) -> None:
    said = [["submitted", "5"], ["begin", "1", "10", "n1"]]
    batch = BatchState(BatchLines(BatchTerms(size=1, minutes=1, weight=1), {0: {1: 60.0}}, said))
    (job,) = judged(batch, {0: [ReportedJob("5_0", "", state)]}, now=100.0, missing=lambda index: False)
    assert (job.exit_code, why(job), job.remote_id) == (None, [event], "5_0")


@pytest.mark.parametrize(
    ("state", "others", "event"),
    [("FAILED", [], "FOLDER"), ("FAILED", ["begin", "2", "10", "n1"], "EXTERMINATE"), ("COMPLETED", [], "EXTERMINATE")],
)
def test_a_job_that_has_recorded_nothing(state: str, others: list[str], event: str) -> None:
    """Its node does not have the folder, or Slurm has used the id of a job again that it has forgotten."""
    said = [["submitted", "5"], *([others] if others else [])]
    batch = BatchState(BatchLines(BatchTerms(size=1, minutes=1, weight=1), {0: {1: 60.0, 2: 60.0}}, said))
    job, _ = judged(batch, {0: [ReportedJob("5_0", "", state)]}, now=100.0, missing=lambda index: True)
    assert (job.exit_code, why(job)) == (None, [event])


@pytest.mark.parametrize(
    ("state", "reason", "is_new"),
    [("PENDING", "None", True), ("PENDING", "", True), ("PENDING", "Resources", False), ("PENDING", "Priority", False),
     ("CONFIGURING", "None", False), ("RUNNING", "None", False)],
)  # fmt: skip
def test_a_job_is_new_until_slurm_has_looked_at_it(state: str, reason: str, is_new: bool) -> None:
    row = ReportedJob("5_0", "", state, reason)
    assert row.is_new is is_new
    batch = BatchState(BatchLines(BatchTerms(size=1, minutes=1, weight=1), {0: {1: 60.0}}, [["submitted", "5"]]))
    (job,) = judged(batch, {0: [row]}, now=0.0, missing=lambda index: False, new={"5_0"} if row.is_new else set())
    waits = GridJobState.SUBMITTED if is_new else GridJobState.REMOTE_WAITING
    assert job.state is (GridJobState.RUNNING if state == "RUNNING" else waits)
