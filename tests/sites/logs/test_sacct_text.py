"""The output of sacct, read as jobs: the samples of a real Slurm, in all the forms that sacct's options can give."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import tempfile
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacct_lines import fixed, parsable, read, reasons, sample, sample_rows
from support import DATA
from work import lines_of

from batprotocol.errors import InputError
from batprotocol.sites.logs import AttemptState, LeftOut, LoggedJob
from batprotocol.sites.logs.managers.sacct import read_sacct

WITHOUT_ENGINE = True

ROWS = sample_rows()
NAMES = list(ROWS[0])
NEEDED = ["JobID", "Submit", "Start", "End", "User", "JobName", "NNodes"]
STEPS = sum("." in row["JobID"] for row in ROWS)
STEP = "a step of a job: the row of the job has it all"


def jobs_of(text: str | bytes, zone: str | None = None) -> list[LoggedJob]:
    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder), text, zone=zone)[0]


EXPECTED = jobs_of(parsable(ROWS, NAMES))


def test_the_sample_of_a_real_slurm(tmp_path: Path) -> None:
    jobs, left_out = read(tmp_path, sample("sacct.txt"))
    assert {reason: count for reason, (count, _) in reasons(left_out).items()} == {STEP: 32}
    by_id = {job.id: job for job in jobs}
    assert len(jobs) == len(by_id) == 26
    assert [attempt.state for attempt in by_id["14"].attempts] == [AttemptState.PREEMPTED, AttemptState.COMPLETED]
    assert [attempt.hosts for attempt in by_id["19"].attempts] == [("n5", "n6"), ("n2", "n3")]
    assert (by_id["12"].dependency, by_id["14"].exclusive, by_id["1"].exclusive) == ("afterok:1", True, None)
    assert (by_id["22"].gres, by_id["22"].requested_gres) == ((("gpu", 2),), (("gpu", 2),))
    assert (by_id["3_0"].array, by_id["17+1"].array) == ("3", None)
    assert (by_id["15"].first.exit_code, by_id["15"].first.signal) == (0, 9)
    assert (by_id["14"].cores, by_id["14"].requested_cores) == (4, 1)
    assert (by_id["29"].reservation, by_id["28"].priority, by_id["16"].qos) == ("rsv", 0, "high")
    assert by_id["16"].name == "oom"  # its command line and its comment have the delimiter
    assert by_id["2"].walltime == 300.0
    assert by_id["19"].memory == 3000 * 2**20


def test_all_fields_of_a_real_slurm_have_the_same_jobs() -> None:
    group = {job.group for job in jobs_of(sample("sacct-all.txt"))}
    assert group == {"root"}
    ungrouped = [line.split("|") for line in sample("sacct-all.txt").splitlines()]
    place = ungrouped[0].index("Group")
    text = "\n".join("|".join(line[:place] + line[place + 1 :]) for line in ungrouped)
    text = text.replace("|GID|", "|gid of no one|")
    assert jobs_of(text) == jobs_of(sample("sacct.txt"))


@settings(max_examples=15)
@given(
    st.permutations(NAMES),
    st.integers(0, len(NAMES)),
    st.sampled_from(["|", ",,", "\t", "^", "\x01", "@@"]),
    st.booleans(),
)
def test_any_fields_in_any_order_with_any_delimiter(names: list[str], count: int, delimiter: str, is_p: bool) -> None:
    chosen = [name for place, name in enumerate(names) if place < count or name in NEEDED]
    found = jobs_of(parsable(ROWS, chosen, delimiter, delimiter if is_p else ""))
    assert [(job.id, job.line, job.name) for job in found] == [(job.id, job.line, job.name) for job in EXPECTED]
    for job, expected in zip(found, EXPECTED, strict=True):
        assert [each.submitted for each in job.attempts] == [each.submitted for each in expected.attempts]
        assert [each.ended for each in job.attempts] == [each.ended for each in expected.attempts]
        for column, name in {
            "Account": "account",
            "QOS": "qos",
            "Priority": "priority",
            "Partition": "partition",
        }.items():
            assert getattr(job, name) == (getattr(expected, name) if column in chosen else None)
    if count == len(NAMES):
        assert found == EXPECTED


@settings(max_examples=10)
@given(st.permutations([name for name in NAMES if name not in ("SubmitLine", "JobName", "Comment", "Flags")]))
def test_lists_may_have_commas_that_are_also_the_delimiter(names: list[str]) -> None:
    """Names of hosts and resources are divided where no other column fits; a row with two ways is counted."""
    expected = {job.id: job for job in jobs_of(parsable(ROWS, names))}
    with tempfile.TemporaryDirectory() as folder:
        found, left_out = read(Path(folder), parsable(ROWS, names, ","))
    if abs(names.index("AllocTRES") - names.index("ReqTRES")) > 1:
        assert {job.id: job for job in found} == expected
    else:  # of two neighbours, nobody knows where the first one ends
        assert left_out.rows >= len(expected) - len(found)


def test_hosts_and_resources_with_commas(tmp_path: Path) -> None:
    lines = [
        "JobID,Submit,Start,End,State,NNodes,AllocTRES,NodeList,Account",
        "1,2026-11-23T22:00:00,2026-11-23T22:01:00,2026-11-23T22:05:00,FAILED,3,cpu=6,mem=4G,node=3,n[1,3-4],a",
        "2,2026-11-23T22:00:00,2026-11-23T22:01:00,2026-11-23T22:05:00,FAILED,1,cpu=6,node=1,n1,a",
        "3,2026-11-23T22:00:00,2026-11-23T22:01:00,2026-11-23T22:05:00,FAILED,2,,r1-n[1,3],r2,b",
        "4,2026-11-23T22:00:00,Unknown,2026-11-23T22:05:00,CANCELLED by 7,2,,None assigned,b",
    ]
    jobs, left_out = read(tmp_path, "\n".join(lines))
    assert [(job.id, job.cores, job.account, job.last.hosts) for job in jobs] == [
        ("1", 6, "a", ("n1", "n3", "n4")),
        ("2", 6, "a", ("n1",)),
        ("3", None, "b", ("r1-n1", "r1-n3", "r2")),
        ("4", None, "b", ()),
    ]
    assert not list(left_out)


@settings(max_examples=10)
@given(st.permutations([name for name in NAMES if name != "SubmitLine"]))
def test_columns_of_a_fixed_width(names: list[str]) -> None:
    found = jobs_of(fixed(ROWS, names))
    parsed = jobs_of(parsable(ROWS, names))
    assert [job.line for job in found] == [job.line + 1 for job in parsed]
    assert [(job.id, job.attempts, job.gres, job.qos) for job in found] == [
        (job.id, job.attempts, job.gres, job.qos) for job in parsed
    ]


def test_values_that_are_cut_are_counted(tmp_path: Path) -> None:
    names = ["JobID", "Submit", "Start", "End", "State", "NodeList", "AllocTRES"]
    jobs, left_out = read(tmp_path, fixed(ROWS, names, 19))
    assert [job.id for job in jobs] == [job.id for job in EXPECTED]
    assert all(job.memory is None for job in jobs if job.cores is None)
    assert set(reasons(left_out)) == {STEP, "the value of alloctres cannot be read"}


@settings(max_examples=15)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(random_numbers: random.Random) -> None:
    rows = random_numbers.sample(ROWS, len(ROWS))
    key = lambda job: job.id  # noqa: E731
    found, expected = sorted(jobs_of(parsable(rows, NAMES)), key=key), sorted(EXPECTED, key=key)
    assert [(job.id, job.attempts, job.cores) for job in found] == [
        (job.id, job.attempts, job.cores) for job in expected
    ]


def test_a_log_that_is_there_twice(tmp_path: Path) -> None:
    text = parsable(ROWS, NAMES)
    jobs, left_out = read(tmp_path, text + text)
    assert sorted(jobs, key=lambda job: job.line) == sorted(EXPECTED, key=lambda job: job.line)
    assert reasons(left_out) == {
        STEP: (2 * STEPS, (3, 5, 6, 7, 8)),
        "the row says the same again, or less: the log has it twice": (len(ROWS) - STEPS, reasons(left_out)[SAME][1]),
        "the header again": (1, (len(ROWS) + 2,)),
    }


SAME = "the row says the same again, or less: the log has it twice"
TIMES = "JobID|User|Submit|Start|End|State|NNodes"


def test_a_row_that_was_written_while_the_job_ran(tmp_path: Path) -> None:
    lines = [
        TIMES,
        "5|u|2026-11-23T22:00:00|Unknown|Unknown|PENDING|1",
        "5|u|2026-11-23T22:00:00|2026-11-23T22:01:00|Unknown|RUNNING|1",
        "5|u|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1",
    ]
    for order in ([0, 1, 2, 3], [0, 3, 2, 1], [0, 2, 3, 1]):
        (job,), left_out = read(tmp_path, "\n".join(lines[place] for place in order))
        assert [attempt.state for attempt in job.attempts] == [AttemptState.FAILED]
        assert reasons(left_out)[SAME][0] == 2


def test_an_id_that_came_again_after_years(tmp_path: Path) -> None:
    lines = [
        TIMES,
        "5|u|2020-11-23T22:00:00|2020-11-23T22:01:00|2020-11-23T22:05:00|FAILED|1",
        "5|v|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|COMPLETED|1",
    ]
    jobs, left_out = read(tmp_path, "\n".join(lines))
    assert [(job.id, job.user, len(job.attempts)) for job in jobs] == [("5", "u", 1), ("5~2", "v", 1)]
    assert list(reasons(left_out).values()) == [(1, (3,))]


@pytest.mark.parametrize(
    ("state", "gap", "is_same"),
    [
        *(("COMPLETED", 2, True), ("COMPLETED", 280, True), ("COMPLETED", 2 * 3600, False)),
        *(("TIMEOUT", 300, True), ("FAILED", 5 * 365 * 86400, False), ("CANCELLED by 1000", 3 * 365 * 86400, False)),
        *(("NODE_FAIL", 2, True), ("NODE_FAIL", 86400, True), ("REQUEUED", 0, True), ("PREEMPTED", 365 * 86400, False)),
    ],
)
def test_a_job_runs_again_when_it_stops_and_an_id_comes_again_later(
    tmp_path: Path, state: str, gap: int, is_same: bool
) -> None:
    """One id, user and name: SubmitTime of a job that is requeued is when it stops, and Slurm forgets it soon after."""
    end = datetime(2020, 11, 23, 22, 5)
    again = [end + timedelta(seconds=gap + seconds) for seconds in (0, 121, 500)]
    lines = [
        f"{TIMES}|JobName",
        f"5|u|2020-11-23T22:00:00|2020-11-23T22:01:00|{end.isoformat()}|{state}|1|run",
        f"5|u|{'|'.join(each.isoformat() for each in again)}|COMPLETED|1|run",
    ]
    for order in ((0, 1, 2), (0, 2, 1)):
        jobs, left_out = read(tmp_path, "\n".join(lines[place] for place in order))
        assert [(job.id, len(job.attempts)) for job in jobs] == ([("5", 2)] if is_same else [("5", 1), ("5~2", 1)])
        assert len(list(left_out)) == (not is_same)


def test_an_id_that_came_again_twice_with_requeues(tmp_path: Path) -> None:
    rows, begin = [], datetime(2018, 1, 1)
    for year in range(3):
        now = begin + timedelta(days=365 * year)
        for state in ("NODE_FAIL", "REQUEUED", "COMPLETED"):
            times = [now, now + timedelta(seconds=121), now + timedelta(seconds=500)]
            rows.append(f"5|u|{'|'.join(each.isoformat() for each in times)}|{state}|1")
            now = times[-1] + timedelta(seconds=1)
    jobs, _ = read(tmp_path, "\n".join([TIMES, *rows]))
    assert [(job.id, [attempt.state.value for attempt in job.attempts]) for job in jobs] == [
        (id, ["NODE_FAIL", "REQUEUED", "COMPLETED"]) for id in ("5", "5~2", "5~3")
    ]


def test_a_value_that_cannot_be_read_counts_once_and_not_with_its_row(tmp_path: Path) -> None:
    lines = [
        f"{TIMES}|Priority|Elapsed",
        "1|u|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|BROKEN|1|x|00:04:00",
        "2|u|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|BROKEN|1|7|00:04:00",
        "3|u|2026-11-23T22:00:00|2026-11-23T22:01:00|today|BROKEN|1|x|00:04:00",
    ]
    jobs, left_out = read(tmp_path, "\n".join(lines))
    assert [job.id for job in jobs] == ["1", "2"]
    assert reasons(left_out) == {
        "the value of state cannot be read": (2, (2, 3)),
        "the value of priority cannot be read": (1, (2,)),
        "a time cannot be read": (1, (4,)),
    }


def test_a_real_sacct_counts_bytes(tmp_path: Path) -> None:
    """Columns of a fixed width against the same jobs as -P prints them; some ran again after their end."""
    found, left_out = read(tmp_path, lzma.decompress((DATA / "logs" / "sacct-bytes.txt.xz").read_bytes()))
    expected, _ = read(tmp_path, lzma.decompress((DATA / "logs" / "sacct-bytes-parsable.txt.xz").read_bytes()))
    assert not list(left_out)
    assert len(found) == len(expected) == 8
    for job, same in zip(found, expected, strict=True):
        assert job.id == same.id
        assert [each.started for each in job.attempts] == [each.started for each in same.attempts]
        assert [each.state for each in job.attempts] == [each.state for each in same.attempts]
        assert (same.name or "").startswith((job.name or "").rstrip("+\ufffd"))
    again = [job.id for job in found if len(job.attempts) == 2]
    assert again == ["1", "4", "7", "8"]  # they had ended with several states, which sacct replaces by REQUEUED


@pytest.mark.parametrize("counts", ["bytes", "characters"])
def test_columns_of_a_fixed_width_with_other_characters(tmp_path: Path, counts: str) -> None:
    """sacct counts bytes, and cuts characters in two."""
    names = ["größe", "模拟", "aé" * 20, "plain", "ü" * 9, "n" + "ü" * 9]
    widths = {"JobID": 6, "JobName": 10, "User": 4, "Submit": 19, "Start": 19, "End": 19, "State": 10, "NNodes": 6}
    lines = [" ".join(name.rjust(width) for name, width in widths.items()), " ".join("-" * n for n in widths.values())]
    text = "\n".join(lines).encode() + b"\n"
    for number, name in enumerate(names, 1):
        moment = "2026-11-23T22:0{}:00"
        cells = [str(number), name, "ü", *(moment.format(minute) for minute in (0, 1, 5)), "COMPLETED", "1"]
        line = []
        for cell, width in zip(cells, widths.values(), strict=True):
            if counts == "bytes":
                data = cell.encode()
                data = data if len(data) <= width else data[: width - 1] + b"+"
                line.append(data.rjust(width))
            else:
                line.append((cell if len(cell) <= width else f"{cell[: width - 1]}+").rjust(width).encode())
        text += b" ".join(line) + b" \n"
    jobs, left_out = read(tmp_path, text)
    assert not list(left_out)
    assert [job.id for job in jobs] == [str(number) for number in range(1, len(names) + 1)]
    assert {job.user for job in jobs} == {"ü"}
    assert {(job.last.started or 0.0) - job.last.submitted for job in jobs} == {60.0}
    assert [job.name for job in jobs][:2] == names[:2]
    for job, name in zip(jobs, names, strict=True):
        known = (job.name or "").rstrip("+").rstrip("\ufffd")
        assert name.startswith(known)
        assert len(known) >= 4 or known == name


def test_texts_with_ends_of_lines_and_delimiters(tmp_path: Path) -> None:
    lines = [
        "JobID|JobName|Submit|Start|End|State|NNodes|SubmitLine|Comment",
        "1|a|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1|sbatch --wrap echo 1",
        "sleep 2 | cat",
        "",
        "date|none",
        "2|b|c|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1|sbatch|x|y",
        "3|b|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1|sbatch --wrap",
        "4|b|2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1|sbatch|",
    ]
    jobs, left_out = read(tmp_path, "\n".join(lines))
    assert [(job.id, job.line, job.name) for job in jobs] == [("1", 2, "a"), ("2", 6, "b|c"), ("4", 8, "b")]
    assert reasons(left_out) == {"the row has fewer values than the header": (2, (5, 7))}


def test_a_file_without_header(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(sample("sacct-noheader.txt"))
    fields = "JobID,User,Submit,Eligible,Start,End,State%20,NNodes,NodeList,TimelimitRaw,ElapsedRaw,ExitCode"
    fields += ",ReqTRES,AllocTRES"
    jobs = list(read_sacct(path, LeftOut(), fields=fields.split(",")))
    expected = {job.id: job for job in jobs_of(sample("sacct.txt"))}
    assert len(jobs) == len(expected)
    for job in jobs:
        same = expected[job.id]
        assert (job.attempts, job.walltime, job.cores) == (same.attempts, same.walltime, same.cores)
    with pytest.raises(InputError, match=r"log:1: expected sacct's header.*'1\|u1.*use sacct without --noheader"):
        list(read_sacct(path, LeftOut()))


def test_compressed_files_and_pipes(tmp_path: Path) -> None:
    text = parsable(ROWS, NAMES).encode()
    assert jobs_of(gzip.compress(text)) == EXPECTED
    assert jobs_of(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")) == EXPECTED
    with pytest.raises(InputError, match="the compressed file is damaged"):
        jobs_of(gzip.compress(text)[:-40])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    assert list(read_sacct(pipe, LeftOut())) == EXPECTED
    writer.join()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected sacct's header, such as"),
        ("hello\n", "expected sacct's header, such as"),
        ("1 2 3\n", "expected sacct's header, such as"),
        (
            "JobID|JobName|Partition\n",
            "expected the columns JobID, Submit, Start and End, got none for Submit, Start and End",
        ),
        ("User|Submit|Start|End\n", "got none for JobID; use sacct --allusers"),
        (
            "JobID Submit Start End\n1 2 3 4\n",
            "expected a line of dashes below columns of a fixed width, got '1 2 3 4'",
        ),
    ],
)
def test_files_that_are_not_of_sacct(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        jobs_of(text)
    assert sentence in str(caught.value)
    assert "log" in str(caught.value)


def test_another_cluster_is_counted(tmp_path: Path) -> None:
    row = "2026-11-23T22:00:00|2026-11-23T22:01:00|2026-11-23T22:05:00|FAILED|1"
    text = f"Cluster|JobID|Submit|Start|End|State|NNodes\na|1|{row}\nb|1|{row}\na|2|{row}\n"
    jobs, left_out = read(tmp_path, text)
    assert [job.id for job in jobs] == ["1", "2"]
    assert reasons(left_out) == {"the job is of another cluster than the first one of the log": (1, (3,))}


def test_a_line_of_delimiters_takes_bounded_work(tmp_path: Path) -> None:
    header = "JobID|Comment|AdminComment|SystemComment|JobName|SubmitLine|Submit|Start|End|State|NNodes"

    def work(count: int) -> int:
        return lines_of(lambda: read(tmp_path, f"{header}\n1{'|' * count}"))

    work(20)
    assert work(5_000) <= 40 * work(20) + 200_000
    assert reasons(read(tmp_path, f"{header}\n1{'|' * 5_000}")[1]) == {
        "the row cannot be divided into the columns of the header": (1, (2,))
    }
