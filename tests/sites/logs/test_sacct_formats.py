"""Slurm's formats show themselves in the first bytes of a file, and finding them takes linear time."""

from __future__ import annotations

import json
import re

import pytest
from regex_work import Work
from sacct_lines import fixed, sample, sample_rows

from batprotocol.sites.logs.formats import FORMATS

WITHOUT_ENGINE = True

SLURM = ("sacct-json", "jobcomp", "sacct")
ROWS = sample_rows()
HEADS = {
    "sacct": [
        sample("sacct.txt"),
        sample("sacct-all.txt"),
        fixed(ROWS, ["JobID", "Submit", "Start", "End"], 30),
        fixed(ROWS, ["Submit", "Start", "End", "JobIDRaw"], 30),
        "\ufeffUser;;JobID;;Submit",
        "JobID",
    ],
    "sacct-json": [
        sample("sacct.json"),
        json.dumps({"jobs": json.loads(sample("sacct.json"))["jobs"], "meta": {}}),
        '{"meta":{"plugins":{},"client":{},"command":["show","jobs"],"slurm":{}},"jobs":[]}',
        json.dumps({"errors": [], "warnings": [], **json.loads(sample("sacct.json"))}, sort_keys=True),
        json.dumps({"jobs": [], "meta": {}}),
        json.dumps(json.loads(sample("sacct.json"))["jobs"], indent=2),
    ],
    "jobcomp": [sample("jobcomp.txt")],
}
OTHERS = [
    "",
    "; Version: 2.2\n;JobIDs: all\n1 2 3",
    "job_id,user,submit\n1,u,3",
    '{"jobs": [{"id": 3, "t_submit": 4}]}',
    '{"nb_res": 4, "jobs": []}',
    "11/23/2026 22:33:19;E;7.server;user=u jobname=JobID",
    sample("sacct-noheader.txt"),
]


def formats_of(text: str) -> list[str]:
    return [
        name for name in SLURM if any(re.match(each, text[:4096].lstrip("\ufeff")) for each in FORMATS[name].looks_like)
    ]


def test_each_format_is_found() -> None:
    for name, heads in HEADS.items():
        assert [formats_of(head) for head in heads] == [[name]] * len(heads)
    assert [formats_of(head) for head in OTHERS] == [[]] * len(OTHERS)


PIECES = [
    b"JobID",
    b"JobID|",
    b"a|",
    b"a",
    b"|",
    b" ",
    b"\n",
    b"a ",
    b'{"meta":',
    b"{",
    b'"jobs":[',
    b'"errors":[],',
    b"JobId=1 ",
    b"JobI",
    b"1",
]


MANAGERS = ("pbs", "lsf", "gridengine", "qacct", "oar", "cigri", "gridstat", "flux")
OTHER_PIECES = [
    b"id,",
    b"a,",
    b"campaign_id,",
    b'{"1":',
    b'"jobs":{',
    b"7",
    b"/",
    b":",
    b'"JOB_',
    b"a:",
    b"# a\n",
    b"=",
    b"$ gridstat -j ",
    b"[",
]


@pytest.mark.parametrize("pattern", [each for name in (*SLURM, *MANAGERS) for each in FORMATS[name].looks_like])
def test_finding_them_takes_linear_time(pattern: str) -> None:
    for prefix in (b"", b" ", b"a|", b'{"meta":', b'{"jobs":[{', b"02/11/2026 "):
        for piece in PIECES + OTHER_PIECES:
            less, more = Work(re.compile(pattern)), Work(re.compile(pattern))
            less.match(prefix + piece * 12 + b"\x01")
            more.match(prefix + piece * 48 + b"\x01")
            assert more.steps <= 6 * less.steps + 100, (prefix, piece)
