"""Published logs in their documented forms, made of a few drawn numbers, for the tests that change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from random import Random
from typing import Any, Final

import pyarrow

__all__ = [
    "CSV",
    "JSON_ROWS",
    "PAI_JOBS",
    "TABLES",
    "as_csv",
    "elastisim_jobs",
    "lanl_text",
    "philly_text",
    "trace_text",
]

_ROWS: Final = 40
_BEGIN: Final = 1_600_000_000


def _times(draw: Random) -> tuple[int, int, int]:
    """A submission, a start and an end."""
    submitted = _BEGIN + draw.randrange(10**6)
    started = submitted + draw.randrange(5000)
    return submitted, started, started + draw.randrange(1, 9000)


def _at(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _rows(make: Callable[[Random, int], dict[str, Any]], seed: str) -> list[dict[str, Any]]:
    draw = Random(seed)
    return [make(draw, number) for number in range(1, _ROWS + 1)]


def as_csv(rows: Iterable[dict[str, Any]], header: bool = True) -> str:
    """Rows as CSV. No value has a comma or a quotation mark outside of it that has to be quoted."""
    given = list(rows)
    lines = [
        ",".join('"' + str(each) + '"' if "," in str(each) else str(each) for each in row.values()) for row in given
    ]
    return "\n".join([*([",".join(given[0])] if header else []), *lines]) + "\n"


def _helios(draw: Random, number: int) -> dict[str, Any]:
    submitted, started, ended = _times(draw)
    return {
        "job_id": 1425000 + number,
        "user": f"u{draw.randrange(9)}",
        "vc": f"vc{draw.randrange(3)}",
        "gpu_num": draw.randrange(9),
        "cpu_num": draw.randrange(1, 64),
        "node_num": draw.randrange(1, 4),
        "state": draw.choice(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"]),
        "submit_time": _at(submitted),
        "start_time": draw.choice([_at(started), "None"]),
        "end_time": _at(ended),
        "duration": ended - started,
        "queue": started - submitted,
    }


def _philly(draw: Random, number: int) -> dict[str, Any]:
    submitted, started, ended = _times(draw)
    gpus = [{"ip": f"m{draw.randrange(99)}", "gpus": ["gpu0", "gpu1"][: draw.randrange(3)]} for _ in range(2)]
    first = {"start_time": _at(submitted), "end_time": _at(started), "detail": gpus[:1]}
    last = {"start_time": _at(started), "end_time": draw.choice([_at(ended), None]), "detail": gpus}
    return {
        "status": draw.choice(["Pass", "Killed", "Failed"]),
        "vc": f"vc{draw.randrange(3)}",
        "jobid": f"application_{number}",
        "attempts": [first, last][draw.randrange(3) :],
        "submitted_time": _at(submitted),
        "user": f"u{draw.randrange(9)}",
    }


def _pai(draw: Random, number: int) -> dict[str, Any]:
    _, started, ended = _times(draw)
    return {
        "job_name": f"j{number}",
        "task_name": draw.choice(["worker", "ps"]),
        "inst_num": float(draw.randrange(1, 9)),
        "status": draw.choice(["Terminated", "Failed", "Running"]),
        "start_time": float(started),
        "end_time": draw.choice(["", "0.0", float(ended)]),
        "plan_cpu": 600.0,
        "plan_mem": 29.296875,
        "plan_gpu": draw.choice(["", 50.0, 200.0]),
        "gpu_type": "MISC",
    }


def _pai_job(draw: Random, number: int) -> dict[str, Any]:
    return {"job": f"j{number}", "inst": "i", "user": f"u{number % 5}", "status": "Failed", "at": 1.5e9, "end": 1.6e9}


def _openb(draw: Random, number: int) -> dict[str, Any]:
    submitted, started, ended = _times(draw)
    return {
        "name": f"openb-pod-{number:04}",
        "cpu_milli": draw.randrange(1, 99) * 500,
        "memory_mib": draw.randrange(99999),
        "num_gpu": draw.randrange(3),
        "gpu_milli": 220,
        "gpu_spec": draw.choice(["", "V100M16|V100M32"]),
        "qos": "BE",
        "pod_phase": draw.choice(["Running", "Succeeded", "Failed", "Pending"]),
        "creation_time": submitted,
        "deletion_time": ended,
        "scheduled_time": draw.choice([float(started), ""]),
    }


def _pm100(draw: Random, number: int) -> dict[str, Any]:
    submitted, started, ended = _times(draw)
    hosts = [f"r205n{draw.randrange(20)}" for _ in range(draw.randrange(1, 4))]
    return {
        "job_id": number,
        "user_id": draw.randrange(9),
        "group_id": draw.randrange(3),
        "partition": draw.randrange(3),
        "qos": draw.randrange(3),
        "priority": draw.randrange(99999),
        "job_state": draw.choice(["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY"]),
        "nodes": str(hosts),
        "num_cores_alloc": 128 * len(hosts),
        "num_nodes_alloc": len(hosts),
        "num_gpus_alloc": 4 * len(hosts),
        "mem_alloc": 237 * len(hosts),
        "num_nodes_req": len(hosts),
        "num_cores_req": 128,
        "num_gpus_req": 4,
        "mem_req": 200.5,
        "time_limit": 1440.0,
        "run_time": ended - started,
        "submit_time": datetime.fromtimestamp(submitted, timezone.utc),
        "eligible_time": draw.choice([None, datetime.fromtimestamp(submitted, timezone.utc)]),
        "start_time": datetime.fromtimestamp(started, timezone.utc),
    }


def _fugaku(draw: Random, number: int) -> dict[str, Any]:
    submitted, started, ended = _times(draw)
    return {
        "jid": f"j{number}",
        "usr": f"u{draw.randrange(9)}",
        "jnam": "a name",
        "cnumat": 48 * draw.randrange(1, 99),
        "cnumr": 48,
        "nnuma": draw.randrange(1, 99),
        "nnumr": 1,
        "adt": _at(submitted),
        "qdt": _at(submitted),
        "sdt": f"{_at(started)}.5",
        "edt": _at(ended + 1),
        "elpl": 3600.0,
        "pri": 127,
        "exit state": draw.choice(["completed", "failed"]),
        "ec": draw.randrange(-2, 3),
    }


def _opendc(draw: Random, number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "submission_time": draw.randrange(10**9),
        "duration": draw.randrange(10**7),
        "cpu_count": draw.randrange(1, 9),
        "cpu_capacity": 11_000.0,
        "mem_capacity": 2_000,
        "gpu_count": draw.randrange(3),
        "name": "a",
    }


CSV: Final[dict[str, tuple[str, bool]]] = {
    "pm100": (as_csv(_rows(_pm100, "pm100")), True),
    "fugaku": (as_csv(_rows(_fugaku, "fugaku")), True),
    "helios": (as_csv(_rows(_helios, "helios")), True),
    "alibaba-2020": (as_csv(_rows(_pai, "pai"), header=False), False),
    "alibaba-2023": (as_csv(_rows(_openb, "openb")), True),
}
"""The logs that can be CSV, each with a text, and whether its first line is a header."""

PAI_JOBS: Final = as_csv(_rows(_pai_job, "pai jobs"), header=False)
"""The table of jobs that belongs to that of Alibaba's tasks."""

