"""Random slurm.conf with their files, drawn from the manual: every key that slurm.conf(5) names, plain and odd.

A file is drawn from a seed, so that a seed makes the same files again. Most files are ones that slurmctld takes: with
comments, continued lines, included files, keys in any letters and given twice, odd numbers and units. Some have a
mistake, for which slurmctld refuses them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Final

from batprotocol.sites.slurm.configuration_values import FOREIGN, KINDS
from batprotocol.sites.slurm.parameters import CLUSTER, NUMBERS, OPTIONS, RECORDS
from slurming.controller import OWN_KEYS

__all__ = ["ELSEWHERE", "drawn", "drawn_keys", "expected_keys"]

ELSEWHERE: Final = frozenset(
    (
        *OWN_KEYS,
        *("slurmctldaddr", "backupaddr", "backupcontroller", "controladdr", "controlmachine", "plugindir"),
        *("plugstackconfig", "authalttypes", "slurmduser", "slurmctldplugstack", "nodefeaturesplugins", "frontendname"),
        *(
            "burstbuffertype",
            "powerplugin",
            "prologflags",
            "slurmctldlogfile",
            "slurmctldsyslogdebug",
            "slurmctlddebug",
        ),
        *("acctgatherenergytype", "acctgatherfilesystemtype", "acctgatherinfinibandtype", "extsensorstype"),
        *(
            "acctgatherinterconnecttype",
            "acctgatherprofiletype",
            "accountingstoragetype",
            "schedulerauth",
            "debugflags",
        ),
        *("slurmschedlogfile", "slurmschedloglevel", "prepplugins", "messagetimeout", "tcptimeout", "eiotimeout"),
    )
)
"""Keys about this machine, its programs and its log, or plugins that need their own files, in lower case."""

NUMBER: Final = ("0", "1", "5", "30", "0x10", "017", "300", "+7", "UNLIMITED", "Infinite", "65535")
LARGE: Final = (*NUMBER, "100000", "10k", "2K", "0x1F", "4294967295")
MEGABYTES: Final = ("0", "100", "2000", "4k", "0x400", "UNLIMITED")
YES: Final = ("YES", "no", "Yes", "TRUE", "false", "1", "0", "UP", "down")
TIMES: Final = ("1-0", "30", "0-0:20:00", "7-12:30", "90:30", "1:02:03", "1-", "90:99", "010", "2-100", "14-0")

SPECIAL: Final[Mapping[str, tuple[str, ...]]] = {
    "accountingstorageenforce": ("limits", "safe", "qos,limits", "1", "2", "ALL", "all,nosteps", "nojobs", "wckeys"),
    "accountingstoragetres": ("cpu,mem", "billing", "energy,vmem"),
    "bcastexclude": ("/lib", "none"),
    "clustername": ("x", "Alpha", "c_1"),
    "dependencyparameters": (
        "kill_invalid_depend",
        "KILL_INVALID_DEPEND,max_depend_depth=5",
        "disable_remote_singleton",
    ),
    "enforcepartlimits": ("ALL", "any", "NO", "yes", "1", "false"),
    "fastschedule": ("1",),
    "firstjobid": ("1", "1000", "0x10", "2k"),
    "grestypes": ("gpu", "gpu,nvme,bandwidth", "gpu,fpga", "nvme"),
    "jobacctgathertype": ("jobacct_gather/none", "jobacct_gather/linux"),
    "jobcomptype": ("jobcomp/none",),
    "jobcontainertype": ("job_container/none",),
    "jobsubmitplugins": ("all_partitions", "require_timelimit"),
    "launchtype": ("launch/slurm",),
    "licenses": (
        "foo:4",
        "foo:4,bar",
        "foo:4;bar:2",
        "foo,foo:2",
        "matlab@server:10",
        "a=b",
        "foo:",
        "foo:99999999999",
    ),
    "maxarraysize": ("0", "11", "4000001", "4000002", "2k", "0x100"),
    "maxdbdmsgs": ("10000", "20k"),
    "maxjobcount": ("500", "20000", "10k", "UNLIMITED"),
    "maxjobid": ("100000", "UNLIMITED", "2000000"),
    "maxnodecount": ("1000",),
    "maxstepcount": ("1", "40000", "2k"),
    "mcsparameters": ("ondemand,noselect",),
    "mcsplugin": ("mcs/none", "mcs/user"),
    "minjobage": ("0", "1", "2", "600", "10k"),
    "preemptexempttime": ("-1", "10", "1:00:00", "1-", "INFINITE", "1:30"),
    "prepplugins": ("prep/script",),
    "prioritycalcperiod": ("1", "10", "0-1", "2:00", "1-", "1:00:00"),
    "prioritydecayhalflife": (*TIMES, "INFINITE", "-1"),
    "priorityflags": (
        *("ACCRUE_ALWAYS", "CALCULATE_RUNNING,INCR_ONLY", "DEPTH_OBLIVIOUS", "NO_FAIR_TREE,MAX_TRES", "fair_tree"),
        *("NO_NORMAL_ALL", "NO_NORMAL_ASSOC,NO_NORMAL_PART", "no_normal_qos,NO_NORMAL_TRES", "MAX_TRES_GRES"),
        *("SMALL_RELATIVE_TO_TIME", "TICKET_BASED", "ACCRUE_ALWAYS,NOVELTY", "FAIR_TREE,NO_FAIR_TREE,DEPTH_OBLIVIOUS"),
    ),
    "prioritymaxage": (*TIMES, "0", "UNLIMITED"),
    "prioritytype": ("priority/multifactor", "priority/multifactor", "priority/basic"),
    "priorityusageresetperiod": ("NONE", "now", "daily", "WEEKLY", "Monthly", "QUARTERLY", "yearly"),
    "priorityweighttres": ("CPU=1000,Mem=2000", "cpu=1.5,node=3", "CPU=1e3,,Mem=2G", "billing=2"),
    "propagateprioprocess": ("0", "1", "2"),
    "propagateresourcelimits": ("ALL", "NONE", "MEMLOCK,STACK"),
    "propagateresourcelimitsexcept": ("MEMLOCK", "NOFILE,RLIMIT_CORE"),
    "schedulertimeslice": ("3", "5", "60"),
    "schedulertype": ("sched/builtin", "sched/backfill"),
    "slurmddebug": ("info", "debug3", "4", "VERBOSE"),
    "slurmdsyslogdebug": ("quiet", "fatal"),
    "slurmschedloglevel": ("0",),
    "switchtype": ("switch/none",),
    "taskpluginparam": ("Verbose", "cores", "autobind=threads"),
    "topologyparam": ("TopoOptional", "Dragonfly", "NoInAddrAny", "topooptional,RouteTree"),
    "trackwckey": YES,
    "cpufreqdef": ("Performance",),
    "cpufreqgovernors": ("OnDemand",),
    "gpufreqdef": ("medium",),
    "healthchecknodestate": ("ANY,CYCLE",),
    "jobacctgatherfrequency": ("30", "task=10"),
    "launchparameters": ("use_interactive_step",),
    "logtimeformat": ("iso8601",),
    "mpiparams": ("ports=12000-12999",),
    "prioritysitefactorplugin": ("site_factor/none",),
    "reconfigflags": ("KeepPartInfo",),
    "requeueexit": ("1-3,5",),
    "requeueexithold": ("7",),
    "routeplugin": ("route/default",),
    "srunportrange": ("60001-63000",),
    "slurmctldparameters": ("idle_on_node_suspend",),
    "suspendexcnodes": ("d",),
    "suspendexcparts": ("other",),
    "suspendtime": ("NONE", "300", "-1"),
    "jobacctgatherparams": ("NoOverMemoryKill",),
    "federationparameters": ("fed_display",),
    "clifilterplugins": ("none",),
    "privatedata": ("jobs,usage",),
}
"""The values of keys that have other values than numbers, times or words, by names in lower case."""

MISTAKES: Final = (
    *("KillWait=10x", "KillWait=70000", "PriorityWeightAge=-1", "PriorityWeightAge=10m", "MaxJobCount=5000000000"),
    *("PriorityMaxAge=1-2:", "PriorityMaxAge=never", "PriorityCalcPeriod=0", "PriorityCalcPeriod=UNLIMITED"),
    *("PreemptMode=SUSPEND", "PreemptMode=REQUEUE", "PreemptType=preempt/qos", "PreemptMode=FOO", "KillWait="),
    *("SelectTypeParameters=CR_Cores", "SelectTypeParameters=NONE", "SelectType=linear", "PriorityType=multifactor"),
    *(
        "SchedulerType=sched/hold",
        "Licenses=foo:-1",
        "Licenses=foo:2k",
        "Licenses=foo:1.5",
        "KillWait=30 MaxJobCount=5",
    ),
    *("KillWait", "JobRequeue=yes", "PriorityFavorSmall=maybe", "EnforcePartLimits=some", "MaxJobCount=0"),
    *("FirstJobId=0", "AccountingStorageEnforce=none", "PriorityUsageResetPeriod=hourly", "TopologyPlugin=tree"),
    *(
        "PriortyType=priority/basic",
        "FastSchedule=2",
        "PropagatePrioProcess=3",
        "TaskPluginParam=foo",
        "SlurmdDebug=loud",
    ),
    *(
        "CPUs=4 NodeName=z NodeAddr=127.0.0.1",
        "NodeName=z CPUs=x NodeAddr=127.0.0.1",
        "NodeName=z Weigth=3",
        "NodeName=ALL",
    ),
    *("NodeName=z State=SLEEPY NodeAddr=127.0.0.1", "NodeName=DEFAULT NodeAddr=127.0.0.1", "NodeName=z RealMemory=10G"),
    *("PartitionName=z Nodes=nosuch", "PartitionName=z MaxTime=soon", "PartitionName=z OverSubscribe=MAYBE"),
    *("PartitionName=z State=IDLE", "PartitionName=z PreemptMode=FOO", "PartitionName=z SelectTypeParameters=CR_CPU"),
    *("PartitionName=z Default=perhaps", "PartitionName=z DefMemPerCPU=2G", "PartitionName=z DefaultTime=NONE"),
    *("PartitionName=z TRESBillingWeights=CPU", "PartitionName=z TRESBillingWeights=CPU=1x", "PartitionName=other"),
    *("PartitionName=z Nodes=", "PartitionName=z PowerDownOnIdle=YES", "PartitionName=z Nodes=r[0-1]n1"),
    *("PartitionName=z MaxNodes=-1", "PartitionName=z Priority=70000"),
    *(
        "DefMemPerCPU=2G",
        "MaxStepCount=0",
        "PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=x",
        "SlurmSchedLogLevel=1",
    ),
    *("NodeName=a0 NodeAddr=127.0.0.1", "NodeName=z[3-1] NodeAddr=127.0.0.1", "MCSParameters=x"),
)
"""Lines for which slurmctld refuses a file."""

OTHERS: Final = ("TLSType=tls/none", "HashPlugin=hash/k12", "CacheGroups=0", "MaxBatchRequeue=3", "MemLimitEnforce=no")
"""Lines of other versions, for which slurmctld refuses a file, too, and which are named."""

GEOMETRIES: Final = (
    *("CPUs=4", "Procs=6", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", "", "CPUs=0x10", "cpus=8 CPUS=12", "CPUs=0"),
    *("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", "Boards=2 SocketsPerBoard=2 CoresPerSocket=3"),
    *("Boards=2 Sockets=2 CoresPerSocket=3", "CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", "CPUs=12 CoresPerSocket=4"),
    *("CPUs=8 Sockets=1 CoresPerSocket=4", "CPUs=10 CoresPerSocket=4", "CPUs=2 CoresPerSocket=4 ThreadsPerCore=2"),
    *("Boards=3 Sockets=2", "Boards=2 SocketsPerBoard=2 Sockets=8", "Sockets=0"),
    *("CPUs=48 Sockets=2 CoresPerSocket=24 ThreadsPerCore=2", "CoresPerSocket=5", "ThreadsPerCore=0 CPUs=4"),
    *(
        "CPUs=4 Procs=8",
        "SocketsPerBoard=3 CPUs=6",
        "CPUs=128 Boards=1 SocketsPerBoard=2 CoresPerSocket=64 ThreadsPerCore=1",
    ),
)
OF_NODES: Final[Mapping[str, tuple[str, ...]]] = {
    "RealMemory": ("64000", "1", "10k", "0x400", "257000"),
    "Weight": ("50", "0", "2k", "UNLIMITED", "010"),
    "TmpDisk": ("1000", "10k", "0"),
    "Feature": ("ib", "new,ib,gpu", '"a,b"', "knl&x"),
    "Features": ("old,ib", "x"),
    "State": ("UNKNOWN", "DRAIN", "DOWN", "idle", "FAIL", "DRAINED", "failing", "CLOUD", "FUTURE", "MIXED", "draining"),
    "MemSpecLimit": ("1", "100000000", "0"),
    "CoreSpecCount": ("1", "1000", "0"),
    "CPUSpecList": ("0", "99"),
    "Gres": (
        *("gpu:2", "gpu:a100:4", "gpu:a:2,gpu:b:1", "gpu", "gpu:v100", "nvme:1T", "bandwidth:lustre:no_consume:4G"),
        *(
            "gpu:a:4(S:0-1),nvme:2P",
            "gpu:2,gpu:3",
            "fpga",
            "gpu:0",
            "nvme:3kb",
            "gpu:2k",
            "tpu:2,gpu:1",
            "nvme:1000000000",
        ),
    ),
    "Reason": ('"to be repaired"', "broken"),
    "Port": ("7000",),
    "CpuBind": ("core", "none"),
    "BcastAddr": ("127.0.0.1",),
    "NodeHostname": ("",),
}
NAMES: Final = ("a[0-3]", "b[08-10]", "c[1,3-4]", "d", "r[0-1]n[1-2]", "e-[1-2],f", "g.x[0-1]")

OF_PARTITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("Default", "LLN", "ReqResv", "RootOnly", "ExclusiveUser", "Hidden", "DisableRootJobs"), YES),
    "MaxTime": (*TIMES, "INFINITE", "UNLIMITED", "-1", "0-0:00:30", "0"),
    "DefaultTime": ("10", "0:30", "1:00:00", "1-", "UNLIMITED", "30-0"),
    "MinNodes": ("0", "2", "UNLIMITED"),
    "MaxNodes": ("1", "UNLIMITED", "infinite", "5", "2k", "0"),
    "OverTimeLimit": ("3", "UNLIMITED", "INFINITE", "5x", "-1", "70000"),
    "PriorityTier": ("0", "7", "65535", "0x10"),
    "PriorityJobFactor": ("0", "9", "UNLIMITED"),
    "Priority": ("4", "017"),
    "GraceTime": ("0", "120", "2k"),
    "OverSubscribe": (
        "NO",
        "YES",
        "YES:2",
        "FORCE",
        "force:1",
        "EXCLUSIVE",
        "YES:1",
        "FORCE:40000",
        "YES:3x",
        "yes:-2",
    ),
    "Shared": ("YES:3", "FORCE:2"),
    "MaxCPUsPerNode": ("3", "UNLIMITED", "0"),
    **dict.fromkeys(("DefMemPerNode", "MaxMemPerCPU", "MaxMemPerNode"), MEGABYTES),
    "DefMemPerCPU": ("50", "4k", "0"),
    "DefMemPerGPU": ("5k", "100"),
    "DefCpuPerGPU": ("3", "1"),
    "AllowAccounts": ("a,B", "ALL", "Physics"),
    "DenyAccounts": ("z", "Y,z"),
    "AllowGroups": ("root", "ALL", "root,daemon"),
    "AllowQos": ("normal,High", "all"),
    "DenyQos": ("x",),
    "AllocNodes": ("ALL",),
    "Alternate": ("other",),
    "QOS": ("part_long",),
    "CpuBind": ("core",),
    "State": ("UP", "DOWN", "DRAIN", "INACTIVE", "up", "drained", "UPS"),
    "PreemptMode": ("OFF", "CANCEL", "requeue", "SUSPEND", "GANG", "SUSPEND,GANG", "REQUEUE,GANG", "WITHIN"),
    "SelectTypeParameters": ("CR_Core", "CR_Core_Memory", "CR_Socket", "cr_socket_memory,CR_LLN"),
    "TRESBillingWeights": ("CPU=1.0,Mem=0.25G", '"CPU=1.0,Mem=0.25G"', "cpu=2,mem=1T", "CPU=2K", "node=-1", ",CPU=1e1"),
    "ResumeTimeout": ("30",),
    "SuspendTime": ("300", "INFINITE"),
    "SuspendTimeout": ("20",),
}

SELECT: Final[Mapping[str, tuple[str, ...]]] = {
    "select/linear": ("CR_Memory", "CR_ONE_TASK_PER_CORE", "CR_LLN", "CR_Pack_Nodes,CR_LLN"),
    "select/cons_tres": (
        *("CR_CPU", "CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory,CR_LLN", "cr_cpu_memory"),
        *("CR_Core,CR_ONE_TASK_PER_CORE,CR_Pack_Nodes", "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK", "CR_LLN,CR_CPU"),
    ),
}


def _of_kind(name: str) -> tuple[str, ...]:
    """Values that slurmctld takes."""
    low = name.lower()
    if low in SPECIAL:
        return SPECIAL[low]
    kind = KINDS[""].get(low)
    if kind is not None:
        if low in {key for key, each in KINDS[""].items() if each is KINDS[""]["killwait"]}:
            return NUMBER
        if low in {key for key, each in KINDS[""].items() if each is KINDS[""]["minjobage"]}:
            return LARGE
        return MEGABYTES if "mem" in low or "cpuper" in low else YES
    if low.endswith(("program", "prolog", "epilog", "prog", "prologslurmctld", "epilogslurmctld")):
        return ("/bin/true",)
    return ("some/value", '"a value, with b=c"', "word")


def _cluster_keys() -> list[str]:
    own = ("selecttype", "selecttypeparameters", "preempttype", "preemptmode", "schedulerparameters", "clustername")
    left = {*ELSEWHERE, *FOREIGN[""], *own, "topologyplugin", "mcsparameters", "maxnodecount"}
    return [row.name for low, row in CLUSTER.items() if low not in left]


def _cased(draw: Random, name: str) -> str:
    how = draw.random()
    return name.lower() if how < 0.05 else name.upper() if how < 0.08 else name


def drawn(seed: int, mistakes: float = 0.35) -> dict[str, str]:
    """Files, by name: slurm.conf, those that it includes, topology.conf and gres.conf.

    Args:
        seed: makes the same files again.
        mistakes: the share of files that have a line for which slurmctld refuses them.
    """
    draw = Random(seed)
    lines = [f"ClusterName={draw.choice(SPECIAL['clustername'])}"]
    others = [_cluster_line(draw, key) for key in draw.sample(_cluster_keys(), draw.randrange(8, 40))]
    others += _select(draw) + _preemption(draw)
    if draw.random() < 0.8:
        others.append(f"SchedulerParameters={_options(draw)}")
    if draw.random() < 0.1:
        others.append(f"SchedulerParameters={_options(draw)}")
    if draw.random() < 0.15:
        others += ["SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "MaxNodeCount=1000"]
    if draw.random() < 0.1:
        others += ["MCSPlugin=mcs/user", "MCSParameters=ondemand,noselect"]
    files: dict[str, str] = {}
    draw.shuffle(others)
    nodes, partitions = _nodes(draw), _partitions(draw)
    if draw.random() < 0.4:
        others.append("TopologyPlugin=topology/tree")
        files["topology.conf"] = _topology(draw)
    if draw.random() < 0.3:
        files["gres.conf"] = "NodeName=a[0-3] Name=gpu Count=2\n" if draw.random() < 0.5 else "# nothing\n"
    wrong = draw.random()
    if wrong < mistakes:
        line = draw.choice(MISTAKES) if wrong < mistakes * 0.85 else draw.choice(OTHERS)
        (partitions if line.startswith("Part") else nodes if line.startswith("Node") else others).append(line)
    if draw.random() < 0.4:
        files["nodes.conf"] = _written(draw, nodes)
        nodes = [draw.choice(("include nodes.conf", "Include nodes.conf # them", "INCLUDE  nodes.conf"))]
    if draw.random() < 0.2:
        files["x_parts"] = files["alpha_parts"] = files["c_1_parts"] = _written(draw, partitions)
        partitions = ["include %c_parts"]
    files["slurm.conf"] = _written(draw, [*lines, *others, *nodes, *partitions])
    return files


def _cluster_line(draw: Random, key: str) -> str:
    value = draw.choice(_of_kind(key))
    line = f"{_cased(draw, key)}{draw.choice(('=', '=', '=', ' = ', '= '))}{value}"
    if draw.random() < 0.08:
        line += f"\n{key}={draw.choice(_of_kind(key))}"
    return line


def _select(draw: Random) -> list[str]:
    plugin = draw.choice(("select/linear", "select/cons_tres", "select/cons_res", "select/cons_tres"))
    lines = [f"SelectType={plugin}"] if draw.random() < 0.9 else []
    plugin = plugin if lines else "select/linear"
    if draw.random() < 0.7:
        lines.append(f"SelectTypeParameters={draw.choice(SELECT[plugin.replace('cons_res', 'cons_tres')])}")
    return lines


def _preemption(draw: Random) -> list[str]:
    if draw.random() < 0.5:
        return [draw.choice(("PreemptType=preempt/none", "PreemptMode=GANG", "PreemptMode=OFF", "KillWait=5"))]
    modes = ("CANCEL", "REQUEUE", "SUSPEND,GANG", "GANG,SUSPEND", "requeue,gang", "WITHIN,REQUEUE")
    lines = [
        f"PreemptType={draw.choice(('preempt/partition_prio', 'preempt/qos'))}",
        f"PreemptMode={draw.choice(modes)}",
    ]
    return [f"PreemptMode={draw.choice(modes)}", *lines] if draw.random() < 0.2 else lines


def _options(draw: Random) -> str:
    parts = []
    for name in draw.sample(list(OPTIONS), draw.randrange(1, 12)):
        if name in NUMBERS:
            values = ("1", "5", "60", "300", "45s", "0", "-1", "=7", "abc", "99999999", "+6", "4294967299")
            parts.append(f"{_cased(draw, name)}={draw.choice(values[: 4 if draw.random() < 0.6 else None])}")
        else:
            parts.append(_cased(draw, name) + draw.choice(("", "", "=1", "=yes")))
    parts += draw.sample(
        ("bf_intervall=3", "my_bf_window=20", "novelty", "bf_interval=40", "bf_interval"), draw.randrange(2)
    )
    text = draw.choice((",", ",", ",", ",,")).join(parts)
    return f'"{text.replace(",", ", ")}"' if draw.random() < 0.1 else text


def _nodes(draw: Random) -> list[str]:
    lines: list[str] = []
    if draw.random() < 0.75:
        lines.append(f"GresTypes={draw.choice(SPECIAL['grestypes'])}")
    for name in NAMES:
        if draw.random() < 0.3:
            lines.append(
                f"NodeName=DEFAULT {draw.choice(('Weight=9', 'RealMemory=500', 'Feature=x TmpDisk=5', 'Procs=4'))}"
            )
        keys = draw.sample([key for key in OF_NODES if key != "NodeHostname"], draw.randrange(5))
        words = [f"{_cased(draw, key)}={draw.choice(OF_NODES[key])}" for key in keys]
        geometry = draw.choice(GEOMETRIES)
        words = [f"NodeName={name}", *draw.sample([geometry, *words], len(words) + 1), "NodeAddr=127.0.0.1"]
        lines.append(" ".join(filter(None, words)))
    if draw.random() < 0.3:
        lines.append("NodeName=h0 NodeHostname=h0 CPUs=2 NodeAddr=127.0.0.1")
    if draw.random() < 0.5:
        names = draw.choice(("a[1-2]", "d,a0", "a[0-9]", "nosuch", "ALL"))
        lines.append(
            f'DownNodes={names} State={draw.choice(("DOWN", "DRAIN", "FAIL", "IDLE", "BLA"))} Reason="to be repaired"'
        )
    return [
        *lines,
        "NodeSet=s Feature=ib",
        "NodeSet=t Nodes=a[0-1],d",
        *draw.sample(["NodeSet=t Nodes=a3"], draw.randrange(2)),
    ]


def _partitions(draw: Random) -> list[str]:
    lines = ["PartitionName=other Nodes=ALL"]
    for name in ("p", "q", "r"):
        if draw.random() < 0.3:
            default = (
                "MaxTime=100",
                "PriorityTier=3 LLN=YES",
                "MaxNodes=4",
                "DefMemPerCPU=5 ExclusiveUser=YES",
                "State=DOWN",
            )
            lines.append(f"PartitionName=DEFAULT {draw.choice(default)}")
        keys = draw.sample(list(OF_PARTITIONS), draw.randrange(9))
        words = [f"{_cased(draw, key)}={draw.choice(OF_PARTITIONS[key])}" for key in keys]
        nodes = draw.choice(("ALL", "s", "t,b09", "a[2-3],c[1,3]", "d", "all", '"a0 d"', "r[0-1]n[1-2]", "r[0-1]n[2]"))
        lines.append(" ".join([f"PartitionName={name} Nodes={nodes}", *words]))
    return lines


def _topology(draw: Random) -> str:
    lines = [
        "SwitchName=s0 Nodes=a[0-3]",
        f"SwitchName=s1 Nodes={draw.choice(('b[08-10]', 'b[08-12]', 'b08,a0', 'nosuch'))}",
    ]
    lines.append("SwitchName=s2 Nodes=c[1,3-4],d,e-[1-2],f,g.x[0-1],r[0-1]n[1-2] LinkSpeed=100")
    lines += ["SwitchName=top Switches=s[0-2]"] if draw.random() < 0.8 else []
    wrong = ("SwitchName=s0 Nodes=d", "SwitchName=w Switches=nosuch", "SwitchName=w", "SwitchName=w Nodes=d Foo=1")
    lines += [draw.choice(wrong)] if draw.random() < 0.06 else []
    return _written(draw, lines)


def _written(draw: Random, lines: list[str]) -> str:
    """Lines with comments, blank lines and continuations."""
    found: list[str] = []
    for line in "\n".join(lines).split("\n"):
        how = draw.random()
        if how < 0.08:
            found.append(draw.choice(("# a comment", "", "   ", "\t# KillWait=3", "# ends in \\")))
        if how > 0.9 and " " in line and "include" not in line.lower():
            place = draw.choice([each.start() for each in re.finditer(" ", line)])
            line = f"{line[:place]} \\\n{draw.choice(('', '    ', chr(9)))}{line[place + 1 :]}"
        elif how > 0.86 and "\\" not in line:
            line += draw.choice(("  # why", " #", "   ", "\t"))
        found.append(line)
    return "\n".join([*found, ""])


def drawn_keys(files: Mapping[str, str]) -> Counter[str]:
    """How often each key is in the files, as `KillWait`, `node.CPUs`, `partition.MaxTime` and `option.bf_interval`."""
    found: Counter[str] = Counter()
    for name, text in files.items():
        if name in ("gres.conf", "topology.conf"):
            continue
        for line in text.replace("\\\n", "").split("\n"):
            keys = re.findall(r"(?:^|\s)([A-Za-z0-9_]+)\s*=", line.partition("#")[0])
            if not keys:
                continue
            kind = keys[0].lower()
            if kind in RECORDS:
                part = kind.removesuffix("name")
                found.update(
                    f"{part}.{RECORDS[kind][key.lower()].name}" for key in keys if key.lower() in RECORDS[kind]
                )
            elif kind in CLUSTER:
                found[CLUSTER[kind].name] += 1
                if kind == "schedulerparameters":
                    found.update(f"option.{name}" for name in OPTIONS if name in line.lower())
    return found


def expected_keys() -> set[str]:
    """The keys of slurmctld 22.05 that are not about this machine, as `drawn_keys` names them."""
    found = {row.name for low, row in CLUSTER.items() if low not in {*ELSEWHERE, *FOREIGN[""]}}
    for kind, rows in RECORDS.items():
        part = kind.removesuffix("name")
        if kind != "frontendname":
            foreign = FOREIGN.get(part, ())
            found |= {f"{part}.{row.name}" for low, row in rows.items() if low not in foreign}
    return found | {f"option.{name}" for name in OPTIONS}
