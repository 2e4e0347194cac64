"""What a recorded Batsim 4.2.1 was started with, as far as it is at hand: for simulating the same once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from old_runs import KEPT, OldRun, old_runs
from procset import ProcSet
from support import DATA, SHARED

from batprotocol.legacy import decode
from batprotocol.legacy import json_events as e
from batprotocol.legacy.translate import Options
from batprotocol.simulator import Platform, read_platform

# What Batsim 4 had under the same name comes first.
FOLDERS = (KEPT / "inputs", SHARED / "inputs", DATA / "simulations" / "inputs")
KNOWN = {"-s", "-e", "-p", "-w", "--mmax", "--mmax-workload", "-E", "--forward-profiles-on-submission"}
"""The options of Batsim that are understood here."""


class Inputs(NamedTuple):
    """What is simulated: a platform, a workload, and with which options."""

    platform: Platform
    workload: Path
    energy: bool
    options: Options


def found(kind: str, name: str) -> Path | None:
    """A file of the inputs, if it is at hand."""
    places = [folder / place / name for folder in FOLDERS for place in ("", kind)]
    return next((path for path in places if path.is_file()), None)


def inputs_of(run: OldRun) -> Inputs | None:
    """What a run simulated; None if it is not at hand, or was another file of the same name."""
    command = run.facts.get("batsim_cmd", [])
    given = {option: value for option, value in zip(command, [*command[1:], ""], strict=True) if option[0] == "-"}
    if run.version != "v4.2.1" or not KNOWN.issuperset(given) or "-w" not in given:
        return None
    platform = found("platforms", Path(given["-p"]).name)
    workload = found("workloads", Path(given["-w"]).name)
    if platform is None or workload is None:
        return None
    jobs = json.loads(workload.read_text())
    if {f"w0!{job['id']}": f"{job['subtime']:.6f}" for job in jobs["jobs"]} != submitted(run):
        return None
    mmax = jobs["nb_res"] if "--mmax-workload" in given else int(given["--mmax"]) if "--mmax" in given else None
    energy = "-E" in given
    options = Options(forward_profiles="--forward-profiles-on-submission" in given)
    return Inputs(read_platform(platform, mmax=mmax, energy=energy), workload, energy, options)


def submitted(run: OldRun) -> dict[str, str]:
    """When each job was to be submitted, as a Batsim of that age prints it."""
    said: list[dict[str, Any]] = [json.loads(data) for sender, data in run.messages if sender == "b2s"]
    events = [event for message in said for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
    return {event["data"]["job_id"]: f"{event['data']['job']['subtime']:.6f}" for event in events}


def started(run: OldRun) -> dict[str, tuple[float, int]]:
    """When each job was started, and on how many hosts."""
    found = {}
    for _, data in run.messages:
        message = decode(data, run.version)
        for event in message.events:
            if isinstance(event, e.ExecuteJob):
                found[event.job_id] = (message.now, len(ProcSet.from_str(event.alloc)))
    return found


SIMULATED = {run.name: inputs for run in old_runs() if run.is_clean and (inputs := inputs_of(run)) is not None}
"""What is simulated in each recorded run that ended well and can be simulated once more."""
