"""The log of a real Slurm with accounting, and what Slurm itself wrote of the same jobs in other places.

`sacct` prints what slurmdbd has in its database. The plugin jobcomp/filetxt writes a line when a run ends, and knows
nothing of the database. `ids.txt` has the ids that sbatch printed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from commands import run_here

from batprotocol.model import parse_hosts
from batprotocol.workloads.requests import expanded_names

__all__ = ["SlurmLog", "each_job_is_there", "starts_are_those_of_the_plugin", "the_copy_is_the_log"]

STEP = "a step of a job: the row of the job has it all"
Start = tuple[str, float, tuple[str, ...]]
"""The id of a job, its start in seconds since 1970, and its hosts."""


class SlurmLog:
    """A log in a folder.

    Args:
        folder: where its files are written.
        files: their texts by their names.
    """

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        for name, text in files.items():
            (folder / name).write_text(text)

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        """The rows of jobs in the output of sacct."""
        header, *lines = (self.folder / "sacct.txt").read_text().splitlines()
        names = header.split("|")
        rows = [dict(zip(names, line.split("|"), strict=True)) for line in lines]
        return [row for row in rows if "." not in row["JobID"]]

    @cached_property
    def completions(self) -> list[dict[str, str]]:
        """The lines of jobcomp/filetxt."""
        lines = (self.folder / "jobcomp.txt").read_text().splitlines()
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]

    @cached_property
    def submitted(self) -> set[str]:
        """The ids that sbatch printed."""
        return set((self.folder / "ids.txt").read_text().split())

    def imported(self, *options: str, name: str = "sacct.txt") -> dict[str, Any]:
        """What `batproto import --json` prints, and the workload that it writes as `workload`."""
        output = self.folder / "w.json"
        told = run_here("import", self.folder / name, "--json", "-o", output, *options)
        assert (told.status, told.err) == (0, "")
        found: dict[str, Any] = json.loads(told.out)
        found["workload"] = json.loads(output.read_text())
        return found

    @property
    def nodes(self) -> tuple[str, str]:
        """The option that names the nodes."""
        return "--nodes", str(self.folder / "slurm.conf")

    def completed(self) -> Counter[Start]:
        """The runs that jobcomp/filetxt has."""
        found: Counter[Start] = Counter()
        for line in self.completions:
            id = f"{line['ArrayJobId']}_{line['ArrayTaskId']}" if "ArrayTaskId" in line else line["JobId"]
            if line["NodeList"] != "(null)":
                start = datetime.fromisoformat(line["StartTime"]).replace(tzinfo=timezone.utc).timestamp()
                found[id, start, tuple(sorted(expanded_names(line["NodeList"])))] += 1
        return found

    def taken(self, report: Mapping[str, Any]) -> Counter[Start]:
        """The runs that a workload has."""
        names = [name for line in report["machine"]["lines"] for name in expanded_names(line.split()[0])]
        found: Counter[Start] = Counter()
        for job in report["workload"]["jobs"]:
            recorded = json.loads(job["extra_data"])["recorded"]
            hosts = tuple(sorted(names[number] for number in parse_hosts(recorded["hosts"])))
            found[job["id"].partition("~")[0], report["time_0"] + recorded["start"], hosts] += 1
        return found


def each_job_is_there(log: SlurmLog) -> None:
    """Each job that was submitted is in the workload, or counted with a reason."""
    assert {row["JobID"].partition("_")[0] for row in log.rows} == log.submitted
    report = log.imported(*log.nodes)
    ids = {row["JobIDRaw"] for row in log.rows}
    left_out = {each["reason"]: each["count"] for each in report["left_out"] if each["whole_row"]}
    steps = left_out.pop(STEP)
    assert report["rows"] == len(ids)
    assert report["jobs"] + sum(left_out.values()) == len(ids)
    assert len({job["id"] for job in report["workload"]["jobs"]}) == report["jobs"]
    assert left_out == {"the job never started": sum(row["Start"] in ("None", "Unknown") for row in log.rows)}
    assert steps >= report["jobs"] - 5  # jobs of some seconds may have none


def starts_are_those_of_the_plugin(log: SlurmLog) -> None:
    """Starts and hosts are those that jobcomp/filetxt wrote, also of runs that were requeued."""
    assert log.taken(log.imported(*log.nodes, "--attempts", "all")) == log.completed()


def the_copy_is_the_log(log: SlurmLog, *options: str) -> dict[str, Any]:
    """All jobs start on their hosts in their seconds in the copy."""
    report = log.imported(*log.nodes, "--check", *options)
    check = report["check"]
    assert check["jobs"] == report["jobs"]
    assert check["not_started"] == 0
    assert check["conflicts"] == []
    assert check["equal_starts"] == check["equal_hosts"] == check["jobs"]
    return report
