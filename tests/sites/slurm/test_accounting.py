"""The accounts that sacctmgr prints, as a dump and as tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import DATA

from batprotocol.errors import InputError
from batprotocol.sites.slurm.accounting import (
    Accounting,
    AccountingLimits,
    SlurmAssociation,
    accounting_of,
    read_accounting,
)

WITHOUT_ENGINE = True

FOLDER = DATA / "slurm_conf"


def test_a_dump_and_tables_of_a_real_slurm_say_the_same() -> None:
    dump = read_accounting(FOLDER / "sacctmgr_dump.cfg", FOLDER / "sacctmgr_qos.txt")
    tables = read_accounting(FOLDER / "sacctmgr_qos.txt", FOLDER / "sacctmgr_assoc.txt")
    assert dump.cluster == tables.cluster == "emu"
    assert dump.qos == tables.qos
    assert dump.default_accounts == tables.default_accounts == {"root": "root", **dict(zip(*USERS, strict=True))}
    assert {name: qos.priority for name, qos in dump.qos.items()} == {"normal": 0, "high": 100}
    assert [(each.account, each.shares) for each in dump.associations if each.user is None] == [
        ("root", 1),
        ("a1", 30),
        ("a2", 10),
    ]
    named = [{(each.account, each.user, each.shares) for each in found.associations} for found in (dump, tables)]
    assert named[0] == named[1]
    assert not dump.not_followed


USERS = (("u1", "u2", "u3", "u4"), ("a1", "a1", "a2", "a2"))


DUMP = """# a comment
Cluster - 'c':Fairshare=1:QOS='normal':GrpTRES=node=50
Parent - 'root'
Account - 'a':MaxTRESPerJob=node=5,mem=4G:MaxJobs=4:FairShare=parent:MaxWallDurationPerJob=40:Organization='x:y'
Parent - 'a'
User - 'u':Partition='p':DefaultAccount='b':Fairshare=3:GrpWall=1-0:DefaultQOS='q':Priority=7
"""
TABLE = """Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageThres|UsageFactor|MaxTRESPU|MaxWall|Unheard
q|5|00:01:00|a,b|requeue|DenyOnLimit,NoDecay|0.5|2.000000|cpu=10,gres/gpu=1K|01:00:00|1
"""


def test_options_and_limits() -> None:
    found = accounting_of([("dump.cfg", DUMP), ("qos.txt", TABLE)])
    root, account, user = found.associations
    assert root.limits == AccountingLimits(tres={"node": 50})
    assert account == SlurmAssociation(
        account="a",
        parent="root",
        shares=None,
        limits=AccountingLimits(tres_job={"node": 5, "mem": 4096}, jobs_each=4, wall_job=2400.0),
    )
    assert (user.user, user.partition, user.shares, user.priority, user.default_qos) == ("u", "p", 3, 7, "q")
    assert (user.limits.wall, found.default_accounts) == (86400.0, {"u": "b"})
    (qos,) = found.qos.values()
    assert (qos.grace_time, qos.preempts, qos.preempt_mode, qos.flags) == (
        60.0,
        ("a", "b"),
        "requeue",
        ("DenyOnLimit", "NoDecay"),
    )
    assert (qos.usage_threshold, qos.usage_factor) == (0.5, 2.0)
    assert (qos.limits.tres_user, qos.limits.wall_job) == ({"cpu": 10, "gres/gpu": 1024}, 3600.0)
    assert found.not_followed == ("qos.txt:2: unheard is not followed",)


@pytest.mark.parametrize(
    ("text", "mebibytes"), [("4", 4), ("4M", 4), ("4G", 4096), ("1K", 1), ("1025k", 2), ("1P", 2**30)]
)
def test_memory_of_limits_counts_mebibytes(text: str, mebibytes: int) -> None:
    """Less than a mebibyte is rounded up: a limit of 0 would let no job start."""
    found = accounting_of([("dump.cfg", f"Account - 'a':MaxTRESPerJob=mem={text}\n")])
    assert found.associations[1].limits.tres_job == {"mem": mebibytes}


def test_parents_are_named_or_shown_by_spaces() -> None:
    for header, rows in (
        ("Account|User|Par Name", ["root||", "a||root", "b||a", "b|u|"]),
        ("Account|User", ["root|", " a|", "  b|", "  b|u"]),
    ):
        found = accounting_of([("t", "\n".join([header, *rows]))])
        assert [(each.account, each.user, each.parent) for each in found.associations] == [
            ("root", None, None),
            ("a", None, "root"),
            ("b", None, "a"),
            ("b", "u", None),
        ]


def test_an_account_comes_before_those_below_it() -> None:
    found = accounting_of([("d", "Parent - 'b'\nAccount - 'c'\nUser - 'u'\nParent - 'root'\nAccount - 'b'\n")])
    assert [(each.account, each.user) for each in found.associations] == [
        ("root", None),
        ("b", None),
        ("c", None),
        ("b", "u"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Account 'a'", "f:1: expected a line such as \"Account - 'a':Fairshare=30\", got \"Account 'a'\""),
        ("\nUser - 'a':Fairshare", "f:2: expected options such as Fairshare=30, got 'Fairshare'"),
        ("Account - 'a':Fairshare=x", "f:1: Fairshare: expected a whole number from 0 to"),
        ("Account - 'a b'", "f:1: expected a name that has no spaces"),
        ("Parent - 'x'\nAccount - 'a'", "f:2: Parent: there is no account 'x'"),
        (
            "Parent - 'a'\nAccount - 'b'\nParent - 'b'\nAccount - 'a'",
            "Parent: the account 'b' is below itself, or too deep",
        ),
        ("Name|Priority\nq", "f:2: expected 2 columns, got 1"),
        ("Name|Priority\nq|x", "f:2: priority: expected a whole number"),
        ("A|B\n1|2", "f:1: expected a table with the column Account or Name"),
        ("Account - 'a':GrpTRES=cpu", "f:1: GrpTRES: expected amounts such as 'cpu=10,mem=4G', got 'cpu'"),
    ],
)
def test_errors_name_the_file_and_the_line(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        accounting_of([("f", text)])
    assert error in str(caught.value)
    assert str(caught.value).startswith("f:")


LINES = st.lists(
    st.builds(
        "{} - '{}':Fairshare={}".format,
        st.sampled_from(["Cluster", "Parent", "Account", "User"]),
        st.sampled_from("abcd"),
        st.sampled_from(["1", "parent", "7", "x"]),
    )
    | st.text(max_size=20),
    max_size=8,
)


@given(LINES | st.lists(st.text("Name|Account\nUser 012", max_size=30), max_size=4))
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    place = "f:"
    found = Accounting()
    try:
        found = accounting_of([("f", "\n".join(lines))])
    except InputError as error:
        place = str(error)
    assert place.startswith("f:")
    seen = {"root"}
    for each in found.associations[1:]:
        assert each.user is not None or each.parent in seen
        assert each.user is None or each.account in seen
        seen.add(each.account)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "dump").open("wb") as file:
        file.truncate((1 << 24) + 1)
    with pytest.raises(InputError, match="expected at most 16 MiB"):
        read_accounting(tmp_path / "dump")
