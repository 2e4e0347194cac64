"""Errors without values of files: words that are neither the library's nor the caller's are left out."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.cli.mcp_server.vocabulary import without_values
from batprotocol.errors import InputError, StudyError
from batprotocol.simulator import read_platform, read_workload
from batprotocol.studies import Study

WITHOUT_ENGINE = True


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            "batproto: s.toml: scheduler[0]: there is no policy 'xkcd9'",
            "batproto: s.toml: scheduler[0]: there is no policy '...'",
        ),
        (
            "w.json: jobs[31415].res: expected an integer > 0, got 8234123",
            "w.json: jobs[31415].res: expected an integer > 0, got ...",
        ),
        (
            "w.json: line 31415, column 92653: expected a text, got 5",
            "w.json: line 31415, column 92653: expected a text, got ...",
        ),
        ("expected a number, got 'password'", "expected a number, got '...'"),
        ("expected a number, got ['a', 'b']", "expected a number, got ['...', '...']"),
        ("expected a number, got {'a': 5, 'b': [7]}; use 5", "expected a number, got {'...': ..., '...': ...]}; use 5"),
        ("the columns of the first row are API_KEY=xkcd9, time", "the columns of the first row are ..., time"),
        (
            "x.xml: not well-formed (invalid token): line 1, column 0",
            "x.xml: not well-formed (invalid token): line 1, column 0",
        ),
        ("s.toml: [Errno 2] No such file or directory", "s.toml: [Errno 2] No such file or directory"),
        (
            "the study has more than 1,000 runs; use fewer values",
            "the study has more than 1,000 runs; use fewer values",
        ),
        ("", ""),
    ],
)
def test_places_and_what_is_expected_stay(error: str, expected: str) -> None:
    assert without_values(error) == expected


def test_words_of_the_call_stay() -> None:
    error = "log-7.swf:3: expected a policy, got 'xkcd9'"
    assert without_values(error, ["log-7.swf", "--policy=xkcd9"]) == error


secrets = st.text("abcxyzABCXYZ0189-_/+=.é", min_size=8, max_size=40).map(lambda text: f"Qz7{text}Q")


@given(
    st.sampled_from(
        ["{0}", "'{0}'", "got {0}", "got '{0}'", "a={0},b", "it's {0}", '"{0}: {0}"', "[{0}]", "line {0}", "x\n{0}\ty"]
    ),
    secrets,
    st.text(max_size=20),
)
@example("don't {0}, it's", "Qz7abcdefghQ", "'")
def test_no_secret_stays(template: str, secret: str, beside: str) -> None:
    told = without_values(beside + template.format(secret) + beside)
    assert "Qz7" not in told
    assert secret not in told


READERS = {
    "w.json": read_workload,
    "p.xml": read_platform,
    "s.toml": Study.read,
}
VALID = {
    "w.json": json.dumps(
        {
            "nb_res": 4,
            "jobs": [{"id": "1", "subtime": 0, "res": 1, "profile": "p", "walltime": 5}],
            "profiles": {"p": {"type": "delay", "delay": 1}},
        }
    ),
    "p.xml": "<platform version='4.1'><zone id='z' routing='Full'><host id='h' speed='1f' core='2'/></zone></platform>",
    "s.toml": 'scheduler = "fcfs"\nworkload = "lublin:8?jobs=5"\nseed = "0-3"\ntimeout = 3\nwarm_up = 0.1\n',
}


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_secret_in_the_place_of_each_value_is_not_told(name: str, tmp_path: Path) -> None:
    """Each part of a valid file is replaced, and readers quote it in their own ways."""
    text, secret, failures = VALID[name], "Qz7hunter2", 0
    for start in range(len(text)):
        for length in (1, 3):
            (tmp_path / name).write_text(text[:start] + secret + text[start + length :])
            said = ""
            try:
                READERS[name](tmp_path / name)
            except (InputError, StudyError, OSError) as error:
                said = str(error)
            failures += bool(said)
            assert "Qz7" not in without_values(said, [str(tmp_path / name)]), said
    assert failures > len(text) / 2


def test_a_long_text_takes_linear_time() -> None:
    began = time.process_time()
    without_values("expected a list, got [" + "xkcd9, 'xkcd9', " * 100_000 + "\n" + "'" * 100_000 + "1[" * 100_000)
    assert time.process_time() - began < 20
