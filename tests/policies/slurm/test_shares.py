"""The trees of accounts that Slurm's documentation and its own test suite have, with the factors that they give."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.policies.slurm.fair_share import AccountShare, ShareTree
from batprotocol.sites.slurm.accounting import Accounting, SlurmAssociation

WITHOUT_ENGINE = True

CLASSIC = """
root/a 40 0.266667 45 0.214286 0.572929
a/b 30 0.200000 20 0.184524 0.527550
b.1 1 0.200000 20 0.184524 0.527550
a/c 10 0.066667 25 0.142857 0.226431
c.2 1 0.033333 25 0.130952 0.065672
c.3 1 0.033333 0 0.071429 0.226431
root/d 60 0.400000 25 0.119048 0.813594
d/e 25 0.166667 25 0.119048 0.609507
e.4 1 0.166667 25 0.119048 0.609507
d/f 35 0.233333 0 0.069444 0.813594
f.5 1 0.233333 0 0.069444 0.813594
root/g 0 0.000000 30 0.142857 0.000000
g.6 0 0.000000 30 0.142857 0.000000
root/h 50 0.333333 110 0.523810 0.336475
h.7 parent 0.333333 20 0.523810 0.336475
h.8 40 0.078431 20 0.196078 0.176777
h.9 50 0.098039 25 0.238095 0.185749
h/i parent - 45 - -
i.10 parent 0.333333 10 0.523810 0.336475
i.11 30 0.058824 10 0.131653 0.211966
i.12 50 0.098039 25 0.238095 0.185749
"""
"""Slurm's test of classic fair share: shares, the normalized ones, usage, the effective one, and the factor."""

TREE = """
root.1 10 0.048077 0 0.000000 1.000000 inf
root.2 10 0.048077 10 0.041667 0.666667 1.153846
root/a 40 0.192308 45 0.187500 - 1.025641
a/aa 30 0.750000 20 0.444444 - 1.687500
aa.3 1 1.000000 20 1.000000 0.619048 1.000000
a/ab 10 0.250000 25 0.555556 - 0.450000
ab.4 1 0.500000 25 1.000000 0.523810 0.500000
ab.5 1 0.500000 0 0.000000 0.571429 inf
root/b 60 0.288462 25 0.104167 - 2.769231
b/ba 25 0.416667 25 1.000000 - 0.416667
ba.6 1 1.000000 25 1.000000 0.714286 1.000000
b/bb 35 0.583333 0 0.000000 - inf
bb.7 1 1.000000 0 0.000000 0.761905 inf
root/c 0 0.000000 30 0.125000 - 0.000000
c.8 0 0.000000 30 1.000000 0.047619 0.000000
root/d 50 0.240385 110 0.458333 - 0.524476
d.9 parent - 20 0.181818 0.476190 -
d.10 40 0.235294 20 0.181818 0.238095 1.294118
d.11 50 0.294118 25 0.227273 0.333333 1.294118
d/da parent - 45 - - -
da.12 parent - 10 0.090909 0.476190 -
da.13 30 0.176471 10 0.090909 0.380952 1.941176
da.14 50 0.294118 25 0.227273 0.333333 1.294118
root/e 10 0.048077 0 0.000000 - inf
e.15 10 0.500000 0 0.000000 1.000000 inf
e.16 10 0.500000 0 0.000000 1.000000 inf
root/f 20 0.096154 0 0.000000 - inf
f.17 10 0.333333 0 0.000000 1.000000 inf
f.18 20 0.666667 0 0.000000 1.000000 inf
root/g 8 0.038462 20 0.083333 - 0.461538
g.19 10 0.500000 10 0.500000 0.190476 1.000000
g/ga 10 0.500000 10 0.500000 - 1.000000
ga.20 20 0.500000 4 0.400000 0.190476 1.250000
ga.21 20 0.500000 6 0.600000 0.095238 0.833333
"""
"""Slurm's test of Fair Tree: shares, those of its level, usage, the part of the parent's, the factor, and LevelFS.

Two users of the same account with equal values have different factors there, by the rounding of a processor that counts
with 64 bits of precision: 10 has the factor of 11 here.
"""


def tree_of(text: str, **options: object) -> tuple[ShareTree, list[tuple[AccountShare | None, list[str]]]]:
    """The tree of a table, with its usage, and the associations of the rows; None for accounts without shares."""
    rows = [line.split() for line in text.strip().splitlines()]
    lines = [SlurmAssociation(account="root")]
    for name, share, *_ in rows:
        shares = None if share == "parent" else int(share)
        account, _, user = name.partition(".")
        if user:
            lines.append(SlurmAssociation(account=account, user=user, shares=shares))
        else:
            above, _, account = name.partition("/")
            lines.append(SlurmAssociation(account=account, parent=above, shares=shares))
    shares = ShareTree(Accounting(associations=tuple(lines)), **options)  # type: ignore[arg-type]
    found: list[tuple[AccountShare | None, list[str]]] = []
    for name, share, *columns in rows:
        account, _, user = name.partition(".")
        if user:
            member = shares.of(user, account)
            assert member is not None
            shares.charge(member, float(columns[1]))
            found.append((member, columns))
        else:
            each = next((each for each in shares.all if each.name == account.rpartition("/")[2]), None)
            found.append((None if share == "parent" else each, columns))
    shares.begin()
    shares.rank()
    return shares, found


