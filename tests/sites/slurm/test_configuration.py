"""slurm.conf as values: what a real Slurm printed of its configuration, and what its documentation says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_recordings import recording, recordings
from support import DATA

from batprotocol.errors import InputError
from batprotocol.sites.slurm.configuration import (
    SchedulerParameters,
    SlurmConfiguration,
    configuration_of,
    read_configuration,
)
from batprotocol.sites.slurm.parameters import CLUSTER, OPTIONS, ParameterStanding
from batprotocol.sites.slurm.texts import lines_of, pairs_of
from batprotocol.studies.slurm_recordings import configuration_of_run

WITHOUT_ENGINE = True

SHOWN = DATA / "slurm_conf" / "show_config.txt"
"""The output of `scontrol show config` of Slurm 22.05.8 with a short slurm.conf: the rest are its defaults."""

SET = {
    "cluster": "emu",
    "gres_types": ("gpu",),
    "jobs.enforce": ("associations", "limits", "qos"),
    "jobs.has_database": True,
    "jobs.min_age": 200000.0,
    "jobs.return_to_service": 2,
    "preemption.mode": "requeue",
    "preemption.plugin": "partition_prio",
    "priority.plugin": "multifactor",
    "priority.weight_age": 1000,
    "priority.weight_fairshare": 1000,
    "priority.weight_qos": 1000,
    "select.counts_memory": True,
    "select.plugin": "cons_tres",
    "select.unit": "core",
}
"""The fields that this slurm.conf sets, with their values."""


def value_of(configuration: SlurmConfiguration, field: str) -> Any:
    found: Any = configuration
    for name in field.split("."):
        found = getattr(found, name)
    return found


def test_defaults_are_those_that_a_real_slurm_prints() -> None:
    """Each parameter that sets a field, if it is printed: in the units of slurm.conf, it reads as our default."""
    default, compared = SlurmConfiguration(), set()
    for line in SHOWN.read_text().splitlines():
        name, mark, text = (part.strip() for part in line.partition("="))
        row = CLUSTER.get(name.lower())
        if not mark or row is None or not (row.field or row.read is not str):
            continue
        if row.standing is ParameterStanding.IDLE and not row.field:  # it sets nothing
            continue
        if text in ("(null)", ""):
            expected: dict[str, Any] = {}
        else:
            expected = dict(row.fields_of(text.removesuffix(" sec").removesuffix(" min")))
        for field, value in expected.items():
            assert value == (SET[field] if field in SET else value_of(default, field)), name
            compared.add(field)
    assert len(compared) >= 35
    assert set(SET) <= compared


@pytest.mark.parametrize("path", recordings(), ids=lambda path: f"{path.parent.name}/{path.name[:-8]}")
def test_recorded_configurations_are_read(path: Path) -> None:
    run = recording(path)
    found = configuration_of_run(run)
    assert len(found.nodes) == sum(group["count"] for group in run["nodes"])
    assert len(found.partitions) == len(run["partitions"])
    assert {each.name for each in found.not_followed} <= {"SchedulerParameters/kill_invalid_depend"}


# Lines


def test_lines_go_on_and_have_comments() -> None:
    text = 'A=1 # one\n\n  # two\nB=2 \\\n  C=3 \\\n\nD="a \\# b" E = 4\n'
    assert list(lines_of(text)) == [(1, "A=1"), (4, "B=2   C=3"), (7, 'D="a # b" E = 4')]
    assert pairs_of('D="a # b" E = 4 Nodes="" State=UP') == [("D", "a # b"), ("E", "4"), ("Nodes", ""), ("State", "UP")]
    assert pairs_of("Nodes= State=UP") == [("Nodes", "State=UP")]  # as in Slurm
    assert list(lines_of("A=1\\\n0\nB=a\\b\\\\c\\#d # \\\nC=3")) == [(1, "A=10"), (3, "B=ab\\c#d"), (4, "C=3")]


WORD = st.text("abcXYZ019._-/:[](),+%", min_size=1, max_size=8)
QUOTED_NOTHING = '""'


@given(st.lists(st.tuples(st.text("abcXYZ_", min_size=1, max_size=6), WORD | st.just("")), max_size=5))
def test_pairs_are_read_as_they_are_written(pairs: list[tuple[str, str]]) -> None:
    assert pairs_of(" ".join(f"{name}={value or QUOTED_NOTHING}" for name, value in pairs)) == pairs
    assert pairs_of(" ".join(f'{name} = "{value} x"' for name, value in pairs)) == [(n, f"{v} x") for n, v in pairs]


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    place = "slurm.conf:"
    try:
        configuration_of(text)
    except InputError as error:
        place = str(error)
    assert place.startswith("slurm.conf:")


# Nodes and partitions


@pytest.mark.parametrize(
    ("notation", "names"),
    [
        ("n0", ["n0"]),
        ("n[0-3]", ["n0", "n1", "n2", "n3"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[1,3-4,9]", ["n1", "n3", "n4", "n9"]),
        ("n[0-1]-ib", ["n0-ib", "n1-ib"]),
        ("r[0-1]c[0-1]", ["r0c0", "r0c1", "r1c0", "r1c1"]),
        ("a,b[1-2],c", ["a", "b1", "b2", "c"]),
        ("n[0-1].cluster.example", ["n0.cluster.example", "n1.cluster.example"]),
    ],
)
def test_names_in_all_notations(notation: str, names: list[str]) -> None:
    found = configuration_of(f"NodeName={notation} CPUs=2\nNodeSet=s Nodes={notation}\nPartitionName=p Nodes=s")
    assert [node.name for node in found.nodes] == names
    assert list(found.partitions[0].nodes) == names


def test_defaults_hold_for_the_lines_after_them() -> None:
    found = configuration_of(
        "NodeName=a\nNodeName=DEFAULT CPUs=4 RealMemory=10\nNodeName=b RealMemory=20\nNodeName=DEFAULT Weight=7\n"
        "NodeName=c CPUs=8\nPartitionName=DEFAULT MaxTime=60\nPartitionName=p Nodes=b\n"
        "PartitionName=q Nodes=a,c MaxTime=1-0\n"
    )
    assert [(node.cpus, node.memory, node.weight) for node in found.nodes] == [(1, 1, 1), (4, 20, 1), (8, 10, 7)]
    assert [(each.max_time, each.nodes) for each in found.partitions] == [(3600.0, ("b",)), (86400.0, ("a", "c"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CPUs=8", (8, 8, 1, 1)),
        ("Procs=8", (8, 8, 1, 1)),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", (16, 2, 4, 2)),
        ("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", (8, 2, 4, 2)),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=3", (12, 4, 3, 1)),
        ("Boards=2 Sockets=2 CoresPerSocket=3", (6, 2, 3, 1)),
        ("CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", (16, 2, 4, 2)),
    ],
)
def test_processors(text: str, expected: tuple[int, ...]) -> None:
    (node,) = configuration_of(f"NodeName=n {text}").nodes
    assert (node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core) == expected


def test_sets_states_and_resources() -> None:
    found = configuration_of(
        "GresTypes=gpu,fpga\nNodeName=a[0-1] Feature=x Gres=gpu:v:2(S:0),fpga:no_consume:1\n"
        "NodeName=b0 Features=x,y State=drained\n"
        'NodeSet=s Feature=y\nNodeSet=t Nodes=a[0-1]\nDownNodes=a1 State=FAIL Reason="a b"\n'
        "PartitionName=p Nodes=s,a0\nPartitionName=q Nodes=t OverSubscribe=FORCE:2 Priority=5 State=DRAIN\n"
        'PartitionName=r Nodes="" AllowAccounts=a,b DenyQos=z QOS=w PreemptMode=OFF GraceTime=30 MaxNodes=UNLIMITED\n'
    )
    assert found.nodes[0].gres == (("fpga", 1), ("gpu:v", 2))
    assert [node.state for node in found.nodes] == ["UNKNOWN", "FAIL", "DRAIN"]
    p, q, r = found.partitions
    assert (p.nodes, q.nodes, r.nodes) == (("a0", "b0"), ("a0", "a1"), ())
    assert (q.over_subscribe, q.over_subscribe_jobs, q.priority_tier, q.priority_job_factor) == ("force", 2, 5, 5)
    assert (q.state, r.allow_accounts, r.deny_qos, r.qos) == ("DRAIN", ("a", "b"), ("z",), "w")
    assert (r.preempt_mode, r.grace_time, r.max_nodes) == ("off", 30.0, None)


# Parameters


def test_parameters_of_the_cluster() -> None:
    found = configuration_of(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory,CR_LLN\nSchedulerType=sched/builtin\n"
        "PriorityFlags=DEPTH_OBLIVIOUS,MAX_TRES,NO_NORMAL_ALL\nPriorityWeightTRES=CPU=1000,Mem=2G,GRES/gpu=3\n"
        "PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\nPreemptExemptTime=-1\nLicenses=foo:4,bar\nKillWait=60\n"
        "OverTimeLimit=UNLIMITED\nPriorityCalcPeriod=1\nPriorityDecayHalfLife=14-0\nPriorityUsageResetPeriod=WEEKLY\n"
        "AccountingStorageEnforce=safe,qos\nDependencyParameters=kill_invalid_depend\nEnforcePartLimits=YES\n"
        "JobRequeue=0\nDefMemPerCPU=100\nMaxMemPerNode=UNLIMITED\nFairShareDampeningFactor=5\nkillwait=61\n"
    )
    assert (found.select.plugin, found.select.unit, found.select.counts_memory) == ("cons_tres", "core", True)
    assert (found.select.least_loaded, found.scheduler.plugin) == (True, "builtin")
    rules = found.priority
    assert (rules.depth_oblivious, rules.fair_tree, rules.max_tres, rules.normal_tres) == (True, False, True, False)
    assert rules.weight_tres == {"cpu": 1000.0, "mem": 2 / 1024, "gres/gpu": 3.0}
    assert (rules.calc_period, rules.half_life, rules.reset, rules.dampening) == (60.0, 14 * 86400.0, "weekly", 5)
    preemption, jobs = found.preemption, found.jobs
    assert (preemption.plugin, preemption.mode, preemption.gang, preemption.exempt_time) == ("qos", "suspend", True, 0)
    assert found.licenses == {"foo": 4, "bar": 1}
    assert (jobs.kill_wait, jobs.over_time_limit, jobs.requeue) == (61.0, math.inf, False)
    assert (jobs.enforce, jobs.kill_invalid_depend) == (("associations", "limits", "qos", "safe"), True)
    assert (jobs.enforce_limits, jobs.memory_per_cpu, jobs.max_memory_per_node) == ("any", 100, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("node", False)),
        ("SelectTypeParameters=CR_Memory", ("node", True)),
        ("SelectType=select/cons_res", ("core", True)),
        ("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU", ("cpu", False)),
    ],
)
def test_what_is_allocated(text: str, expected: tuple[str, bool]) -> None:
    found = configuration_of(text).select
    assert (found.unit, found.counts_memory) == expected


def test_options_of_the_scheduler() -> None:
    found = configuration_of(
        "SchedulerParameters=bf_interval=-1,bf_window=60,bf_max_job_user=3,bf_max_job_part=0,sched_min_interval=2000000,"
        "defer,BF_CONTINUE,bf_resolution=0,bf_hetjob_prio=min,novelty\n"
    )
    options = found.scheduler
    assert (options.bf_interval, options.bf_window, options.bf_max_job_user) == (math.inf, 3600.0, 3)
    assert (options.bf_max_job_part, options.sched_min_interval) == (None, pytest.approx(2.0))
    assert (options.defer, options.bf_continue, options.bf_resolution) == (True, True, 60.0)
    reasons = {each.name.partition("/")[2]: each.reason for each in found.not_followed}
    assert reasons["bf_resolution"] == "keeps its default: expected a whole number from 1 to 3,600, got '0'"
    assert reasons["bf_hetjob_prio"] == "is not followed"
    assert reasons["novelty"] == "is not an option of Slurm 22.05, which ignores it"
    assert {each.line for each in found.not_followed} == {1}


def test_each_field_of_the_scheduler_is_an_option() -> None:
    fields = {name for name in SchedulerParameters.__struct_fields__ if name != "plugin"}
    assert fields == {row.field for row in OPTIONS.values() if row.field}


@pytest.mark.parametrize("row", [row for row in CLUSTER.values() if row.field], ids=lambda row: row.name)
def test_each_field_of_a_table_is_one_of_the_values(row: Any) -> None:
    value_of(SlurmConfiguration(), row.field)


# Files


def test_files_are_included_in_their_places(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=c1\nNodeName=DEFAULT CPUs=2\ninclude c1_nodes\nInclude %c_nodes2 # by the name of the cluster\n"
        "PartitionName=p Nodes=n[0-1]\nTopologyPlugin=topology/tree\nWaitTime=1\n"
    )
    (tmp_path / "c1_nodes").write_text("NodeName=n0\nNodeName=DEFAULT CPUs=3\n")
    (tmp_path / "c1_nodes2").write_text('INCLUDE "sub/more"\n')
    (tmp_path / "sub" / "more").write_text("\nNodeName=n1\nPowerPlugin=power/x\n")
    (tmp_path / "topology.conf").write_text(
        "SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1\nSwitchName=t Switches=s[0-1]"
    )
    found = read_configuration(tmp_path / "slurm.conf")
    assert [node.cpus for node in found.nodes] == [2, 3]
    assert [switch.name for switch in found.switches] == ["s0", "s1", "t"]
    assert f"{tmp_path}/sub/more:3: PowerPlugin is not followed" in map(str, found.not_followed)
    (tmp_path / "sub" / "more").write_text("\nNodeName=n1 CPUs=x\n")
    with pytest.raises(
        InputError, match=r"sub/more:2: CPUs: expected a whole number from 0 to 65,535, or UNLIMITED, got 'x'"
    ):
        read_configuration(tmp_path / "slurm.conf")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("include slurm.conf", "expected at most 10 files in one another to be included"),
        ("\ninclude missing", "slurm.conf:2: the included file '.*missing' cannot be read: No such file or directory"),
        ("include .", "cannot be read: Is a directory"),
        ("include a\x00b", "slurm.conf:1: the included file"),
        (
            "TopologyPlugin=topology/tree\n",
            "topology.conf:1: expected Nodes or Switches for the switch 's0', got neither",
        ),
    ],
)
def test_files_that_cannot_be_included(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "topology.conf").write_text("SwitchName=s0\n")
    (tmp_path / "slurm.conf").write_text(f"{text}\nNodeName=n0\n")
    with pytest.raises(InputError, match=error):
        read_configuration(tmp_path / "slurm.conf")


# Errors


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("\nPriortyType=priority/basic", ":2: there is no parameter 'PriortyType'; did you mean 'PriorityType'?"),
        ("PriorityType=multifacto", ":1: PriorityType: expected priority/basic or priority/multifactor, got"),
        ("NodeName=n0 CPU=2", ":1: there is no parameter 'CPU'; did you mean 'CPUs'?"),
        ("SelectTypeParameters=CR_Cores", "expected flags such as CR_CPU, got 'CR_Cores'; did you mean 'CR_CORE'?"),
        ("PreemptMode=REQUE", "expected one of OFF, CANCEL, REQUEUE, SUSPEND, GANG, WITHIN, got 'REQUE'"),
        (
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_LLN",
            ":2: SelectTypeParameters: expected one of CR_CPU",
        ),
        ("KillWait=30 sec", ":1: expected NAME=VALUE, got 'sec'"),
        ("KillWait", ":1: expected NAME=VALUE, got 'KillWait'"),
        ("KillWait=-3", ":1: KillWait: expected a whole number from 0 to 65,535, or UNLIMITED, got '-3'"),
        ("PriorityMaxAge=1:2:3:4", ":1: PriorityMaxAge: expected a time such as '1-12:00:00'"),
        ("NodeName=n[0-1\n", ":1: NodeName: expected names such as 'n[0-63]'"),
        ("NodeName=n0\nNodeName=n0", ":2: NodeName: expected a new name, got 'n0'"),
        ("NodeName=ALL", ":1: NodeName: expected a new name, got 'ALL'"),
        (
            "NodeName=node10\nPartitionName=p Nodes=node01",
            ":2: Nodes: there is no node 'node01'; did you mean 'node10'?",
        ),
        ("PartitionName=p\nPartitionName=p", ":2: PartitionName: expected a new name, got 'p'"),
        ("PartitionName=p MaxTime=never", ":1: MaxTime: expected a time"),
        ("PartitionName=p OverSubscribe=MAYBE", ":1: OverSubscribe: expected no or yes or force or exclusive, got"),
        ("KillWait=3 MaxJobCount=5", ":1: expected one parameter on the line, got 'MaxJobCount', too; use two lines"),
        ("CPUs=4 NodeName=n0", ":1: expected the name of nodes or of a partition first, got 'CPUs'"),
        ("KillWait=", ":1: KillWait: expected a value, got nothing"),
        ("PreemptMode=REQUEUE", ":1: PreemptMode: expected OFF or GANG without a PreemptType"),
        ("PreemptType=preempt/qos\nPreemptMode=SUSPEND", ":2: PreemptMode: expected GANG with SUSPEND"),
        ("PriorityType=multifactor", ":1: PriorityType: expected priority/basic or priority/multifactor, got"),
        ("NodeName=n0 State=SLEEPY", ":1: State: expected a state such as UNKNOWN, IDLE, DOWN, DRAIN, FAIL"),
        ("PartitionName=p TRESBillingWeights=cpu", ":1: TRESBillingWeights: expected weights of resources"),
        ("include nodes.conf", ":1: the file 'nodes.conf' cannot be included in a text; use the path of slurm.conf"),
        ("NodeName=n[0-9999999]", ":1: NodeName: "),
    ],
)
def test_errors_name_the_file_and_the_line(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        configuration_of(text)
    assert str(caught.value).startswith("slurm.conf:")
    assert error in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # 19.05: parameters that are gone today
        (
            "ControlMachine=c\nFastSchedule=1\nCryptoType=crypto/munge\nCacheGroups=0\nMemLimitEnforce=no",
            ["CacheGroups", "MemLimitEnforce"],
        ),
        # 24.05: parameters that there were not yet
        (
            "HashPlugin=hash/k12\nTLSType=tls/none\nMetricsType=metrics/x\nPrologTimeout=3",
            ["HashPlugin", "TLSType", "MetricsType", "PrologTimeout"],
        ),
        ("SomethingQuiteNew=1", ["SomethingQuiteNew"]),
        ("JobSubmitPlugins=lua\nBurstBufferType=burst_buffer/none\nMCSPlugin=mcs/none", ["JobSubmitPlugins"]),
        ("FrontendName=f", ["FrontendName"]),
    ],
)
def test_parameters_of_other_versions_are_read_or_named(text: str, names: list[str]) -> None:
    assert [each.name for each in configuration_of(text).not_followed] == names


# Partitions of a real Slurm

PARTITIONS = (
    "NodeName=n[0-8] CPUs=4\n"
    "PartitionName=low Nodes=ALL MaxTime=INFINITE PriorityTier=1 DefMemPerCPU=500 State=UP PreemptMode=REQUEUE\n"
    "PartitionName=all Nodes=ALL Default=YES MaxTime=2:00:00 DefaultTime=10 PriorityTier=10 PreemptMode=OFF "
    "DefMemPerCPU=500 State=UP\n"
)
SUMS = ("TotalCPUs", "TotalNodes", "TRES", "SelectTypeParameters", "JobDefaults", "OverTimeLimit")
"""What scontrol prints of partitions that no line of slurm.conf can say, or in another form."""


def test_partitions_are_those_that_a_real_slurm_prints() -> None:
    """The lines that `scontrol show partition` printed read as the lines of slurm.conf that made them."""
    printed = [
        " ".join(word for word in line.split() if word.partition("=")[0] not in SUMS and word != "DefaultTime=NONE")
        for line in (DATA / "slurm_conf" / "show_partition.txt").read_text().splitlines()
        if line.startswith("PartitionName=")
    ]
    assert len(printed) == 2
    conf = configuration_of(PARTITIONS)
    shown = configuration_of("\n".join(["NodeName=n[0-8] CPUs=4", *printed]))
    assert shown.partitions == conf.partitions


def test_words_of_a_site_that_decide_nothing_are_not_named() -> None:
    """Recordings with all of these have the starts that they have without."""
    words = "InactiveLimit=5 BatchStartTimeout=2 PrologFlags=Alloc,Contain RebootProgram=/bin/true ResvProlog=/bin/true"
    more = "SlurmctldParameters=enable_configless,cloud_dns SelectTypeParameters=CR_CPU,CR_Pack_Nodes"
    lines = [*words.split(), *more.split(), "SelectType=select/cons_tres", "CompleteWait=32", "NodeName=n0 TmpDisk=9"]
    lines.append("SchedulerParameters=defer")
    assert configuration_of("\n".join(lines)).not_followed == ()
    others = "SlurmctldParameters=enable_configless,preempt_send_user_signal", "Prolog=/bin/true", "MaxTasksPerNode=9"
    assert [each.name for each in configuration_of("\n".join(others)).not_followed] == [
        each.partition("=")[0] for each in others
    ]
