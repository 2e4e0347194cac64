"""Kinds of plans whose jobs take whole nodes, with select/linear."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from slurming.recorder.kinds.parts import ALL, BACKFILL, LINEAR, base, nodes, parameters, scheduled, some, with_words
from slurming.recorder.plans import Asked, Given, Nodes, Plan
from slurming.recorder.workloads import jobs, sized

__all__ = ["WHOLE"]


def builtin(draw: Random) -> Plan:
    """Strict order: sched/builtin with priority/basic, and what bounds its loop."""
    conf = {**LINEAR, "SchedulerType": "sched/builtin"}
    chosen = draw.choice(["", "", "sched_interval=10", "default_queue_depth=4", "batch_sched_delay=0,sched_interval=5"])
    conf |= {"SchedulerParameters": chosen} if chosen else {}
    made = nodes(draw)
    asked = jobs(draw, sized(made[0].count), until=180, busy=(170, 240))
    asked = with_words(draw, asked, 0.1, [["--nice=5"], ["--nice=30"]])
    return base(conf | some(draw, 0.2, OverTimeLimit="1"), made, asked)


def backfill(draw: Random) -> Plan:
    """Backfilling with priority/basic, with different intervals."""
    made = nodes(draw)
    conf = LINEAR | parameters(draw) | some(draw, 0.25, OverTimeLimit=draw.choice(["1", "2"]), KillWait="10")
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.1, [["--nice=5"], ["--nice=30"]])
    return base(conf, made, asked)


LIMITS = (
    "bf_max_job_test=3",
    "bf_max_job_test=8",
    "bf_max_job_part=4",
    "bf_max_job_user=2",
    "bf_max_job_user_part=2",
    "bf_max_job_start=1",
    "bf_window=3",
    "bf_window=10",
    "bf_resolution=120",
    "bf_resolution=300",
    "bf_interval=60",
    "bf_interval=120",
    "bf_min_prio_reserve=4294901740",
    "bf_job_part_count_reserve=2",
    "bf_one_resv_per_job",
    "bf_min_age_reserve=60",
    "bf_busy_nodes",
)
LOOP = (
    "default_queue_depth=3",
    "partition_job_depth=2",
    "defer",
    "batch_sched_delay=0",
    "batch_sched_delay=10",
    "sched_min_interval=1",
    "sched_min_interval=5000000",
    "sched_interval=15",
    "sched_max_job_start=2",
    "max_rpc_cnt=100",
)


def bounded(draw: Random) -> Plan:
    """Backfilling with bounds: how many jobs it tests, how far it looks, and whom it makes reservations for."""
    made = nodes(draw)
    chosen = ["bf_interval=15", "bf_resolution=30", *draw.sample(LIMITS, draw.choice([1, 1, 2]))]
    names = {each.partition("=")[0]: each for each in chosen}
    names |= {"bf_continue": "bf_continue"} if draw.random() < 0.7 else {}
    conf = {**LINEAR, "SchedulerParameters": ",".join(names.values())}
    return base(conf, made, jobs(draw, sized(made[0].count), count=(28, 40), until=120, busy=(200, 280)))


def loop(draw: Random) -> Plan:
    """The main loop with bounds and delays, with or without backfilling."""
    made = nodes(draw)
    chosen = [BACKFILL, *draw.sample(LOOP, draw.choice([1, 1, 2]))]
    conf = {**LINEAR, "SchedulerParameters": ",".join(chosen)}
    conf |= {"SchedulerType": draw.choice(["sched/builtin", "sched/backfill", "sched/backfill"])}
    lines = [ALL, "PartitionName=fast Nodes=ALL MaxTime=INFINITE DefaultTime=10 State=UP"]
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.3, [["-p", "fast"]])
    return base(conf, made, asked, partitions=lines)


FLAGS = ("SMALL_RELATIVE_TO_TIME", "ACCRUE_ALWAYS", "CALCULATE_RUNNING")


def multifactor(draw: Random) -> Plan:
    """Priorities of several factors, without accounting."""
    made = [Nodes(draw.choice([8, 10, 12]), draw.choice(["CPUs=1", "CPUs=1", "CPUs=4"]))]
    conf = LINEAR | parameters(draw)
    conf |= {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": "1000",
        "PriorityMaxAge": "0-0:20:00",
        "PriorityWeightJobSize": draw.choice(["0", "500", "2000"]),
        "PriorityWeightPartition": draw.choice(["0", "1000"]),
        "PriorityCalcPeriod": "1",
    }
    conf |= some(draw, 0.4, PriorityFavorSmall="YES")
    conf |= some(draw, 0.25, PriorityFlags=draw.choice(FLAGS))
    lines = [
        ALL.replace("State", "PriorityJobFactor=10 State"),
        "PartitionName=fast Nodes=ALL MaxTime=INFINITE DefaultTime=10 PriorityJobFactor=40 State=UP",
    ]
    words = [["-p", "fast"], ["-p", "fast"], ["--nice=10"], ["--nice=100"], ["--nice=500"], ["--nice=-50"]]
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.6, words)
    return base(conf, made, asked, partitions=lines)


def _tiers(draw: Random, count: int) -> list[str]:
    first, middle = draw.randint(0, 3), draw.randint(count // 2, count - 1)
    last = min(count - 1, first + 4)
    return [
        "PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 PriorityTier=1 State=UP",
        f"PartitionName=mid Nodes=n[0-{middle}] MaxTime=12 DefaultTime=4 PriorityTier=5 State=UP",
        f"PartitionName=high Nodes=n[{first}-{last}] MaxTime=5 DefaultTime=3 MaxNodes=3 PriorityTier=10 State=UP",
    ]


TIERS = [["-p", "mid"], ["-p", "mid"], ["-p", "high"], ["-p", "high"], ["-p", "low,mid"], ["-p", "mid,high"]]


def partitions(draw: Random) -> Plan:
    """Partitions that share nodes, with tiers and limits."""
    made = nodes(draw)
    asked = with_words(draw, jobs(draw, sized(made[0].count // 2), busy=(230, 320)), 0.55, TIERS)
    conf = LINEAR | parameters(draw) | some(draw, 0.3, EnforcePartLimits=draw.choice(["ALL", "ANY"]))
    return base(conf, made, asked, partitions=_tiers(draw, made[0].count))


def preemption(draw: Random) -> Plan:
    """Jobs of higher tiers end those of lower ones, or send them back to the queue."""
    made = nodes(draw)
    mode = draw.choice(["REQUEUE", "CANCEL", "REQUEUE"])
    conf = LINEAR | parameters(draw) | {"PreemptType": "preempt/partition_prio", "PreemptMode": mode}
    conf = scheduled(conf, some(draw, 0.3, preempt=draw.choice(["youngest_first", "strict_order", "reorder_count=2"])))
    conf |= some(draw, 0.15, PreemptExemptTime="0:0:30")
    lines = _tiers(draw, made[0].count)
    lines[0] += draw.choice(["", "", " GraceTime=20", " PreemptMode=CANCEL", " PreemptMode=REQUEUE"])
    lines[2] += draw.choice(["", " PreemptMode=OFF"])
    words = [*TIERS, ["--no-requeue"], ["-p", "high"], ["-p", "mid", "--no-requeue"]]
    asked = with_words(draw, jobs(draw, sized(made[0].count // 2), count=(24, 32), busy=(210, 290)), 0.6, words)
    return base(conf, made, asked, partitions=lines, longest=620)


def dependencies(draw: Random) -> Plan:
    """Jobs that wait for others, singletons, and arrays with and without a bound of tasks at once."""
    made = nodes(draw)
    plain = jobs(draw, sized(max(2, made[0].count // 2)), count=(20, 28), busy=(140, 200))
    asked: list[Asked] = []
    for number, job in enumerate(plain):
        args, runs, roll = list(job.args), job.runs, draw.random()
        earlier = f"{{{draw.randrange(number)}}}" if number else ""
        if earlier and roll < 0.4:
            kind = draw.choice(["afterok", "afterany", "afternotok", "after", "afterok", "aftercorr", "afterany"])
            other = f":{{{draw.randrange(number)}}}" if draw.random() < 0.25 else ""
            args += ["-d", f"{kind}:{earlier}{other}"]
        elif roll < 0.5:
            args += ["-d", "singleton", "-J", draw.choice(["x", "y"])]
        elif roll < 0.62:
            count = draw.randint(3, 6)
            runs = [draw.randint(5, 50) for _ in range(count)]
            args = ["-N", str(draw.randint(1, 2)), "-t", "2", f"--array=0-{count - 1}{draw.choice(['', '%1', '%2'])}"]
        elif roll < 0.67:
            args += [f"--begin=now+{draw.randint(20, 150)}"]
        asked.append(Asked(job.at, runs, job.user, args, job.exit))
    conf = LINEAR | parameters(draw) | some(draw, 0.4, DependencyParameters="kill_invalid_depend")
    return base(conf, made, asked)


def reservations(draw: Random) -> Plan:
    """Reservations of users, maintenance of nodes, and jobs that are in the way."""
    made = nodes(draw)
    count = made[0].count
    first = draw.randint(0, count - 3)
    users = draw.choice(["u1", "u1,u2", "u3,u4"])
    start, minutes = draw.choice([0, 60, 150, 240]), draw.randint(2, 5)
    words = ["ReservationName=r1", f"StartTime=now+{start}", f"Duration={minutes}", f"Users={users}"]
    nodes_of = draw.choice([[f"Nodes=n[{first}-{first + 2}]"], [f"NodeCnt={draw.randint(1, 4)}"]])
    flags = draw.choice([[], [], ["Flags=flex"], ["Flags=ignore_jobs"], ["Flags=magnetic"]])
    events = [Given(draw.choice([1.0, 30.0]), ["scontrol", "create", "reservation", *words, *nodes_of, *flags])]
    if draw.random() < 0.7:
        place = "ALL" if draw.random() < 0.3 else f"n[{max(0, count - 3)}-{count - 1}]"
        maint = ["ReservationName=m1", f"StartTime=now+{draw.randint(100, 260)}", f"Duration={draw.randint(1, 3)}"]
        flags = ["Users=root", "Flags=maint,ignore_jobs", f"Nodes={place}"]
        events.append(Given(1.0, ["scontrol", "create", "reservation", *maint, *flags]))
    if draw.random() < 0.3:
        events.append(Given(draw.randint(200, 400), ["scontrol", "delete", "ReservationName=r1"]))
    asked = jobs(draw, sized(count), count=(24, 34), busy=(170, 240))
    owners = users.split(",")
    asked = [
        Asked(job.at, job.runs, job.user, [*job.args, "--reservation=r1"], job.exit)
        if job.user in owners and job.at > 31 and draw.random() < 0.3
        else job
        for job in asked
    ]
    return base(LINEAR | parameters(draw), made, asked, events=events)


def failures(draw: Random) -> Plan:
    """Nodes fail, drain and come back, and jobs are cancelled, held, changed and queued again."""
    made = nodes(draw)
    count = made[0].count
    asked = with_words(draw, jobs(draw, sized(count), busy=(170, 240)), 0.3, [["--no-requeue"], ["--requeue"], ["-H"]])
    events = []
    for _ in range(draw.randint(2, 4)):
        first = draw.randrange(count)
        name = f"n{first}" if draw.random() < 0.6 or first + 1 == count else f"n[{first}-{first + 1}]"
        at = draw.randint(20, 280)
        state = draw.choice(["down", "drain", "down"])
        words = ["scontrol", "update", f"NodeName={name}"]
        events.append(Given(at, [*words, f"State={state}", "Reason=test"]))
        events.append(Given(at + draw.randint(20, 150), [*words, f"State={draw.choice(['resume', 'idle', 'resume'])}"]))
    for number in draw.sample(range(len(asked)), 6):
        second, name = asked[number].at, f"{{{number}}}"
        change = draw.choice(
            [
                ["scancel", name],
                ["scontrol", "requeue", name],
                ["scontrol", "hold", name],
                ["scontrol", "update", f"JobId={name}", f"TimeLimit={draw.randint(1, 9)}"],
                ["scontrol", "update", f"JobId={name}", f"Nice={draw.choice([-10, 10])}"],
            ]
        )
        events.append(Given(second + draw.randint(5, 90), change))
        if change[1] == "hold":
            events.append(Given(second + draw.randint(100, 200), ["scontrol", "release", name]))
    events += [
        Given(job.at + draw.randint(10, 120), ["scontrol", "release", f"{{{number}}}"])
        for number, job in enumerate(asked)
        if "-H" in job.args
    ]
    conf = LINEAR | parameters(draw) | some(draw, 0.25, ReturnToService="0", JobRequeue="0")
    return base(conf, made, asked, events=events, longest=620)


def weights(draw: Random) -> Plan:
    """Nodes with weights and features, from which select/linear chooses."""
    groups = [
        Nodes(draw.randint(2, 4), f"CPUs=1 Feature={feature} Weight={draw.choice([1, 5, 10, 10, 20])}")
        for feature in draw.choice([["a", "b", "a"], ["a", "b", "a,b", "c"], ["a", "a", "b"]])
    ]
    size = sum(group.count for group in groups)
    words = [["-C", "a"], ["-C", "b"], ["-C", "a|b"], ["--contiguous"], ["-w", "n1"], ["-x", "n0"], ["-x", "n[2-3]"]]
    shape = sized(max(3, size // 2))
    asked = with_words(draw, jobs(draw, shape, count=(28, 40), busy=(260, 340)), 0.35, words)
    return base(LINEAR | parameters(draw), groups, asked)


def topology(draw: Random) -> Plan:
    """A tree of switches."""
    leaves, width = draw.choice([(3, 4), (4, 3), (4, 4), (2, 6)])
    lines = [f"SwitchName=s{leaf} Nodes=n[{leaf * width}-{leaf * width + width - 1}]" for leaf in range(leaves)]
    if leaves == 4 and draw.random() < 0.6:
        lines += ["SwitchName=t0 Switches=s[0-1]", "SwitchName=t1 Switches=s[2-3]", "SwitchName=root Switches=t[0-1]"]
    else:
        lines.append(f"SwitchName=root Switches=s[0-{leaves - 1}]")
    select = draw.choice(["select/linear", "select/linear", "select/cons_tres"])
    conf = {**LINEAR, "SelectType": select, "TopologyPlugin": "topology/tree"} | parameters(draw)
    if select == "select/cons_tres":
        conf["SelectTypeParameters"] = "CR_Core"
    conf |= some(draw, 0.2, TopologyParam="TopoOptional")
    words = [["--switches=1"], ["--switches=1@2"], ["--switches=2"], ["--exclusive"]]
    asked = with_words(draw, jobs(draw, sized(leaves * width)), 0.2, words)
    return base(conf, [Nodes(leaves * width, "CPUs=1")], asked, topology="\n".join(lines) + "\n")


def licences(draw: Random) -> Plan:
    """Licences that jobs hold, and a reservation of some."""
    made = nodes(draw)
    conf = LINEAR | parameters(draw) | {"Licenses": "matlab:4,ansys:2"}
    words = [["-L", "matlab:1"], ["-L", "matlab:2"], ["-L", "ansys"], ["-L", "matlab:3,ansys:1"], ["-L", "ansys:2"]]
    asked = with_words(draw, jobs(draw, sized(made[0].count)), 0.5, words)
    events = []
    if draw.random() < 0.3:
        reserved = ["ReservationName=lic", "StartTime=now+60", "Duration=3", "Users=u1", "Licenses=matlab:2"]
        events.append(Given(20, ["scontrol", "create", "reservation", *reserved, "Flags=LICENSE_ONLY"]))
    return base(conf, made, asked, events=events)


WHOLE: dict[str, Callable[[Random], Plan]] = {
    each.__name__: each
    for each in (
        *(builtin, backfill, bounded, loop, multifactor, partitions, preemption),
        *(dependencies, reservations, failures, weights, topology, licences),
    )
}
