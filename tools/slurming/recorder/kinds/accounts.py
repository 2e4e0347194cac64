"""Kinds of plans with accounts, shares, limits and qualities of service, which need Slurm's accounting."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from slurming.recorder.kinds.parts import ALL, BACKFILL, LINEAR, base, nodes, parameters, scheduled, some, with_words
from slurming.recorder.kinds.shared import drawn_cores
from slurming.recorder.plans import ACCOUNTED, Given, Nodes, Plan
from slurming.recorder.workloads import jobs, sized

__all__ = ["ACCOUNTS", "QOS_LIMITS", "TREE", "USER_LIMITS", "factors", "tree"]

TREE = {"u1": "a1", "u2": "a1", "u3": "a2", "u4": "a3"}
"""The account of each user; a3 is below a1."""
HERE = "cluster=witness"


def tree(draw: Random) -> list[list[str]]:
    """Accounts and users with shares, and three qualities of service."""
    shares = {name: draw.choice([1, 1, 2, 3, 10, 30]) for name in ("a1", "a2", "a3", *TREE)}
    made = [
        ["add", "account", "a1", HERE, f"fairshare={shares['a1']}"],
        ["add", "account", "a2", HERE, f"fairshare={shares['a2']}"],
        ["add", "account", "a3", HERE, "parent=a1", f"fairshare={shares['a3']}"],
    ]
    made += [
        ["add", "user", user, HERE, f"account={account}", f"fairshare={shares[user]}"] for user, account in TREE.items()
    ]
    made += [["add", "qos", "high", "priority=100"], ["add", "qos", "low", "priority=10"]]
    made.append(["modify", "user", *TREE, "set", "qos=normal,high,low"])
    return [*made[:-1], ["modify", "user", ",".join(TREE), "set", "qos=normal,high,low"]]


def factors(draw: Random) -> dict[str, str]:
    return {
        "AccountingStorageType": ACCOUNTED,
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": draw.choice(["0", "1000", "3000"]),
        "PriorityMaxAge": draw.choice(["0-0:20:00", "0-0:5:00"]),
        "PriorityWeightJobSize": draw.choice(["0", "500"]),
        "PriorityWeightFairshare": draw.choice(["1000", "5000"]),
        "PriorityWeightQOS": draw.choice(["0", "800"]),
        "PriorityCalcPeriod": "1",
        "PriorityDecayHalfLife": draw.choice(["0-0:5:0", "0-0:20:0", "1-0"]),
    }


QOS = [["--qos=high"], ["--qos=low"], ["--qos=low"], ["--nice=100"]]


def fair(draw: Random, flags: str = "") -> Plan:
    """The shares of users and accounts: fair tree."""
    made = nodes(draw)
    conf = LINEAR | parameters(draw) | factors(draw) | some(draw, 0.3, PriorityFavorSmall="YES")
    conf |= some(draw, 0.2, PriorityUsageResetPeriod="NONE")
    conf |= {"PriorityFlags": flags} if flags else {}
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.4, QOS)
    return base(conf, made, asked, setup=tree(draw))


def classic(draw: Random) -> Plan:
    """The shares of users and accounts as before there was fair tree."""
    flags = draw.choice(["NO_FAIR_TREE", "NO_FAIR_TREE", "NO_FAIR_TREE,DEPTH_OBLIVIOUS", "NO_FAIR_TREE,ACCRUE_ALWAYS"])
    return fair(draw, flags)


QOS_LIMITS = (
    *("MaxJobsPerUser=2", "MaxTRESPerUser=cpu=4", "GrpJobs=3", "GrpTRES=cpu=5", "MaxTRESPerJob=cpu=3", "MaxWall=3"),
    *("MaxSubmitJobsPerUser=4", "GrpTRES=node=4", "MaxJobsPerAccount=2", "MaxTRESPerAccount=node=5", "GrpWall=10"),
    *("GrpSubmitJobs=8", "MinTRESPerJob=node=2", "GrpTRESRunMins=cpu=30", "MaxTRESMinsPerJob=cpu=12"),
)
USER_LIMITS = (
    *("MaxJobs=2", "MaxTRES=cpu=3", "GrpJobs=2", "GrpTRES=cpu=4", "MaxWall=4", "MaxSubmitJobs=6"),
    *("GrpTRESRunMins=cpu=40", "MaxTRESMins=cpu=15"),
)


def limits(draw: Random) -> Plan:
    """Limits of qualities of service, accounts and users."""
    made = nodes(draw)
    conf = LINEAR | factors(draw) | {"AccountingStorageEnforce": "associations,limits,qos"}
    stop = draw.choice(["", "", ",assoc_limit_stop"])
    conf["SchedulerParameters"] = BACKFILL + stop
    setup = tree(draw)
    for name in draw.sample(["high", "low", "normal"], draw.choice([2, 3])):
        chosen = draw.sample(QOS_LIMITS, draw.choice([1, 2]))
        setup.append(["modify", "qos", name, "set", *chosen])
        if draw.random() < 0.3:
            setup.append(["modify", "qos", name, "set", "Flags=DenyOnLimit"])
    for _ in range(draw.randint(0, 2)):
        place = draw.choice([["user", "u1"], ["user", "u3"], ["account", "a1"], ["account", "a2"]])
        setup.append(["modify", *place, "set", draw.choice(USER_LIMITS)])
    asked = with_words(draw, jobs(draw, sized(max(3, made[0].count // 2)), busy=(200, 290)), 0.7, QOS[:3])
    return base(conf, made, asked, setup=setup)


def qospreempt(draw: Random) -> Plan:
    """Jobs of one quality of service end those of others, or send them back to the queue."""
    made = nodes(draw)
    mode = draw.choice(["REQUEUE", "CANCEL"])
    conf = LINEAR | parameters(draw) | factors(draw)
    conf |= {"PreemptType": "preempt/qos", "PreemptMode": mode, "AccountingStorageEnforce": "associations,limits,qos"}
    conf = scheduled(conf, some(draw, 0.3, preempt=draw.choice(["youngest_first", "strict_order"])))
    setup = tree(draw)
    setup.append(["modify", "qos", "high", "set", "preempt=low" + draw.choice(["", ",normal"])])
    if draw.random() < 0.5:
        setup.append(["modify", "qos", "normal", "set", "preempt=low"])
    setup.append(["modify", "qos", "low", "set", draw.choice(["GraceTime=0", "GraceTime=20", "PreemptMode=cancel"])])
    asked = with_words(draw, jobs(draw, sized(made[0].count), count=(24, 32), busy=(190, 260)), 0.7, QOS[:3])
    return base(conf, made, asked, setup=setup, longest=620)


def changes(draw: Random) -> Plan:
    """Priorities that operators and users change: holds, nice values, limits, qualities of service, partitions."""
    made = nodes(draw)
    lines = [
        ALL.replace("State", "PriorityJobFactor=10 State"),
        "PartitionName=fast Nodes=ALL MaxTime=INFINITE DefaultTime=10 PriorityJobFactor=40 State=UP",
    ]
    conf = LINEAR | parameters(draw) | factors(draw) | {"PriorityWeightPartition": "1000"}
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.5, [*QOS, ["-p", "fast"], ["-p", "all,fast"]])
    events = []
    for number in draw.sample(range(len(asked)), 9):
        words = ["scontrol", "update", f"JobId={{{number}}}"]
        change = draw.choice(
            [
                *(f"Nice={draw.choice([-200, 50, 400])}", f"Priority={draw.randint(1, 9000)}", "QOS=high", "QOS=low"),
                *(f"TimeLimit={draw.randint(1, 8)}", "Partition=fast", "Priority=0"),
            ]
        )
        at = asked[number].at + draw.randint(3, 60)
        events.append(Given(at, [*words, change]))
        if change == "Priority=0":
            events.append(Given(at + draw.randint(30, 120), ["scontrol", "release", f"{{{number}}}"]))
    return base(conf, made, asked, partitions=lines, events=events, setup=tree(draw))


def mixed(draw: Random) -> Plan:
    """A site: shared nodes, partitions with tiers, accounts, qualities of service, arrays and dependencies at once."""
    words = "Sockets=1 ThreadsPerCore=1"
    groups = [
        Nodes(draw.randint(3, 4), f"CPUs=4 CoresPerSocket=4 {words} RealMemory=8000"),
        Nodes(draw.randint(2, 3), f"CPUs=8 CoresPerSocket=8 {words} RealMemory=32000 Feature=big Weight=10"),
    ]
    first, total = groups[0].count, groups[0].count * 4 + groups[1].count * 8
    lines = [
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 DefMemPerCPU=1000 PriorityTier=1",
        f"PartitionName=fast Nodes=n[0-{first}] MaxTime=4 DefMemPerCPU=500 PriorityTier=5",
        f"PartitionName=big Nodes=n[{first}-{first + groups[1].count - 1}] DefMemPerCPU=2000 PriorityJobFactor=10",
    ]
    conf = LINEAR | parameters(draw) | factors(draw) | {"SelectType": "select/cons_tres"}
    conf |= {"SelectTypeParameters": draw.choice(["CR_Core", "CR_Core_Memory"]), "PriorityWeightPartition": "500"}
    if draw.random() < 0.5:
        conf |= {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}
    if draw.random() < 0.4:
        conf |= {"PriorityFlags": "NO_FAIR_TREE"}
    asked = jobs(draw, drawn_cores(total, first + groups[1].count), count=(32, 42), busy=(300, 400))
    asked = with_words(draw, asked, 0.6, [*QOS, ["-p", "fast"], ["-p", "big"], ["-p", "all,big"], ["--array=0-2"]])
    asked = [replace(job, runs=job.runs * 3) if job.is_array else job for job in asked]
    asked = [
        replace(job, args=[*job.args, "-d", f"afterany:{{{draw.randrange(number)}}}"])
        if number and draw.random() < 0.08
        else job
        for number, job in enumerate(asked)
    ]
    setup = tree(draw)
    if draw.random() < 0.5:
        setup.append(["modify", "qos", "low", "set", draw.choice(["GrpTRES=cpu=8", "MaxJobsPerUser=2"])])
        conf |= {"AccountingStorageEnforce": "associations,limits,qos"}
    return base(conf, groups, asked, partitions=[f"{line} State=UP" for line in lines], setup=setup, longest=620)


ACCOUNTS: dict[str, Callable[[Random], Plan]] = {
    each.__name__: each for each in (fair, classic, limits, qospreempt, changes, mixed)
}
