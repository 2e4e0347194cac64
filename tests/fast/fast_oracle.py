"""What fast-lib wrote, accepted and refused, and what was recorded: all of it where it lies beside, else a part."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from support import DATA, SHARED

from batprotocol.fast import values as v
from batprotocol.fast.topics import Topic
from batprotocol.fast.wire import decode, decode_as

__all__ = ["Golden", "Verdict", "goldens", "read", "recordings", "tree_of_verdict", "value_of", "verdicts"]

FOLDER = SHARED / "fast" if (SHARED / "fast").is_dir() else DATA / "fast"

CLASSES: dict[str, Any] = {
    "migfra::Task_container": None,  # which one, its task tells
    "migfra::Result_container": v.Result,
    "agent::init": v.Init,
    "agent::init_agent": v.InitAgent,
    "agent::stop_monitoring": v.StopMonitoring,
    "agent::job_description": v.JobDescription,
    "agent::kpis": v.KPIConfiguration,
    "agent::mmbwmon::request": v.MmbwmonRequest,
    "agent::mmbwmon::reply": v.MmbwmonResponse,
    "agent::mmbwmon::stop": v.MmbwmonStop,
    "agent::mmbwmon::restart": v.MmbwmonRestart,
    "agent::mmbwmon::ack": v.MmbwmonStopAck,
    "agent::mmbwmon::system_info": v.SystemInfo,
    "migfra::PCI_addr": v.PCIAddress,
    "migfra::PCI_id": v.PCIId,
    "migfra::Result": v.VMResult,
    "migfra::Task": v.TaskOptions,
    "migfra::Quit": v.TaskOptions,
    "migfra::Device_ivshmem": v.IVShmem,
    "migfra::Evacuate": v.EvacuateNode,
    "migfra::Migrate": v.MigrateVM,
    "migfra::Repin": v.RepinVM,
    "migfra::Resume": v.VM,
    "migfra::Suspend": v.VM,
    "migfra::Start": v.VMConfiguration,
    "migfra::Stop": v.VMToStop,
    "migfra::Swap_with": v.SwapWith,
}
"""Our classes for those of fast-lib."""

TASKS = {
    "start vm": (v.StartVM, "vm-configurations"),
    "stop vm": (v.StopVM, "list"),
    "suspend vm": (v.SuspendVM, "list"),
    "resume vm": (v.ResumeVM, "list"),
    "quit": (v.Quit, "list"),
    "migrate vm": (v.MigrateVM, ""),
    "evacuate node": (v.EvacuateNode, ""),
    "repin vm": (v.RepinVM, ""),
}
"""Our classes for the tasks of fast-lib, and the key of their list."""


class Golden(NamedTuple):
    """What fast-lib wrote, and of what."""

    name: str
    cls: str
    topic: str | None
    payload: bytes
    fields: dict[str, Any]

    @property
    def is_broken(self) -> bool:
        """Whether fast-lib cannot read it, or not as it was meant."""
        bad = (b" addr: ", b"---\naddr: ", b"result: nan", b"result: inf", b"result: -inf", b"categories: ~", b"\xc1")
        return any(part in self.payload for part in bad) or self.payload.startswith(b"---\naddr")


class Verdict(NamedTuple):
    """What fast-lib made of a payload."""

    note: str
    cls: str
    topic: str | None
    payload: bytes
    accepted: bool
    parsed: Any


def _lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (FOLDER / name).read_bytes().splitlines()]


def goldens() -> list[Golden]:
    """All of them."""
    return [
        Golden(
            row["name"],
            row["class"],
            row["topic"],
            row["payload"].encode() if "payload" in row else base64.b64decode(row["payload_base64"]),
            row["fields"],
        )
        for row in _lines("goldens.jsonl")
    ]


def verdicts() -> list[Verdict]:
    """All of them."""
    return [
        Verdict(row["note"], row["class"], row["topic"], row["payload"].encode(), row["accepted"], row["parsed"])
        for row in _lines("verdicts.jsonl")
    ]


def recordings() -> list[Path]:
    """All of them."""
    return sorted((FOLDER / "recordings").glob("*.jsonl"))


def read(case: Golden | Verdict) -> Any:
    """What we make of a payload."""
    topic = Topic.find((case.topic or "").format(hostname="node-a"))
    if topic is not None:
        return decode(case.payload, topic)
    return decode_as(CLASSES[case.cls], case.payload)


# What they were made of, as our values


def value_of(golden: Golden) -> Any:
    """The value of a golden, as our class."""
    fields = golden.fields
    if golden.cls == "migfra::Task_container":
        return _task(fields)
    if golden.cls == "migfra::Result_container":
        entries = [_result(entry, golden) for entry in fields["results"]]
        one = fields["result"] == "vm migrated"  # fast-lib writes the first one only
        return v.Result(fields["result"], entries[:1] if one else entries, fields.get("id"))
    if golden.cls == "agent::init_agent":
        return v.InitAgent(v.KPIConfiguration(fields["categories"], fields["repeat"]))
    if golden.cls == "agent::stop_monitoring":
        return v.StopMonitoring(v.JobDescription(fields["job-id"], fields["process-id"]))
    if golden.cls == "agent::mmbwmon::reply":
        return v.MmbwmonResponse(fields["cores"], float(fields["result"]))
    if golden.cls == "agent::mmbwmon::ack":
        return v.MmbwmonRestartAck() if "restart" in golden.name else v.MmbwmonStopAck()
    if golden.cls == "migfra::Result":
        return _result(fields, golden)
    return _made(CLASSES[golden.cls], _completed(fields, golden.cls.removeprefix("migfra::")))


def _made(cls: Any, fields: dict[str, Any]) -> Any:
    tag = {"message": cls.__name__} if issubclass(cls, v.FastMessage) else {}
    return msgspec.convert({**tag, **fields}, cls)


def _task(fields: dict[str, Any]) -> Any:
    cls, key = TASKS[fields["task"]]
    kind = fields["task"].split()[0].capitalize()
    around: dict[str, Any] = {name: fields[name] for name in ("id", "concurrent-execution") if name in fields}
    tasks = [_completed(task, kind) for task in fields["tasks"]]
    if key:
        return _made(cls, {key: tasks, **around})
    return _made(cls, {**around, **tasks[0]})  # fast-lib writes the first one only, and its options over the other's


_DEFAULTS: dict[str, dict[str, Any]] = {
    "Suspend": {"vm-name": ""},
    "Resume": {"vm-name": ""},
    "Migrate": {"vm-name": "", "destination": ""},
    "Repin": {"vm-name": ""},
    "Swap_with": {"vm-name": ""},
    "Device_ivshmem": {"id": "", "size": "0"},
}
"""What the constructors of fast-lib fill in for what must be there."""

_BY_CONSTRUCTOR: dict[tuple[str, str], dict[str, Any]] = {
    ("Start", "name"): {"time-measurement": False},
    ("Start", "xml"): {"time-measurement": False},
    ("Repin", "full"): {"concurrent-execution": True},
}
"""What some of them set besides."""


def _completed(fields: dict[str, Any], kind: str) -> dict[str, Any]:
    given = {name: value for name, value in fields.items() if name not in ("ctor", "kind")}
    found = {**_DEFAULTS.get(kind, {}), **_BY_CONSTRUCTOR.get((kind, fields.get("ctor", "")), {}), **given}
    if "ivshmem" in found:
        found["ivshmem"] = _completed(found["ivshmem"], "Device_ivshmem")
    if "parameter" in found:
        parameter = found["parameter"] = dict(found["parameter"])
        if "swap-with" in parameter:
            parameter["swap-with"] = _completed(parameter["swap-with"], "Swap_with")
        if "pscom-hook-procs" in parameter:
            parameter["pscom-hook-procs"] = str(parameter["pscom-hook-procs"])
    return found


def _result(fields: dict[str, Any], golden: Golden) -> v.VMResult:
    times = None
    if "timers" in fields:  # how long it took, only the payload tells
        message = read(golden)
        found = message if isinstance(message, v.VMResult) else message.list[0]
        times = found.time_measurement
        assert times is not None
        assert set(times) == set(fields["timers"])
    return v.VMResult(fields["vm-name"], fields["status"], fields.get("details"), times)


# What fast-lib reads


def tree_of_verdict(message: Any) -> Any:
    """What fast-lib would tell that it has read, had it read this."""
    if isinstance(message, v.Result):
        results = [{"details": "", **_kept(entry)} for entry in message.list]
        return {"id": message.id or "", "result": message.result, "results": results}
    for task, (cls, key) in TASKS.items():
        if type(message) is cls:
            return _tree_of_task(message, task, key)
    if isinstance(message, v.InitAgent):
        return _kept(message.kpi)
    if isinstance(message, v.StopMonitoring):
        return _kept(message.job_description)
    tree = _kept(message)
    if isinstance(message, v.MmbwmonResponse) and str(message.result) in ("nan", "inf", "-inf"):
        tree["result"] = str(message.result)
    return {"details": "", **tree} if isinstance(message, v.VMResult) else tree


def _tree_of_task(message: Any, task: str, key: str) -> Any:
    tree = _kept(message)
    around = {name: tree[name] for name in ("id", "concurrent-execution") if name in tree}
    if key:
        entries = tree[key]
        return {**around, **({"task": task} if entries else {}), "tasks": entries}
    one = {name: value for name, value in tree.items() if name != "id"}
    return {**around, "task": task, "tasks": [one]}


def _kept(value: Any) -> Any:
    """Its keys, but for what fast-lib does not read."""
    from batprotocol.fast.wire.codec import tree_of

    tree = tree_of(value)
    unread = ["message", "host", "scheduler"]
    if isinstance(value, v.VMResult):
        unread += ["process-id", "time-measurement"]
    return {name: each for name, each in tree.items() if name not in unread}
