"""What CiGri 2's `gridstat` prints, where its source tells more than the recorded outputs."""

from __future__ import annotations

import pytest

from batprotocol.campaigns import gridstat2
from batprotocol.campaigns.model import Campaign, CampaignState, CampaignStatus, CampaignType, Durations
from batprotocol.errors import InputError

WITHOUT_ENGINE = True

BEGUN = 1795261320.0  # 2026-11-21 11:42:00 UTC
CAMPAIGN = Campaign(id=12, user="somebody.long", name="n", submission_time=BEGUN)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("7", [7], [0, 6, 8]),
        ("3-5", [3, 4, 5], [2, 6]),
        (" 3 - 5 ", [3, 5], [2, 6]),
        ("5-*", [5, 999_999_999], [4]),
        ("*-5", [0, 5], [6]),
        ("*-*", [0, 1, 999_999_999], []),
        ("*", [0, 1, 999_999_999], []),
    ],
)
def test_ranges(text: str, inside: list[int], outside: list[int]) -> None:
    found = gridstat2.read_range(text)
    assert [each for each in inside if each not in found] == []
    assert [each for each in outside if each in found] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3-1", "3-1 is not a valid range. Second number must be bigger than first in the range"),
        ("3-3", "3-3 is not a valid range. Second number must be bigger than first in the range"),
        ("x", '"x" is not a valid range'),
        ("", '"" is not a valid range'),
        ("1-2-3", '"1-2-3" is not a valid range'),
        ("-2", '"-2" is not a valid range'),
        ("*3", '"*3" is not a valid range'),
    ],
)
def test_what_is_no_range(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        gridstat2.read_range(text)
    assert caught.value.reason == words


def test_a_long_row_is_cut() -> None:
    status = CampaignStatus(campaign=CAMPAIGN, total=3, terminated=3, events=1)
    row = gridstat2.summary([(status, gridstat2.Counts())]).split("\n")[2]
    assert row == "  12      somebod IN_TREATMENT default     0        0         3        x"


SHORT = [
    "Multiple job 12",
    "        Type:                   test ",
    "        Status:                 PAUSED",
    "        Submited:               2026-11-21 11:42:00 +0000",
    "        Last terminated job:    1970-01-01 00:00:00 +0000 ",
    "        Errors to Fix:          false ",
    "        Running:                1 ",
    "        Waiting:                2 ",
    "        Terminated:             0 ",
    "        Duration:               59 s",
    "",
    "Forecasts:",
    "        Throughput (last hour):  36.00 jobs/hour ",
    "        Average:                 100 s ",
    "        Stddev:                  0.50",
]


def test_a_campaign_has_short_forecasts() -> None:
    """Seconds are cut off, not rounded, and nothing that has ended yet ended in 1970."""
    campaign = Campaign(
        id=12,
        user="u",
        name="n",
        type=CampaignType.TEST,
        state=CampaignState.PAUSED,
        submission_time=BEGUN,
    )
    text = gridstat2.campaign_report(
        CampaignStatus(campaign=campaign, total=3),
        gridstat2.Counts(waiting=2, running=1),
        now=BEGUN + 59.9,
        whole=gridstat2.Throughput(throughput=0.01, durations=Durations.of(100.4, 101.4)),
    )
    assert text.split("\n") == SHORT


@pytest.mark.parametrize(
    ("state", "last_end", "seconds"),
    [
        (CampaignState.TERMINATED, BEGUN + 40.5, 40),
        (CampaignState.TERMINATED, None, 0),
        (CampaignState.CANCELLED, BEGUN + 40.5, 59),
        (CampaignState.IN_TREATMENT, BEGUN + 40.5, 59),
    ],
)
def test_the_duration_of_a_terminated_campaign_ends_with_its_last_job(
    state: CampaignState, last_end: float | None, seconds: int
) -> None:
    campaign = Campaign(id=12, user="u", name="n", state=state, submission_time=BEGUN)
    text = gridstat2.campaign_report(
        CampaignStatus(campaign=campaign), gridstat2.Counts(), now=BEGUN + 59, last_end=last_end
    )
    assert f"        Duration:               {seconds} s" in text.split("\n")


def test_a_cluster_on_which_nothing_has_ended_lately_is_left_out() -> None:
    known = {
        "a": gridstat2.Throughput(),
        "b": gridstat2.Throughput(throughput=1.0, durations=Durations.of(3)),
        "c": gridstat2.Throughput(),
    }
    text = gridstat2.campaign_report(
        CampaignStatus(campaign=CAMPAIGN), gridstat2.Counts(), now=BEGUN, whole=gridstat2.Throughput(), clusters=known
    )
    lines = text.split("\n")
    assert [line for line in lines if line in ("a:", "b:", "c:")] == ["b:"]
    assert lines[-1] == "List of jobs:"