JSON_ROWS: Final = {
    "philly": _rows(_philly, "philly"),
    "helios": _rows(_helios, "helios"),
    "alibaba-2020": _rows(_pai, "pai"),
}
"""Logs as objects of JSON. Any table may be JSON, and have values there that CSV does not have."""

TABLES: Final = {
    name: pyarrow.Table.from_pylist(_rows(make, name))
    for name, make in (("pm100", _pm100), ("fugaku", _fugaku), ("opendc", _opendc))
}
"""The logs that are Parquet."""


def philly_text(is_array: bool) -> str:
    """The log of Philly, as an array, or with an object on each line."""
    rows = JSON_ROWS["philly"]
    return json.dumps(rows, indent=1) if is_array else "\n".join(map(json.dumps, rows)) + "\n"


def elastisim_jobs() -> list[dict[str, Any]]:
    """Jobs of ElastiSim that have a run time."""
    task = {"type": "busy_wait", "delay": "steps*2", "pattern": "uniform"}
    phases = [{"iterations": "rounds", "tasks": [task, {"type": "sequence", "iterations": 2, "tasks": [task]}]}]
    return [
        {
            "type": "rigid",
            "submit_time": number * 3,
            "num_nodes": 1 + number % 4,
            "num_gpus_per_node": number % 3,
            "walltime": 60 * (number % 5),
            "application_model": {"on_init": {"tasks": [{"type": "idle", "delay": 5}]}, "phases": phases},
            "arguments": {"rounds": 3, "steps": "2.5", "label": "x y"},
            "attributes": {"user": f"u{number % 3}", "priority": number},
        }
        for number in range(_ROWS)
    ]


def trace_text() -> str:
    """A table event_trace of the Failure Trace Archive."""
    draw, lines = Random("trace"), []
    for number in range(_ROWS):
        _, began, ended = _times(draw)
        values = [number, 0, draw.randrange(9), 1, "NULL", draw.randrange(2), began, draw.choice([ended, "NULL"]), 6]
        lines.append("\t".join(map(str, values)))
    columns = "event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time"
    return "\n".join(["# " + "\t".join([*columns.split(), "event_end_reason"]), *lines]) + "\n"


def lanl_text() -> str:
    """A table of failures of Los Alamos."""
    draw, lines = Random("lanl"), ["System,nodes,nodenum,nodenumz,Prob Started,Prob Fixed,Hardware,Software"]
    for _ in range(_ROWS):
        _, began, ended = _times(draw)
        times = [datetime.fromtimestamp(each, timezone.utc).strftime("%m/%d/%Y %H:%M") for each in (began, ended + 60)]
        node = draw.randrange(49)
        lines.append(f'{draw.randrange(2, 21)},49,{node + 1},{node},{times[0]},{times[1]},"Disk, fe",')
    return "\n".join(lines) + "\n"