def test_the_classic_tree_of_slurm() -> None:
    shares, rows = tree_of(CLASSIC, fair_tree=False)
    for share, columns in rows:
        if share is not None:
            factor = shares.factor(share)
            of = share.parent if share.of_parent else share
            assert isinstance(of, AccountShare)
            assert of.effective is not None
            numbers = f"{of.normalized_shares:.6f}", f"{share.usage:.0f}", f"{of.effective:.6f}", f"{factor:.6f}"
            assert list(numbers) == columns, share.name


def test_the_fair_tree_of_slurm() -> None:
    shares, rows = tree_of(TREE)
    for share, (own, usage, effective, factor, level) in rows:
        if share is None:
            continue
        assert f"{share.usage:.0f}" == usage
        assert f"{share.effective:.6f}" == effective
        if own != "-":
            assert f"{share.level_share:.6f}" == own
        if level != "-":
            assert f"{shares.level(share):.6f}" == level
        if share.is_user and share.name != "10":
            assert f"{shares.factor(share):.6f}" == factor, share.name


def test_the_documented_example() -> None:
    """Figure 3 of "Classic Fairshare Algorithm"."""
    text = """
    root/a 40 - 45
    a/b 30 - 20
    b.1 1 - 0.2
    a/c 10 - 25
    c.2 1 - 0.25
    c.3 1 - 0
    root/d 60 - 25
    d/e 25 - 25
    e.4 1 - 0.25
    d/f 35 - 0
    f.5 1 - 0
    root/rest 0 - 0
    rest.6 0 - 0.3
    """
    factors = {}
    for dampening in (1, 3):
        shares, rows = tree_of(text, fair_tree=False, dampening=dampening)
        users = [share for share, _ in rows if share is not None and share.is_user]
        factors[dampening] = [shares.factor(user) for user in users]
    assert [round(each, 6) for each in factors[1][:5]] == [0.408479, 0.022097, 0.125, 0.5, 0.749154]
    assert factors[3] == pytest.approx([each ** (1 / 3) for each in factors[1]])


def oblivious_factors(table: str) -> dict[str, float]:
    """The factors of users in a second calculation, as the usage of siblings is that of the first one."""
    shares, rows = tree_of(table, fair_tree=False, depth_oblivious=True)
    users = [share for share, _ in rows if share is not None and share.is_user]
    for user in users:
        shares.factor(user)
    for user in users:
        user.effective = None
    return {user.name: shares.factor(user) for user in users}


def test_the_depth_does_not_count() -> None:
    # The account has used as much as its share, so its users are judged by their own ratios alone: 2 and 2/3.
    table = "root/a 50 - -\na.1 1 - 20\na.2 3 - 20\nroot/b 50 - -\nb.3 1 - 40\n"
    users = oblivious_factors(table)
    assert users["1"] == pytest.approx(2**-2.0)
    assert users["2"] == pytest.approx(2 ** -(2 / 3))
    assert users["3"] == pytest.approx(0.5)
    # Its parent has used twice its share: a user who used less than the others is judged by the parent's ratio, mostly.
    table = "root/a 50 - -\na.1 1 - 10\na.2 1 - 90\nroot/b 50 - -\nb.3 1 - 0\n"
    users = oblivious_factors(table)
    power = 1 / (1 + (5 * math.log(2)) ** 2)
    assert users["1"] == pytest.approx(2 ** -(2 * 0.2**power))
    assert users["2"] == pytest.approx(2 ** -(2 * 1.8))
    assert users["3"] == 1.0


MEMBERS = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=12
)


@given(MEMBERS, st.booleans())
def test_more_usage_gives_no_better_factor(members: list[tuple[int, bool, int, int]], is_tree: bool) -> None:
    """The factor of each user is between 0 and 1, and does not rise where this user alone has used more."""
    lines, users = [SlurmAssociation(account="root")], []
    for number, (above, is_user, share, used) in enumerate(members):
        accounts = [line.account for line in lines if line.user is None]
        account = accounts[above % len(accounts)]
        if is_user:
            lines.append(SlurmAssociation(account=account, user=str(number), shares=share))
            users.append((account, str(number), used))
        else:
            lines.append(SlurmAssociation(account=f"a{number}", parent=account, shares=share))

    def factors(more: int) -> list[float]:
        shares = ShareTree(Accounting(associations=tuple(lines)), fair_tree=is_tree)
        found = []
        for place, (account, user, used) in enumerate(users):
            share = shares.of(user, account)
            assert share is not None
            shares.charge(share, used + (more if place == 0 else 0))
            found.append(share)
        shares.begin()
        shares.rank()
        return [shares.factor(share) for share in found]

    before, after = factors(0), factors(5)
    assert all(0 <= factor <= 1 for factor in before + after)
    assert not users or after[0] <= before[0] + 1e-12
