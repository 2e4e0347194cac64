"""The page of surprises: behaviour of other software that a good guess misses, and what this library does about it.

`SURPRISES` is the only place of these facts as a list. Each names its evidence: a script of `findings/`, a test, or the
part of the handbook that describes how it was measured.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from handbook.markdown import prose, table

__all__ = ["SUBJECTS", "SURPRISES", "Surprise", "surprises"]


class Surprise(NamedTuple):
    """A fact that surprises.

    Attributes:
        subject: the key of its part of the page, in `SUBJECTS`.
        of: the program or package, with its version.
        behaviour: what happens.
        guess: what a good guess says.
        here: what the library does about it.
        shown: what shows it: `findings/NAME.sh`, `tests/FILE.py::NAME`, or `docs/PAGE.md#ANCHOR`.
    """

    subject: str
    of: str
    behaviour: str
    guess: str
    here: str
    shown: tuple[str, ...]


SUBJECTS: Final = {
    "wire": "Batsim on the wire",
    "time": "Batsim in time",
    "simulation": "Batsim in simulations",
    "simgrid": "SimGrid",
    "slurm": "Slurm",
    "accounting": "Logs and accounting",
    "flatbuffers": "Flatbuffers",
    "transport": "Sockets, brokers and captures",
    "readers": "Readers of tables, and others",
}
"""The parts of the page, in their order."""

_BATSIM: Final = "Batsim 5.0.0-rc2"
_SIMGRID: Final = "SimGrid 3.32"
_SLURM: Final = "Slurm 22.05.8"
_GRID_ENGINE: Final = "Grid Engine 8.1.9"
_FLATC: Final = "flatc 2.0.8, 25.12.19"

SURPRISES: Final = (
    # Batsim on the wire
    Surprise(
        "wire",
        _BATSIM,
        "a host set `0,1` or `0x1` is read as host 0, without a complaint",
        "Batsim takes both hosts, or refuses the text",
        "the rule `hosts.misread`; builders write the form that Batsim reads",
        ("docs/explanation/host-sets.md#the-strings",),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "JSON has doubles of 12 decimals without exponents: 1e-13 becomes 0.0",
        "numbers survive JSON, only more slowly",
        "both formats keep each double; where digits may be gone, a warning says so",
        ("tests/wire/test_json.py::test_every_double_survives",),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "JSON on the wire ends with a NUL, and older candidates need it in replies",
        "a frame of ZeroMQ has a size, so no text needs an end",
        "messages end with one NUL, and are read with none or several",
        (
            "tests/wire/test_json.py::test_on_the_wire_one_nul_ends_it",
            "tests/wire/test_corpus.py::test_json_of_batsim_ends_with_one_nul",
        ),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "enums as numbers, numbers as strings and comments are accepted in JSON; `5.0` for an integer is refused",
        "JSON is either strict or lenient",
        "the dialect is read as Batsim reads it",
        ("tests/wire/test_json_dialect.py::test_batsim_agrees",),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "fields that the schema calls optional are needed: a hello without a commit ends Batsim",
        "an absent optional field has its default",
        "builders always write them",
        ("tests/wire/test_goldens.py::test_builder_and_both_formats_give_the_golden_message",),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "if either side dies, the other waits without end and hears nothing",
        "a lost connection is an error of the next call",
        "a socket monitor watches the other side, and a sentence ends the wait",
        ("docs/reference/batsim.md#between-batsim-and-a-decision-component",),
    ),
    Surprise(
        "wire",
        _BATSIM,
        "a second Batsim at a busy endpoint gets the first one's answer, and both simulations are lost",
        "the second waits for its turn, or is refused",
        "commands give each run an endpoint of its own",
        ("docs/reference/batsim.md#between-batsim-and-a-decision-component",),
    ),
    # Batsim in time
    Surprise(
        "time",
        _BATSIM,
        "each message within Batsim takes simulated time: the k-th decision of a reply acts k latencies later",
        "decisions of one reply act at one moment",
        "the simulator does the same, to the last bit",
        ("docs/explanation/time.md#a-message-takes-time",),
    ),
    Surprise(
        "time",
        _BATSIM,
        "events of one moment come in one message or in several, and the last bit of a sum can decide",
        "what happens together is reported together",
        "schedulers decide in `decide`, after all events of a message",
        ("docs/explanation/time.md#events-that-share-a-message", "docs/explanation/time.md#ties"),
    ),
    Surprise(
        "time",
        _BATSIM,
        "some events carry the time of the previous exchange: up to 20 s before `now` was measured",
        "a timestamp is the moment of its event",
        "the rules know which; the page of each event says it",
        ("docs/explanation/time.md#stale-timestamps",),
    ),
    Surprise(
        "time",
        _BATSIM,
        "periodic calls come at multiples of the period since time 0, and periods of all calls must divide one another",
        "a period begins at the request, and periods are free",
        "the rule `trigger.periods`; the simulator triggers at the same moments",
        ("docs/explanation/time.md#calls-once-and-again",),
    ),
    Surprise(
        "time",
        _BATSIM,
        "a reply whose `now` is later lets that time pass, and then one message reports all that happened",
        "Batsim refuses a time that it has not reached",
        "`set_current_time` models thinking",
        ("docs/explanation/time.md#thinking-takes-time",),
    ),
    Surprise(
        "time",
        _BATSIM,
        "a killed job gives two events, and its progress is missing if it had ended before",
        "a kill is acknowledged once, for each job",
        "both events reach `on_jobs_killed` and `on_job_completed`, as documented",
        ("docs/explanation/time.md#kills-take-two-messages",),
    ),
    # Batsim in simulations
    Surprise(
        "simulation",
        _BATSIM,
        "with the amounts of each executor, a storage task writes as much as it reads, so pure writing takes no time",
        "`bytes_to_write` is what is written",
        "the same, with `--corrected` otherwise",
        ("docs/explanation/simulation.md#behaviour-that-looks-unintended",),
    ),
    Surprise(
        "simulation",
        _BATSIM,
        "a host that ran a job counts as computing until it is switched off",
        "machine_states.csv counts it as idle again",
        "the same, with `--corrected` otherwise",
        ("docs/explanation/simulation.md#behaviour-that-looks-unintended",),
    ),
    Surprise(
        "simulation",
        _BATSIM,
        "energy is read late: time before a reading is charged at the load of its moment",
        "energy is power, integrated",
        "the same, with `--corrected` otherwise",
        ("docs/explanation/simulation.md#behaviour-that-looks-unintended",),
    ),
    Surprise(
        "simulation",
        _BATSIM,
        "a usage trace without a newline at its end loses its last line",
        "the last line counts",
        "the same with a warning; with `--corrected`, it is read",
        ("docs/explanation/simulation.md#behaviour-that-looks-unintended",),
    ),
    Surprise(
        "simulation",
        _BATSIM,
        "files are written in blocks of 64 KiB, so after an abort jobs.csv may have its header only",
        "rows are written when jobs end",
        "files of the simulator have whole lines, also after a full disk",
        (
            "docs/reference/batsim.md#how-it-ends",
            "tests/edc/test_full_disk.py::test_result_files_have_whole_lines",
        ),
    ),
    # SimGrid
    Surprise(
        "simgrid",
        _SIMGRID,
        "a sleep of less than a nanosecond takes a nanosecond",
        "time is a double: ten sleeps of 1e-10 s are 1e-9 s",
        "the simulator follows the precision of SimGrid",
        ("findings/simgrid-shortest-sleep.sh",),
    ),
    Surprise(
        "simgrid",
        _SIMGRID,
        "hosts are sorted by the bytes of their names: n10 before n2",
        "they are in the order of the platform file",
        "hosts have Batsim's numbers, another order again (n2 before n10)",
        ("findings/simgrid-order-of-hosts.sh", "docs/explanation/host-sets.md#which-host-has-which-number"),
    ),
    Surprise(
        "simgrid",
        _SIMGRID,
        "a link without a policy is shared by both directions",
        "a cable carries its bandwidth each way",
        "the simulator does the same; SPLITDUPLEX has one for each way",
        ("findings/simgrid-links-both-ways.sh", "docs/reference/platforms.md#supported-elements"),
    ),
    Surprise(
        "simgrid",
        _SIMGRID,
        "a byte takes 13 latencies, and a host has a loopback that no file mentions",
        "a byte takes one latency, and nothing to itself",
        "Batsim's model has no such factor; the loopback is in the simulator",
        ("findings/simgrid-thirteen-latencies.sh", "docs/explanation/time.md#a-message-takes-time"),
    ),
    # Slurm
    Surprise(
        "slurm",
        _SLURM,
        "with `--json`, squeue and sinfo ignore options that select jobs or nodes",
        "the form of the output changes, and nothing else",
        "the client asks for text, and selects itself",
        ("findings/slurm-json-filters.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "names of jobs have line breaks, and squeue prints them",
        "a line is a job",
        "the client has each job begin with a mark, and ends with the name",
        ("findings/slurm-lines-of-names.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "without slurmdbd, waiting adds nothing to a priority",
        "age needs a clock only",
        "the policy `slurm` leaves ages at 0, too",
        ("docs/reference/slurm-conf.md#priorities",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "under priority/basic, `--nice=2` lets one later job pass, and ties with the next",
        "a nice job runs after all others",
        "the policy `slurm` counts in the same way",
        ("findings/slurm-nice-is-places.sh", "docs/reference/slurm-conf.md#priorities"),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a range of nodes whose end is larger than `MaxNodes` never starts, and neither does `-N1` with `MinNodes=2`",
        "`-N1-3` with `MaxNodes=2` gets two nodes",
        "the policy `slurm` keeps such jobs waiting",
        (
            "findings/slurm-ranges-of-nodes-and-partitions.sh",
            "docs/explanation/slurm-measured.md#partitions-and-jobs-that-wait",
            (
                "tests/policies/slurm/test_waiting_jobs.py::"
                "test_a_job_waits_for_ever_that_names_nodes_which_its_partition_does_not_allow"
            ),
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a failing node that goes down and returns fails still, and `UNDRAIN` leaves it so; its job goes on",
        "`State=FAIL` ends its jobs, and `UNDRAIN` gives it back",
        "the policy `slurm` keeps down, drained and failing nodes apart",
        (
            "findings/slurm-failing-nodes.sh",
            "tests/policies/slurm/test_waiting_jobs.py::test_a_failing_node_that_was_down_still_fails",
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "under priority/basic, `scontrol release` of a waiting job that is not held moves it behind all others",
        "it has no effect",
        "the policy `slurm` does the same",
        (
            "findings/slurm-release-moves-last.sh",
            "tests/policies/slurm/test_slurm_operators.py::test_the_order_of_jobs_after_a_command",
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "options of a later component of a heterogeneous job reach those before it",
        "those before keep their defaults",
        "a replay passes options on as sbatch does",
        (
            "findings/slurm-hetjob-options-reach-back.sh",
            "tests/studies/test_recorded_slurms.py::test_components_inherit_as_with_a_real_sbatch",
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a limit of a quality of service switches that of the account for the same resource off",
        "both limits hold",
        "the policy `slurm` lets it hide the limit of the account",
        (
            "findings/slurm-qos-limit-hides-account.sh",
            (
                "tests/policies/slurm/test_slurm_rules.py::"
                "test_a_limit_of_a_quality_of_service_hides_that_of_the_account_of_the_same_resource"
            ),
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "backfill plans a job of two partitions once in each, and the jobs behind it later",
        "a job runs once, and is planned once",
        "the policy `slurm` is compared with recorded plans",
        ("findings/slurm-two-partitions-planned-twice.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "`squeue --start` prints a start before the end of the job in front",
        "the plan of a job begins when nodes are free",
        "the policy `slurm` rounds on the clock as `bf_resolution` says",
        ("findings/slurm-planned-before-the-end.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a requeued job is not eligible for 121 s, on an idle cluster as well",
        "it waits for nodes",
        "the policy `slurm` keeps the 121 s",
        ("docs/explanation/slurm-measured.md#victims-of-preemption",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "tasks of an array run by index, and the last one to start has the array's own number",
        "they run in the order written, and numbers grow",
        "tasks are named by array and index",
        ("findings/slurm-array-order.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "time limits are checked every 30 s, so jobs run up to 29 s longer",
        "a job is killed at its limit",
        "the policy `slurm` checks at the same moments",
        ("docs/explanation/slurm-measured.md#victims-of-preemption",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "usage of a short job between two calculations is charged to nobody",
        "each second of a job counts for fair share",
        "the policy `slurm` charges at the same moments",
        ("docs/explanation/slurm-measured.md#priorities",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "of a parameter that is given twice in SchedulerParameters, the first value counts",
        "the last one does, as in slurm.conf itself",
        "the first value is read",
        ("docs/explanation/slurm-measured.md#parameters-of-the-backfill",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "many small victims are preempted where one larger one would be enough",
        "preemption takes as little as possible",
        "the policy `slurm` takes victims in the measured order",
        ("docs/explanation/slurm-measured.md#victims-of-preemption",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "cores of a job that `scontrol resume` lets go on are given to others, too",
        "a resumed job has its cores again, or waits for them",
        "the policy `slurm` forgets its cores in the same way",
        ("findings/slurm-resumed-cores-forgotten.sh", "docs/explanation/slurm-measured.md#suspended-jobs"),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "under select/linear, time in which a job gave way counts for its limit; under select/cons_tres it does not",
        "a limit is one of running time",
        "the policy `slurm` moves limits in the same cases",
        ("findings/slurm-preempted-limit-stays.sh", "docs/explanation/slurm-measured.md#suspended-jobs"),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a job that gave way on one of two nodes keeps the other from its own tier, and nothing runs there",
        "jobs start on nodes that nobody uses",
        "the policy `slurm` gives such nodes to higher tiers only",
        ("findings/slurm-gang-suspended-keeps-nodes.sh", "docs/explanation/slurm-measured.md#suspended-jobs"),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "`--mem` above `MaxMemPerNode` is taken and never starts; `-n4 --mem-per-cpu` runs with more than the limit",
        "what is above the limit is refused, and nothing else",
        "the policy `slurm` divides tasks by the most nodes of a job, too",
        (
            "findings/slurm-memory-limit-by-most-nodes.sh",
            "tests/policies/slurm/test_submissions.py::test_a_partition_takes_jobs_up_to_its_memory_of_a_node",
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "the number of the next job depends on how many tasks of an array have started",
        "the same submissions get the same numbers",
        "a recording that is made again names jobs by their places",
        ("findings/slurm-array-numbers.sh",),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "backfill starts jobs in magnetic reservations, and plans those that wait twice",
        "only the main loop does so, and a job is planned once",
        "the policy `slurm` plans them twice",
        (
            "findings/slurm-magnetic-in-backfill.sh",
            (
                "tests/policies/slurm/test_slurm_operators.py::"
                "test_a_magnetic_reservation_attracts_jobs_of_its_users_as_far_as_it_has_nodes"
            ),
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "with `bf_licenses`, a job that lacks licences keeps the main loop from all jobs behind it, in any partition",
        "`bf_licenses` changes backfill only",
        "the policy `slurm` ends its main loop there",
        (
            "findings/slurm-licences-end-the-main-loop.sh",
            "docs/explanation/slurm-measured.md#parameters-of-the-backfill",
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "a job whose nodes go down by one command runs again at once, and one of a single node waits for 121 s",
        "each job that lost its nodes waits",
        "the policy `slurm` lets such jobs run at once",
        ("findings/slurm-nodes-down-together.sh", "docs/explanation/slurm-measured.md#partitions-and-jobs-that-wait"),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "time in `scontrol hold` counts as age; that after `sbatch -H`, or before the begin of a reservation, does not",
        "age counts since the submission",
        "the policy `slurm` has the same ages",
        (
            "findings/slurm-held-time-as-age.sh",
            (
                "tests/policies/slurm/test_slurm_operators.py::"
                "test_a_job_that_was_submitted_held_grows_older_from_its_release_on"
            ),
        ),
    ),
    Surprise(
        "slurm",
        _SLURM,
        "under select/linear, a waiting job counts with the CPUs that it asks for, and later with those it would get",
        "the size of a job is what it asks for",
        "the policy `slurm` counts in the same way",
        ("findings/slurm-size-grows-while-waiting.sh", "docs/explanation/slurm-measured.md#priorities"),
    ),
    # Logs and accounting
    Surprise(
        "accounting",
        _SLURM,
        "a job that never ran has a start, nodes and CPUs in sacct",
        "what was not allocated is 0 or unknown",
        "`import` takes it for one that never started",
        ("findings/sacct-cancelled-while-pending.sh", "docs/reference/logs.md#slurm"),
    ),
    Surprise(
        "accounting",
        _SLURM,
        "a requeue of a completed job rewrites its row: REQUEUED, with another end",
        "a run that has completed keeps its row",
        "runs with the state REQUEUED are counted apart",
        ("findings/sacct-requeue-of-a-finished-job.sh",),
    ),
    Surprise(
        "accounting",
        _SLURM,
        "Elapsed leaves out suspended time: it is not End minus Start",
        "each of the three follows from the others",
        "`import` reads Start, End and the column Suspended",
        ("findings/sacct-elapsed-of-suspended-jobs.sh",),
    ),
    Surprise(
        "accounting",
        _SLURM,
        "n1,n1 is a list of two hosts; ClusterShell 1.10.1 and python-hostlist 2.3.0 read a set",
        "the three read a list as one set",
        "lists in logs of Slurm are read as Slurm reads them",
        ("findings/hostlists-of-three.sh",),
    ),
    Surprise(
        "accounting",
        _GRID_ENGINE,
        "FALSE for `accounting_summary` writes a record for each task, with all slots of the job, and qacct adds them",
        "FALSE means one record, as accounting(5) says",
        "records of tasks are left out, and counted",
        ("docs/reference/logs.md#grid-engine",),
    ),
    Surprise(
        "accounting",
        _GRID_ENGINE,
        "a rescheduled job loses its first times and its submission",
        "the records of both runs have the first submission",
        "the record without times is left out, and the page says that waiting times are too short",
        ("docs/reference/logs.md#grid-engine",),
    ),
    Surprise(
        "accounting",
        _GRID_ENGINE,
        "a job that is deleted while it waits has no record; one that `qdel` ends looks as any that was killed",
        "both are deleted jobs in the file",
        "such a job is FAILED with signal 9",
        ("docs/reference/logs.md#grid-engine",),
    ),
    Surprise(
        "accounting",
        "Flux, as its manual and sources say",
        "`flux jobs --json ID` prints an object, and with several ids an array",
        "one job is an array of one",
        "both are read",
        ("docs/reference/logs.md#flux",),
    ),
    Surprise(
        "accounting",
        "psij-python 0.9.11",
        "a limit of 30 s is 0:0 for LSF, and none for Cobalt",
        "a limit is rounded up where only minutes exist",
        "the type `psij` asks for whole minutes",
        ("findings/psij-limits-of-two-schedulers.sh", "docs/reference/campaigns.md#other-resource-managers"),
    ),
    Surprise(
        "accounting",
        "htcondor 25.14.1",
        'in ClassAds "ABC" == "abc" is true, and `member` and `stringListMember` disagree',
        "strings are equal if their characters are",
        "no format takes ClassAds",
        ("findings/classad-case.sh",),
    ),
    # Flatbuffers
    Surprise(
        "flatbuffers",
        _FLATC,
        "`flatc --json` prints 1e-300 as 0.0 and infinity as `inf`",
        "what flatc prints, flatc reads back",
        "JSON has the shortest digits; `dump` warns of digits that may be gone",
        ("docs/howto/read-other-schemas.md#where-flatc-surprises",),
    ),
    Surprise(
        "flatbuffers",
        _FLATC,
        "a default from 2^63 on is absent in a `.bfbs`",
        "it is kept, as -1 in the signed field",
        "a default that may be lost is named",
        (
            "findings/flatc-bfbs-loses-large-defaults.sh",
            "tests/schemas/test_both_compilers.py::test_a_default_that_a_bfbs_may_have_lost_is_named",
        ),
    ),
    Surprise(
        "flatbuffers",
        "flatbuffers 25.12.19 (Python)",
        "an absent vector as numpy is the int 0",
        "it is None, or an empty array",
        "an absent vector is None",
        ("findings/flatbuffers-absent-vectors.sh",),
    ),
    Surprise(
        "flatbuffers",
        "flatbuffers 25.12.19 (Python)",
        "FlexBuffers have UINT, and `Dumps` refuses 2^63",
        "integers up to 2^64-1 are written",
        "FlexBuffers within messages are read, with all their types",
        (
            "findings/flexbuffers-large-integers.sh",
            "tests/schemas/test_inner_messages.py::test_every_type_of_flexbuffers",
        ),
    ),
    Surprise(
        "flatbuffers",
        _FLATC,
        "`flatc --conform` says nothing of some changes that break readers",
        "no output and status 0 mean that old readers go on",
        "`batproto schema --check` reports them",
        ("docs/howto/check-a-schema.md#where-flatc---conform-says-nothing",),
    ),
    Surprise(
        "flatbuffers",
        "flatc 2.0.8",
        "attributes of newer schemas (`offset64`, `vector64`) are ignored, and other bytes are written",
        "an unknown attribute is an error",
        "such messages are refused, and the older flatc is named",
        ("tests/schemas/test_other_names.py::test_what_a_newer_flatc_writes_is_said",),
    ),
    # Sockets, brokers and captures
    Surprise(
        "transport",
        "libzmq 4.3.5",
        "a second bind to a living `ipc://` path takes it over",
        "the address is in use, as for tcp",
        "programs get an endpoint of their own; the page of Batsim warns",
        ("findings/zmq-second-bind-on-ipc.sh", "docs/reference/batsim.md#between-batsim-and-a-decision-component"),
    ),
    Surprise(
        "transport",
        "libzmq 4.3.5",
        "the greeting comes in three parts, each after the other side's",
        "64 bytes come at once",
        "greetings are read in any parts",
        ("findings/zmq-greeting-in-three-parts.sh",),
    ),
    Surprise(
        "transport",
        "libzmq 4.3.5",
        "high-water marks of one let thousands of messages through TCP",
        "a mark bounds what is under way",
        "nothing relies on a mark",
        ("findings/zmq-high-water-marks.sh",),
    ),
    Surprise(
        "transport",
        "mosquitto 2.0.11",
        "a subscriber with QoS 1 gets 1,020 of 5,000 retained messages, and one with QoS 0 all",
        "more quality loses less",
        "FaST's programs retain nothing",
        ("findings/mosquitto-retained-messages.sh",),
    ),
    Surprise(
        "transport",
        "dpkt 1.9.8, scapy 2.8.0, python-pcapng 2.1.1",
        "times of a pcapng with two interfaces have wrong units, or lack an offset",
        "each interface has its own",
        "captured traffic is read by the library itself",
        (
            "findings/pcapng-times-of-two-interfaces.sh",
            "tests/recordings/test_traffic.py::test_each_interface_has_its_units_and_its_offset",
        ),
    ),
    Surprise(
        "transport",
        "mcap 1.6.0",
        "a recorder that is killed leaves a file without messages",
        "what was written is there",
        "an unfinished recording is read up to its last message",
        (
            "findings/mcap-unfinished.sh",
            "tests/edc/test_recording.py::test_a_recording_can_be_read_up_to_the_last_message_after_sigkill",
        ),
    ),
    Surprise(
        "transport",
        "mcap 1.6.0",
        "`reverse=True` does nothing without chunks",
        "the latest message comes first",
        "recordings have chunks",
        ("findings/mcap-reverse-without-chunks.sh",),
    ),
    # Readers of tables, and others
    Surprise(
        "readers",
        "pandas 3.1.1, polars 2.1.0, duckdb 2.0.1",
        "a column with `nan` is text in polars; one that begins with `inf` is text in duckdb",
        "all three read floats",
        "absent values are empty in tables",
        ("findings/tables-of-inf-and-nan.sh",),
    ),
    Surprise(
        "readers",
        "duckdb 2.0.1",
        "elapsed times of Slurm are times of the day, and text once a job runs for a day",
        "they are text or intervals",
        "tables have seconds",
        ("docs/reference/logs-import.md#tables",),
    ),
    Surprise(
        "readers",
        "spreadsheets",
        "a job's name that begins with `=` is computed",
        "text in a CSV is text",
        "`--spreadsheet` writes an apostrophe before it",
        ("docs/howto/keep-captures.md#spreadsheets",),
    ),
    Surprise(
        "readers",
        "faketime 0.9.10",
        "with `@`, each program starts at the same moment again",
        "a faked clock goes on",
        "the recorder of Slurms uses an offset for all",
        ("findings/faketime-starts-anew.sh", "docs/explanation/slurm-measured.md#record-a-real-slurm"),
    ),
    Surprise(
        "readers",
        "mypy 2.4.0 (mypyc), msgspec 0.22.0",
        "a compiled class loses the arguments of its class statement, such as `frozen=True`",
        "compiling changes the speed only",
        "such modules are not compiled",
        ("findings/mypyc-class-arguments.sh",),
    ),
)
"""All rows, grouped by subject, in the order of the page."""


def surprises(page: str, subject: str) -> str:
    """The table of a subject."""
    found = {key: list(rows) for key, rows in groupby(SURPRISES, lambda each: each.subject)}
    rows = [
        (
            prose(each.behaviour),
            prose(each.of),
            prose(each.guess),
            prose(each.here),
            ", ".join(_link(page, place) for place in each.shown),
        )
        for each in found[subject]
    ]
    return table(("what happens", "of", "a good guess", "here", "shown by"), rows)


def _link(page: str, place: str) -> str:
    if place.startswith("docs/"):
        path, _, anchor = place.removeprefix("docs/").partition("#")
        up = "../" * (len(PurePosixPath(page).parts) - 1)
        return f"[{anchor.replace('-', ' ')}]({up}{path}#{anchor})"
    return f"`{place.partition('::')[2] or place}`"
