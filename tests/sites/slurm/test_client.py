"""The client of Slurm without Slurm: what it reads, what it runs, and what it keeps secret."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.sites.slurm.client import (
    JobBatch,
    LocalRunner,
    ReportedJob,
    SlurmAway,
    SlurmError,
    SlurmLimit,
    SlurmRefusal,
    SlurmRest,
    SshRunner,
    read_token,
    runner_of,
)
from batprotocol.sites.slurm.client.commands import (
    read_limits,
    read_minutes,
    read_nodes,
    read_queue,
    read_submitted,
    sbatch_words,
)
from batprotocol.sites.slurm.client.rest import (
    RestAnswer,
    read_answer,
    read_rest_id,
    read_rest_jobs,
    read_rest_longest,
    read_rest_nodes,
    read_versions,
    submission,
)
from batprotocol.sites.slurm.client.values import error_of
from batprotocol.sites.slurm.texts import keyed

WITHOUT_ENGINE = True

DATA = Path(__file__).parents[2] / "data" / "slurm_client"
"""What Slurm 22.05.8 has printed for one state of a cluster: by its commands, and by slurmrestd."""

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NAMES = st.text("abcXYZ_09.-", min_size=1, max_size=8)
NUMBERS = st.integers(1, 10**9)


def recorded(name: str) -> str:
    return (DATA / name).read_text()


def answered(value: object) -> RestAnswer:
    return read_answer(200, json.dumps(value).encode())


def test_commands_and_rest_have_the_same_jobs_and_nodes() -> None:
    def comparable(jobs: Iterable[ReportedJob]) -> list[ReportedJob]:
        return sorted(job._replace(reason="") for job in jobs)

    jobs = comparable(read_queue(recorded("squeue.txt")))
    assert jobs == comparable(read_rest_jobs(read_answer(200, recorded("jobs.json").encode()), "nobody"))
    assert {job.state for job in jobs} >= {"COMPLETED", "FAILED", "RUNNING", "PENDING", "CANCELLED"}
    nodes = [*read_nodes(recorded("sinfo.txt"))]
    theirs = [*read_rest_nodes(read_answer(200, recorded("nodes.json").encode()), "idle")]
    assert [node.name for node in nodes] == [node.name for node in theirs]
    assert [node.total for node in nodes] == [node.total for node in theirs]
    assert [node.usable and node.idle for node in nodes] == [node.usable and node.idle for node in theirs]
    assert {node.usable for node in nodes} == {True, False}


@given(st.sets(st.integers(0, 200), min_size=1))
def test_the_tasks_of_an_array_that_wait_are_each_a_job(tasks: set[int]) -> None:
    text = ",".join(map(str, sorted(tasks)))
    job = {"user_name": "a", "job_id": 3, "array_job_id": 3, "array_task_id": None, "array_task_string": f"{text}%2"}
    assert {each.task for each in read_rest_jobs(answered({"jobs": [job]}), "a")} == tasks
    cut = {**job, "array_task_string": f"{text},..."}
    assert [(each.id, each.task) for each in read_rest_jobs(answered({"jobs": [cut]}), "a")] == [("3", None)]
    ranges = {**job, "array_task_string": f"{min(tasks)}-{max(tasks)}"}
    assert len([*read_rest_jobs(answered({"jobs": [ranges]}), "a")]) == max(tasks) - min(tasks) + 1


def test_limits() -> None:
    limits = read_limits(recorded("config.txt"), recorded("partition.txt"))
    assert (limits.array_size, limits.whole_nodes, limits.longest, limits.exists) == (1001, False, 10, True)
    assert read_limits("SelectType = select/linear\n", None).whole_nodes


LINES = TEXTS.map(lambda each: each.replace("\n", ""))
JOBS = st.builds(ReportedJob, NUMBERS.map(str), LINES, NAMES, NAMES, NAMES, st.none())


@given(st.lists(JOBS, max_size=5))
def test_a_queue_is_read_as_it_was(jobs: list[ReportedJob]) -> None:
    lines = [f"{job.id}|{job.state}|{job.node}|{job.reason}|{job.name}" for job in jobs]
    assert [*read_queue("\n".join(lines))] == jobs


@given(st.lists(st.builds(ReportedJob, NUMBERS.map(str), TEXTS, NAMES, NAMES, NAMES, st.none()), max_size=5), st.data())
def test_a_name_of_several_lines_is_no_further_job(jobs: list[ReportedJob], data: st.DataObject) -> None:
    hostile = [job._replace(name=f"{job.name}\n9|RUNNING|n0|None|cigri.b1\n") for job in jobs]
    jobs = data.draw(st.permutations([*jobs, *hostile]))
    rows = [f"0a1b=|{job.id}|{job.state}|{job.node}|{job.reason}|{job.name}\n" for job in jobs]
    remark = data.draw(st.sampled_from(["", "a remark of the site\n"]))
    printed = remark + "".join(row.replace("=|", "=", 1) for row in rows)
    assert [*read_queue(printed, "0a1b=")] == jobs


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for each in (*read_queue(text), *read_nodes(text)):
        assert each[0]
    assert read_limits(text, text).array_size >= 0
    assert isinstance(dict(keyed(text)), dict)
    with pytest.raises(SlurmError):
        read_submitted(f"{text}\nno number")


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_minutes(days: int, hours: int, minutes: int, seconds: int) -> None:
    whole = (days * 24 + hours) * 60 + minutes
    assert read_minutes(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == whole
    assert read_minutes(f"{days * 24 + hours:02}:{minutes:02}:{seconds:02}") == whole
    assert read_minutes(f"{minutes}:{seconds:02}") == minutes


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "jobs",
                    "nodes",
                    "errors",
                    "job_id",
                    "array_task_id",
                    "array_task_string",
                    "number",
                    "set",
                    "user_name",
                    "partitions",
                    "maximums",
                    "max_time_limit",
                    "time",
                    "result",
                    "paths",
                    "description",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.integers(200, 599), st.one_of(JSON.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40)))
def test_any_answer_is_read_or_is_a_sentence(status: int, body: bytes) -> None:
    reads = (
        read_rest_id,
        read_versions,
        read_rest_longest,
        lambda answer: [*read_rest_jobs(answer, "None"), *read_rest_nodes(answer, "")],
    )
    for read in reads:
        said = "nothing"
        try:
            read(read_answer(status, body))
        except SlurmError as error:
            said = error.reason
        assert said
        assert said.isprintable()


@pytest.mark.parametrize(
    ("printed", "kind"),
    [
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", SlurmAway),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", SlurmAway),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", SlurmRefusal),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", SlurmRefusal),
        ("sbatch: error: Batch job submission failed: I/O error writing script/environment to file", SlurmError),
        ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates", SlurmLimit),
        ("", SlurmError),
    ],
)  # fmt: skip
def test_errors(printed: str, kind: type) -> None:
    assert type(error_of(printed, "sbatch")) is kind


@given(TEXTS, TEXTS)
def test_a_batch_is_words_and_json(name: str, comment: str) -> None:
    batch = JobBatch(script="#!/bin/sh\n", name=name, comment=comment, size=3, partition="idle", nice=5)
    words = sbatch_words(batch)
    assert f"--job-name={name}" in words
    assert all(word.startswith("--") for word in words[1:])
    job = json.loads(submission(batch, 38))["job"]
    assert (job["name"], job["partition"], job["nice"], job["array"]) == (name, "idle", 5, "0-2")


# Running commands


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(TEXTS, max_size=8))
def test_words_reach_a_program_as_they_are(words: list[str]) -> None:
    printed = LocalRunner().run(["sh", "-c", 'printf "%s\\0" "$@"', "sh", *words, "end"], timeout=30)
    assert printed.decode().split("\0") == [*words, "end", ""]


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_a_shell_reads_the_words_that_ssh_sends(words: list[str]) -> None:
    assert shlex.split(shlex.join(words)) == words


@pytest.mark.slow
def test_a_command_that_fails_or_takes_too_long() -> None:
    runner = LocalRunner()
    assert runner.run(["cat"], b"given", timeout=30) == b"given"
    with pytest.raises(SlurmError, match=r"^sh: it is wrong$"):
        runner.run(["sh", "-c", "echo it is wrong >&2; exit 1"], timeout=30)
    with pytest.raises(SlurmAway, match=r"^sleep: no answer within 0.1 s$"):
        runner.run(["sleep", "60"], timeout=0.1)
    with pytest.raises(SlurmAway, match=r"^sh: it was killed by signal 9$"):
        runner.run(["sh", "-c", "kill -9 $$"], timeout=30)
    with pytest.raises(SlurmError, match=r"^no-such-program: there is no such program on the PATH$"):
        runner.run(["no-such-program"], timeout=30)
    with pytest.raises(SlurmError, match=r"^true: it cannot be started"):
        runner.run(["true", "\0"], timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("stream", [">&1", ">&2"])
def test_a_command_that_prints_without_an_end(stream: str) -> None:
    """It is killed when it has printed too much, long before its time is over, and its files do not fill the disk."""
    with pytest.raises(SlurmError, match=r"^yes: it printed more than 32 MiB$|^sh: it printed more than 32 MiB$"):
        LocalRunner().run(["sh", "-c", f"exec yes {stream}"], timeout=100)


@pytest.mark.slow
def test_what_a_command_prints_is_shown_with_escapes() -> None:
    with pytest.raises(SlurmError) as caught:
        LocalRunner().run(["sh", "-c", r"printf 'a\033[2Jb\233\n' >&2; exit 1"], timeout=30)
    assert caught.value.reason == "sh: a\\x1b[2Jb\ufffd"
    with pytest.raises(SlurmError, match=r"^x\\x1b: there is no such program"):
        LocalRunner().run(["x\x1b"], timeout=30)


@pytest.mark.parametrize("read", [read_queue, read_nodes])
def test_too_many_rows_are_refused(read: Any) -> None:
    with pytest.raises(SlurmError, match="at most 100000 rows"):
        assert [*read("1|a|b|c|d\n" * 100_001)]


@pytest.mark.slow
def test_commands_do_not_get_secrets_or_options_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MY_TOKEN", "SBATCH_PARTITION", "SLURM_JOB_ID", "SLURM_CONF"):
        monkeypatch.setenv(name, "/x")
    printed = LocalRunner(["MY_TOKEN"]).run(["env"], timeout=30).decode().splitlines()
    names = {line.partition("=")[0] for line in printed}
    assert names & {"MY_TOKEN", "SBATCH_PARTITION", "SLURM_JOB_ID", "SLURM_CONF"} == {"SLURM_CONF"}


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "", "a;b", "a\nb", "$(x)", "@a", "-l@x"])
def test_a_host_is_no_option(host: str) -> None:
    with pytest.raises(InputError, match=r"host: expected the name of a host"):
        SshRunner(host)


def test_runners() -> None:
    assert isinstance(runner_of(""), LocalRunner)
    assert runner_of("ssh:alice@login.example.org").where == "alice@login.example.org"
    with pytest.raises(InputError, match='expected "ssh:HOST"'):
        runner_of("telnet:x")


# Secrets


def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("SLURM_JWT=eyJhbGciOi.x-y_z\n")
    token = read_token(file=str(tmp_path / "token"))
    assert token == "eyJhbGciOi.x-y_z"
    assert "eyJ" not in repr([token])
    monkeypatch.setenv("T", "abc")
    assert read_token(variable="T") == "abc"
    assert read_token() == ""


@pytest.mark.parametrize(
    "content", [b"", b"two words of secret", b"secret\r\nX-Header: y", b"secret\xff", "sécret".encode()]
)
def test_what_is_no_token_is_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(InputError) as error:
        read_token(file=str(tmp_path / "token"))
    assert "secret" not in str(error.value)
    assert "cret" not in str(error.value).replace("token", "")


@pytest.mark.parametrize(
    ("address", "token", "reason"),
    [
        ("ftp://x", "", 'rest: expected "unix:/PATH" or a URL of http or https'),
        ("unix:relative", "", 'rest: expected "unix:/PATH"'),
        ("http://x:99999", "", "rest: expected a port from 0 to 65535"),
        ("http://far.example.org:6820", "abc", "rest: expected https, as a token is sent, got http"),
        ("http://user:secret@x", "", "rest: expected an address without a user, got one with a user"),
    ],
)
def test_addresses(address: str, token: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        SlurmRest(address, token)
    assert str(error.value).startswith(reason)


def test_nobody_answers(tmp_path: Path) -> None:
    rest = SlurmRest(f"unix:{tmp_path}/none", timeout=0.2)
    with pytest.raises(SlurmAway, match=r"slurmrestd at unix:.*: no complete answer: No such file"):
        rest.jobs()
