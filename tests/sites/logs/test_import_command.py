"""`batproto import`, as users run it."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import packets
import pytest
from commands import run_here
from support import SHARED

from batprotocol.cli.main import batproto
from batprotocol.model import parse_hosts
from batprotocol.recordings.traffic import Traffic
from batprotocol.simulator import described_platform, read_platform, read_workload
from batprotocol.sites.logs.formats import FORMATS, read_log
from batprotocol.workloads.requests import expanded_names

WITHOUT_ENGINE = True

REAL = SHARED / "slurm" / "sacct"

SACCT = """\
JobID|User|Account|Partition|Submit|Start|End|State|NNodes|AllocCPUS|NodeList|Timelimit
7|ada|physics|batch|2026-03-02T08:00:00|2026-03-02T08:00:05|2026-03-02T08:20:05|COMPLETED|2|16|n[1-2]|01:00:00
8|bob|biology|batch|2026-03-02T08:01:00|2026-03-02T08:02:00|2026-03-02T08:31:00|COMPLETED|1|4|n3|00:30:00
9|ada|physics|gpu|2026-03-02T08:02:00|2026-03-02T08:02:10|2026-03-02T08:05:10|FAILED|1|4|n3|00:30:00
10|bob|biology|batch|2026-03-02T08:03:00|None|2026-03-02T08:10:00|CANCELLED|1|4|None assigned|00:30:00
"""
NODES = "NodeName=n[1-4] CPUs=8 RealMemory=1024\nPartitionName=batch Nodes=ALL\nPartitionName=gpu Nodes=n3\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(SACCT)
    return path


def test_a_workload_and_its_platform(log: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "slurm.conf"
    nodes.write_text(NODES)
    told = run_here("import", log, "--nodes", nodes, "-o", tmp_path / "w.json", "-p", tmp_path / "hosts.txt")
    assert (told.status, told.err) == (0, "")
    assert "3 jobs of 4 in the log, of 2 users" in told.out
    assert "1: the job never started (line 5)" in told.out
    assert "4 hosts with 32 cores, as the file of nodes describes them" in told.out
    workload = read_workload(tmp_path / "w.json")
    assert [submission.id for submission in workload] == ["w0!7", "w0!8", "w0!9"]
    assert json.loads(workload[2].job.extra_data or "")["recorded"] == {"start": 130, "hosts": "2"}
    platform = described_platform((tmp_path / "hosts.txt").read_text())
    assert [host.name for host in platform.hosts] == ["n1", "n2", "n3", "n4"]
    run_here("import", log, "--nodes", nodes, "-p", tmp_path / "hosts.xml")
    assert [host.name for host in read_platform(tmp_path / "hosts.xml").hosts] == ["n1", "n2", "n3", "n4"]


def test_each_policy_can_run_what_was_imported(log: Path, tmp_path: Path) -> None:
    run_here("import", log, "-o", tmp_path / "w.json", "-p", tmp_path / "hosts.xml")
    told = run_here("simulate", "easy", "-p", tmp_path / "hosts.xml", "-w", tmp_path / "w.json")
    assert "rejected" not in told.err
    assert re.search(r"jobs +3 \(2 succeeded, 1 failed\)", told.out)


@pytest.mark.skipif(not REAL.is_dir(), reason="the log of a real Slurm is not here")
def test_the_log_of_a_real_slurm(tmp_path: Path) -> None:
    nodes, hosts = REAL / "scontrol_show_nodes.txt", tmp_path / "hosts.xml"
    run_here("import", REAL / "sacct_P_wide.txt", "--nodes", nodes, "-o", tmp_path / "w.json", "-p", hosts)
    header, *rows = (line.split("|") for line in (REAL / "sacct_P_wide.txt").read_text().splitlines())
    last = {row[0]: dict(zip(header, row, strict=False)) for row in rows if "." not in row[0]}
    origin = min(at(row["Submit"]) for row in last.values() if row["Start"] != "Unknown")
    names = [host.name for host in read_platform(hosts).hosts]
    workload = read_workload(tmp_path / "w.json")
    for submission in workload:
        row = last[submission.id.removeprefix("w0!")]
        recorded = json.loads(submission.job.extra_data or "")["recorded"]
        assert origin + recorded["start"] == at(row["Start"])
        assert [names[number] for number in parse_hosts(recorded["hosts"])] == expanded_names(row["NodeList"])
        assert submission.job.resource_request == int(row["NNodes"])
    assert len(workload) == sum(row["Start"] != "Unknown" for row in last.values())
    told = run_here("simulate", "easy", "-p", hosts, "-w", tmp_path / "w.json")
    assert "rejected" not in told.err


def at(text: str) -> float:
    return datetime.fromisoformat(f"{text}+00:00").timestamp()


def test_a_table_is_the_log_again(log: Path, tmp_path: Path) -> None:
    for name in ("log.parquet", "log.csv"):
        run_here("import", log, "-o", tmp_path / name)
        assert list(read_log(tmp_path / name)) == list(read_log(log))
    first = json.loads(run_here("import", log, "--json").out)
    again = json.loads(run_here("import", tmp_path / "log.csv", "--json").out)
    assert first.pop("logs") != again.pop("logs")
    assert first == again


def test_a_key_gives_the_same_names(log: Path, tmp_path: Path) -> None:
    key = tmp_path / "key"
    told = run_here("import", log, "--anonymous", "-o", tmp_path / "1.csv")
    key.write_text(re.search(r"key: ([0-9a-f]{32});", told.err)[1])  # type: ignore[index]
    told = run_here(
        "import", log, "--key", key, "--anonymous-also", "partition", "-o", tmp_path / "2.csv", "-p", tmp_path / "h.txt"
    )
    assert told.err == ""
    one, two = (list(read_log(tmp_path / name)) for name in ("1.csv", "2.csv"))
    assert [job.user for job in one] == [job.user for job in two]
    text = (tmp_path / "2.csv").read_text() + (tmp_path / "h.txt").read_text()
    # New names are hexadecimal digits of a random key, and "ada" can be three of them.
    assert not re.search("(?<![0-9a-f])(?:ada|bob|physics|batch|gpu)(?![0-9a-f])", text)
    assert two[0].partition is not None
    assert two[0].partition in (tmp_path / "h.txt").read_text()


def test_a_period_and_two_files(log: Path, tmp_path: Path) -> None:
    told = run_here("import", log, log, "--from", "2026-03-02T08:01:00", "--to", "2026-03-02T08:02:00", "--json")
    found = json.loads(told.out)
    assert found["jobs"] == 1
    reasons = {each["reason"]: each["count"] for each in found["left_out"]}
    assert reasons["the same run is in the log before"] == 1
    assert reasons["the job was submitted after the period"] == 4


@pytest.mark.parametrize(
    ("options", "status", "error"),
    [
        (("nothere",), 1, "batproto: nothere: no such file or directory"),
        (("{log}", "-o", "x.swf"), 2, "name a file that ends with .json, .parquet or .csv"),
        (("{log}", "-p", "x.json"), 2, "name a file that ends with .txt or .xml"),
        (("{log}", "-f", "sact"), 1, "did you mean 'sacct'?"),
        (("{log}", "--zone", "Mars"), 1, "expected a zone such as 'Europe/Paris', got 'Mars'"),
        (("{log}", "--from", "then"), 1, "expected a moment such as 2026-11-23"),
        (("{log}", "--key", "{log}x"), 1, "no such file or directory"),
        (("{log}", "--nodes", "{log}"), 1, "expected the output of scontrol show node"),
        (("{log}", "-o", "{log}/x.json"), 1, "not a directory"),
        (("{log}", "--to", "2000-01-01", "-p", "h.txt"), 1, "there is no platform without hosts"),
        ((), 2, "missing argument 'LOG...'"),
    ],
)
def test_errors_are_one_sentence(log: Path, options: tuple[str, ...], status: int, error: str) -> None:
    told = run_here("import", *(option.replace("{log}", str(log)) for option in options))
    assert told.status == status
    assert error in told.err
    assert told.err.count("\n") == 1
    assert not Path("h.txt").exists()


def test_a_file_is_written_whole_or_not_at_all(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "log.parquet"
    output.write_bytes(b"before")
    log.write_bytes(SACCT.encode() + b"\n")
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(b"\x1f\x8b damaged")
    told = run_here("import", log, broken, "-f", "sacct", "-o", output)
    assert told.status == 1
    assert "the compressed file is damaged" in told.err
    assert output.read_bytes() == b"before"
    assert {path.name for path in tmp_path.iterdir()} == {"log.txt", "broken.csv.gz", "log.parquet"}


def test_the_help_lists_all_formats() -> None:
    text = batproto.commands["import"].help or ""
    listed = re.findall(r"^ +([a-z0-9-]+) {2,}", text[text.index("Formats:") : text.index("Examples:")], re.MULTILINE)
    assert sorted(listed) == sorted([*FORMATS, "pcap"])


PAUSED = """
import os, signal, sys, time
from batprotocol.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background without it

