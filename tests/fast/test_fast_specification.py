"""Every example of the specification, as it stands: read, or refused with a reason; and all of them can be built.

The lines of the examples are its own, with the indentation that they are meant to have. What is wrong as they stand, a
second text puts right, as the specification's dialect has it.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from batprotocol.errors import DecodeError
from batprotocol.fast import decode, encode, topic_for
from batprotocol.fast import values as v
from batprotocol.fast.wire import DIALECTS

WITHOUT_ENGINE = True

CPUS = ((4,), (5,))
ROWS = "<cpus>, [<cpus>], ..."


class Example(NamedTuple):
    """An example.

    Attributes:
        topic: the topic that it is for.
        text: as it stands.
        reason: why it is refused as it stands, or "" if it is read.
        meant: what is meant, in the specification's words, with something in place of each `<...>`.
        value: the message.
        fastlib: why fast-lib refuses what is meant, or "" if it reads it.
    """

    topic: str
    text: str
    reason: str
    meant: str
    value: v.FastMessage
    fastlib: str = ""


TASK, RESULT, STATUS = "fast/migfra/a/task", "fast/migfra/a/result", "fast/agent/a/status"


def listed(result: str) -> Example:
    """The result of a task for several machines, which are all alike."""
    entries = "- vm-name: <vm-hostname>\n  status: success | error\n"
    return Example(
        RESULT,
        f"result: {result}\nid: <uuid>\nlist:\n{entries}  details: <string>\n{entries}- ..\n",
        "expected a mapping, found '..'",
        f"result: {result}\nid: u\nlist:\n- vm-name: a\n  status: error\n  details: d\n"
        "- vm-name: b\n  status: success\n",
        v.Result(result, [v.VMResult("a", "error", "d"), v.VMResult("b")], "u"),
    )


def moved(task: str, value: v.FastMessage) -> Example:
    """A task whose list says names only."""
    return Example(
        TASK,
        f"host: <string>\ntask: {task}\nid: <uuid>\nlist:\n- vm-name: <vm name>\n- vm-name: <vm name>\n- ..\n",
        "expected a mapping, found '..'",
        f"host: a\ntask: {task}\nid: u\nlist:\n- vm-name: vm1\n- vm-name: vm2\n",
        value,
    )


EXAMPLES = {
    "init agent": Example(
        "fast/agent/a/task/init_agent",
        "task: init agent\nKPI:\n  categories:\n  - Application/VM memory usage : < value >\n"
        "  - Application/VM Cpu usage: <value> //(100 is all cores used):\n"
        "  repeat: <number in seconds how often the KPIs are reported>\n",
        "mapping values are not allowed in this context",
        "task: init agent\nKPI:\n  categories:\n  - Node memory usage : 50\n  - expected runtime: high\n  repeat: 10\n",
        v.InitAgent(v.KPIConfiguration({"Node memory usage": "50", "expected runtime": "high"}, 10)),
        "KPI.categories, line 4, column 3: expected a mapping, found a list",
    ),
    "stop monitoring": Example(
        "fast/agent/a/task/stop_monitoring",
        "task: stop monitoring job-description: job-id: <job id> process-id: <process id of the vm>",
        "line 1, column 38: mapping values are not allowed in this context",
        "task: stop monitoring\njob-description:\n  job-id: 7\n  process-id: 42\n",
        v.StopMonitoring(v.JobDescription("7", 42)),
    ),
    "start vm": Example(
        TASK,
        "host: <string>\ntask: start vm\nid: <uuid>\nvm-configurations:\n- vm-name: <string>\n"
        "  memory: <unsigned long (in kiB)>\n  vcpus: <Anzahl>\n- xml: <XML string>\n  pci-ids:\n"
        "  - vendor: <vendor-id>\n    device: <device-id>\n  - ..\n  transient: <bool>\n- ..\n",
        "vm-configurations[0].vcpus, line 7, column 10: expected a number in [0, 4294967295], found '<Anzahl>'",
        "host: a\ntask: start vm\nid: u\nvm-configurations:\n- vm-name: vm1\n  memory: 1024\n  vcpus: 2\n"
        "- xml: <domain/>\n  pci-ids:\n  - vendor: 0x15b3\n    device: 0x1004\n  transient: true\n",
        v.StartVM(
            [
                v.VMConfiguration("vm1", 2, 1024),
                v.VMConfiguration(xml="<domain/>", pci_ids=[v.PCIId(0x15B3, 0x1004)], transient=True),
            ],
            id="u",
            host="a",
        ),
    ),
    "stop vm": Example(
        TASK,
        "host: <string>\ntask: stop vm\nid: <uuid>\nlist:\n- vm-name: <vm name>\n- vm-name: <vm name>\n"
        "  force: <true/false>\n  undefine: <true/false>\n- ..\n",
        "list[1].force, line 7, column 10: expected a boolean, found '<true/false>'",
        "host: a\ntask: stop vm\nid: u\nlist:\n- vm-name: vm1\n- vm-name: vm2\n  force: true\n  undefine: false\n",
        v.StopVM([v.VMToStop("vm1"), v.VMToStop("vm2", force=True, undefine=False)], id="u", host="a"),
    ),
    "suspend vm": moved("suspend vm", v.SuspendVM([v.VM("vm1"), v.VM("vm2")], id="u", host="a")),
    "resume vm": moved("resume vm", v.ResumeVM([v.VM("vm1"), v.VM("vm2")], id="u", host="a")),
    "migrate vm": Example(
        TASK,
        "host: <string>\ntask: migrate vm\nid: <uuid>\nvm-name: <vm name>\ndestination: <destination hostname>\n"
        "time-measurement: true\nparameter:\n  retry-counter: <counter>\n  migration-type: live | warm | offline\n"
        "  rdma-migration: true | false\n  pscom-hook-procs: <Anzahl der Prozesse>\n"
        f"  vcpu-map: [[{ROWS}]\n  swap-with:\n    vm-name: <vm name>\n    pscom-hook-procs: <Anzahl der Prozesse>\n"
        f"    vcpu-map: [[{ROWS}]\n",
        "line 13, column 3: while parsing a flow sequence: did not find expected ',' or ']'",
        "host: a\ntask: migrate vm\nid: u\nvm-name: vm1\ndestination: b\ntime-measurement: true\nparameter:\n"
        "  retry-counter: 3\n  migration-type: live\n  rdma-migration: false\n  pscom-hook-procs: 2\n"
        "  vcpu-map: [[4], [5]]\n  swap-with:\n    vm-name: vm2\n    pscom-hook-procs: 2\n    vcpu-map: [[4], [5]]\n",
        v.MigrateVM(
            "vm1",
            "b",
            v.MigrateParameter(
                retry_counter=3,
                migration_type="live",
                rdma_migration=False,
                pscom_hook_procs="2",
                vcpu_map=CPUS,
                swap_with=v.SwapWith("vm2", "2", CPUS),
            ),
            time_measurement=True,
            id="u",
            host="a",
        ),
    ),
    "repin vm": Example(
        TASK,
        "task: repin vm\nid: <uuid>\nvm-name: <string>\nvcpu-map: [[<cpus>], [<cpus>], ...]\n",
        "vcpu-map[0][0], line 4, column 13: expected a number in [0, 4294967295], found '<cpus>'",
        "task: repin vm\nid: u\nvm-name: vm1\nvcpu-map: [[4],[5]]\n",
        v.RepinVM("vm1", CPUS, id="u"),
    ),
    "vm started": Example(
        RESULT,
        "scheduler: <hostname/global>\nresult: vm started\nid: <uuid>\nlist:\n- vm-name: <vm-hostname>\n"
        "  status: success | error\n  details: <string>\n  process-id: <process id of the vm>\n- ..\n",
        "list[1], line 9, column 3: expected a mapping, found '..'",
        "scheduler: global\nresult: vm started\nid: u\nlist:\n- vm-name: a\n  status: error\n  details: d\n"
        "  process-id: 7\n",
        v.Result("vm started", [v.VMResult("a", "error", "d", process_id="7")], "u", "global"),
    ),
    "vm stopped": listed("vm stopped"),
    "vm suspended": listed("vm suspended"),
    "vm resumed": listed("vm resumed"),
    "vm migrated": Example(
        RESULT,
        "result: vm migrated\nid: <uuid>\nvm-name: <vm name>\nstatus: <success | error>\n"
        "details: <retries | error-string>\nprocess-id: <process id of the vm>\ntime-measurement:\n"
        "- <tag>: <duration in sec>\n- ..\n",
        "",
        "result: vm migrated\nid: u\nvm-name: vm1\nstatus: success\ndetails: 2\nprocess-id: 7\ntime-measurement:\n"
        "- overall: 1.5\n",
        v.Result("vm migrated", [v.VMResult("vm1", "success", "2", {"overall": 1.5}, "7")], "u"),
    ),
    "vm repinned": Example(
        RESULT,
        "result: vm repinned\nid: <uuid>\nvm-name: <vm name>\nstatus: <success | error>\ndetails: <error-string>\n",
        "line 1, column 1: the key 'list' is missing",
        "result: vm repinned\nid: u\nvm-name: vm1\nstatus: error\ndetails: d\n",
        v.Result("vm repinned", [v.VMResult("vm1", "error", "d")], "u"),
        "line 1, column 1: the key 'list' is missing",
    ),
    "suspend": Example("fast/pscom/vm1/1/request", "task: suspend\n", "", "task: suspend\n", v.PscomRequest("suspend")),
    "resume": Example("fast/pscom/vm1/1/request", "task: resume\n", "", "task: resume\n", v.PscomRequest("resume")),
    "init": Example(
        STATUS,
        "task: init\nsource: <hostname>\n",
        "the key 'hostname' is missing; 'source' is that of the dialect 'specification'",
        "task: init\nsource: a\n",
        v.Init("a"),
        "the key 'hostname' is missing; 'source' is that of the dialect 'specification'",
    ),
    "configuration": Example(
        STATUS,
        "task: configuration\nsource: <hostname>\nstatus: accepted|denied\n",
        "",
        "task: configuration\nsource: a\nstatus: denied\n",
        v.Configuration("a", "denied"),
    ),
    "KPI": Example(
        STATUS,
        "task: KPI\nsource: <hostname>\nKPIS:\n- Node memory usage : < value >\n"
        "- Application/VM Cpu usage: <value> //(100 is all cores used):\n",
        "mapping values are not allowed in this context",
        "task: KPI\nsource: a\nKPIS:\n- Node memory usage : 50\n- Node Cpu usage: 7\n",
        v.KPI("a", {"Node memory usage": "50", "Node Cpu usage": "7"}),
    ),
    "mmbwmon request": Example(
        "fast/agent/a/mmbwmon/request",
        "task: mmbwmon request\ncores: <list of CPU cores>\n",
        "cores, line 2, column 8: expected a list, found '<list of CPU cores>'",
        "task: mmbwmon request\ncores: [0, 1]\n",
        v.MmbwmonRequest([0, 1]),
    ),
    "mmbwmon response": Example(
        "fast/agent/a/mmbwmon/response",
        "task: mmbwmon response\ncores: <list of cores>\nresponse: <value between 0.33 and 1>\n",
        "cores, line 2, column 8: expected a list, found '<list of cores>'",
        "task: mmbwmon response\ncores: [0, 1]\nresponse: 0.33\n",
        v.MmbwmonResponse([0, 1], 0.33),
        "the key 'result' is missing; 'response' is that of the dialect 'specification'",
    ),
    "status": Example(
        "fast/application/7/status",
        "task: status\nsource: <slurm_jobid>\nmigration: yes | no\nsupported_KPI :\n"
        "- memory usage\n- memory bandwidth\n- ..\n",
        "migration, line 3, column 12: expected a boolean, found 'yes | no'",
        "task: status\nsource: 7\nmigration: yes\nsupported_KPI :\n- memory usage\n- memory bandwidth\n",
        v.ApplicationStatus("7", True, ["memory usage", "memory bandwidth"]),
    ),
    "KPIs": Example(
        "fast/application/7/KPIs",
        "task: KPIs\nsource: <slurm_jobid>\nsupported_KPI :\n"
        "- memory usage : < value >\n- memory bandwidth : <value>\n- ..\n",
        "supported_KPI[2], line 6, column 3: expected a mapping, found '..'",
        "task: KPIs\nsource: 7\nsupported_KPI :\n- memory usage : 50\n- memory bandwidth : 0.5\n",
        v.ApplicationKPIs("7", {"memory usage": "50", "memory bandwidth": "0.5"}),
    ),
}

each = pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)


def reason_of(text: str, topic: str, dialect: str = "fastlib") -> str:
    """Why this is refused, or ""."""
    try:
        decode(text.encode(), topic, dialect=dialect)  # type: ignore[arg-type]  # one of the three
    except DecodeError as error:
        return str(error)
    return ""


@each
def test_as_it_stands_it_is_read_or_refused_with_a_reason(example: Example) -> None:
    reason = reason_of(example.text, example.topic)
    assert reason == example.reason == "" or (example.reason and example.reason in reason)


@each
def test_what_is_meant_is_read_as_specified_and_by_who_reads_either(example: Example) -> None:
    assert decode(example.meant.encode(), example.topic, dialect="specification") == example.value
    assert decode(example.meant.encode(), example.topic, dialect="any") == example.value


@each
def test_fast_lib_reads_what_is_meant_or_refuses_it_with_a_reason(example: Example) -> None:
    reason = reason_of(example.meant, example.topic)
    assert reason == example.fastlib == "" or (example.fastlib and example.fastlib in reason)


@each
def test_it_can_be_built_and_written(example: Example) -> None:
    for dialect in DIALECTS:
        data = encode(example.value, dialect=dialect)
        assert decode(data, example.topic, dialect=dialect) == example.value
    assert str(topic_for(example.value, *example.topic.split("/")[2:4])).split("/")[1] == example.topic.split("/")[1]


def test_what_fast_lib_ignores_is_not_read() -> None:
    found = decode(EXAMPLES["migrate vm"].meant.encode(), TASK)
    assert isinstance(found, v.MigrateVM)
    assert found.parameter is not None
    assert found.parameter.retry_counter is None
    either = decode(EXAMPLES["migrate vm"].meant.encode(), TASK, dialect="any")
    assert isinstance(either, v.MigrateVM)
    assert either.parameter is not None
    assert either.parameter.retry_counter == 3