def pause(*arguments):
    print("all but in place", flush=True)
    time.sleep(600)

os.replace = pause
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    """However fast the command is: it is interrupted when the output is written, and not yet in its place."""
    log, output = tmp_path / "log.txt", tmp_path / "w.json"
    header, first = SACCT.splitlines()[:2]
    with log.open("w") as file:
        file.write(f"{header}\n")
        file.writelines(f"{first.replace('7|', f'{number}|', 1)}\n" for number in range(15_000))
    command = [sys.executable, "-c", PAUSED, "import", str(log), "-o", str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"all but in place\n"
        assert len(os.listdir(tmp_path)) == 2
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
    assert program.returncode == 130
    assert os.listdir(tmp_path) == ["log.txt"]


MEASURED = """
import resource, sys
from batprotocol.cli.main import main
try:
    main(sys.argv[1:])
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def memory_of(log: Path, output: Path, rows: int) -> int:
    """The mebibytes that an import of so many rows takes."""
    with log.open("w") as file:
        file.write("id,submitted,started,ended,hosts,user,walltime\n")
        for number in range(rows):
            begin = (number * 7919) % rows  # not sorted
            file.write(f"{number},{begin},{begin + 5},{begin + 65},n{number % 997},u{number % 101},600\n")
    command = [sys.executable, "-c", MEASURED, "import", str(log), "-o", str(output)]
    return int(subprocess.run(command, capture_output=True, check=True).stderr)


@pytest.mark.minutes
@pytest.mark.parametrize("name", ["w.json", "log.parquet", "log.csv"])
def test_memory_does_not_grow_with_the_log(tmp_path: Path, name: str) -> None:
    few = memory_of(tmp_path / "log.csv", tmp_path / f"out-{name}", 20_000)
    many = memory_of(tmp_path / "log.csv", tmp_path / f"out-{name}", 200_000)
    assert many < few + 50, (few, many)


@pytest.mark.parametrize("between", ["|", ";;", "\t"])
def test_rows_without_header(log: Path, tmp_path: Path, between: str) -> None:
    """The same rows without header, and with another delimiter, are the same jobs."""
    header, _, rest = SACCT.partition("\n")
    rows = tmp_path / "rows.txt"
    rows.write_text(rest.replace("|", between))
    given = ["--fields", header.replace("|", ", "), *([] if between == "|" else ["--delimiter", between])]
    for path, options in ((log, []), (rows, given)):
        told = run_here("import", path, *options, "-o", path.with_suffix(".json"))
        assert (told.status, told.err) == (0, "")
    assert rows.with_suffix(".json").read_text() == log.with_suffix(".json").read_text()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--fields", "JobID,,Start"], "expected names with commas between them"),
        (["--fields", "JobID,Start"], "got none for Submit and End"),
        (["--delimiter", ""], "expected a text, got nothing"),
        (["--fields", "JobID", "--format", "pbs"], "fields and a delimiter are for sacct"),
    ],
)
def test_fields_that_cannot_be(log: Path, options: list[str], reason: str) -> None:
    log.write_text(SACCT.partition("\n")[2])
    told = run_here("import", log, *options)
    assert told.status != 0
    assert reason in " ".join(told.err.split())


# Captured traffic

TRAFFIC = {path.name.partition(".")[0]: path for path in packets.CAPTURES[::5]}


@pytest.mark.parametrize("part", [1.0, 0.6, 0.0])
@pytest.mark.parametrize("name", TRAFFIC)
def test_a_capture_is_reported_as_it_was_read(name: str, part: float, tmp_path: Path) -> None:
    """Also one that ends too early, and one without packets: the status is 1 if a part of a conversation is missing."""
    data = gzip.decompress(TRAFFIC[name].read_bytes())
    path, kept = tmp_path / "traffic.pcapng", tmp_path / "run.tar"
    head = int.from_bytes(data[4:8], "little")  # the length of the first block, without which it is no capture
    path.write_bytes(data[: max(int(len(data) * part), head)])
    traffic = Traffic(path)
    messages = list(traffic)
    is_good = bool(messages) and part == 1.0
    told = run_here("import", path, "--json")
    assert told.status == int(not is_good)
    found = json.loads(told.out)
    assert [each["messages"] for each in found["conversations"]] == [
        {"batsim": each.batsim.whole, "edc": each.edc.whole} for each in traffic.conversations
    ]
    assert sum(sum(each["messages"].values()) for each in found["conversations"]) == len(messages)
    assert [each["is_whole"] for each in found["conversations"]] == [each.is_whole for each in traffic.conversations]
    assert (found["packets"], found["other_connections"]) == (traffic.packets, traffic.others)
    assert [each["count"] for each in found["left_out"]] == [each.count for each in traffic.left_out]
    shown = run_here("import", path)
    assert shown.status == told.status
    lines = shown.out.splitlines()
    assert lines[0] == f"{path}: {traffic.packets:,} packet{'s' * (traffic.packets != 1)}"
    for each in traffic.conversations:
        (line,) = (line for line in lines if line.startswith(f"conversation {each.number} "))
        assert f"{len(messages):,} messages, Batsim {each.batsim.end} (" in line
        assert f"), EDC {each.edc.end} (" in line
    assert any(re.fullmatch("conversations +none", line) for line in lines) is not bool(traffic.conversations)
    for remark in [*traffic.remarks, *(more for each in traffic.conversations for more in each.remarks)]:
        assert any(line.endswith(f" {remark}") for line in lines)
    written = run_here("import", path, "-o", kept)
    assert kept.exists() is bool(traffic.conversations)
    assert f"wrote {kept}" in written.out or not traffic.conversations


def test_the_first_of_many_windows_and_lines_are_shown(tmp_path: Path) -> None:
    """A report has at most eight lines of each, and says how many more there are."""
    for count in (7, 8, 9, 20):
        rows = []
        for number in range(count):
            at = f"2026-03-{number + 1:02}"
            times = f"{at}T08:00:00|{at}T08:00:05|{at}T08:20:05"
            rows.append(f"{number}|ada|p|batch|{times}|NODE_FAIL|1|{number + 1}|n{number}|01:00:00")
        path = tmp_path / "log.txt"
        path.write_text("\n".join([SACCT.partition("\n")[0], *rows]) + "\n")
        lines = run_here("import", path, "--check", "--unit", "shares").out.splitlines()
        begin = next(number for number, line in enumerate(lines) if line.startswith("windows"))
        shown = [line for line in lines[begin:] if " from " in line and "a host failed" in line]
        assert len(shown) == min(count, 8)
        more = [line.strip() for line in lines if line.strip().startswith("and ")]
        assert more == [f"and {count - 8} {word}{'s' * (count > 9)} more{end}" for word, end in ENDINGS if count > 8]


ENDINGS = [("line", ""), ("window", "; --json prints all")]
