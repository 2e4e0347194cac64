"""JDLs: what is refused says where and why, what is accepted says all, and no text raises anything else."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batprotocol.campaigns import jdl
from batprotocol.campaigns.jdl import (
    load_rules,
    names_of,
    properties_from,
    read_jdl,
    read_resources,
    rows_of,
    seconds_of,
)
from batprotocol.campaigns.model import Campaign, CampaignType, ClusterProperties, GridJob, GridTask
from batprotocol.errors import InputError, JdlError

WITHOUT_ENGINE = True

TASKS: dict[str, Any] = {"name": "n", "nb_jobs": 2, "exec_file": "x", "clusters": {"a": {}}}


def text(**changes: Any) -> str:
    """A JDL that is right but for these keys; None takes one away."""
    return json.dumps({key: value for key, value in (TASKS | changes).items() if value is not None})


@pytest.mark.parametrize(
    ("jdl", "path", "words"),
    [
        ("{", "", "JDL badly defined"),
        ("[" * 100_000, "", "JDL badly defined"),
        (text(name=None), "", "mandatory field 'name'"),
        (text(name=["n"]), "name", "expected a text"),
        (text(clusters=["a"]), "clusters", "an object with a key for each cluster"),
        (text(clusters={"a": "x"}), "clusters.a", "expected an object"),
        (text(exec_file=None, clusters={"a": {"walltime": "1"}}), "clusters.a", '{"walltime"=>"1"} does not have'),
        (text(exec_file=["x"]), "clusters.a.exec_file", "expected a text"),
        (text(nb_jobs=None), "", "No parameters"),
        (text(nb_jobs="2"), "nb_jobs", "expected a number, found '2'"),
        (text(nb_jobs=10**30), "", "at most 1000000 tasks"),
        (text(nb_jobs=10**9), "", "at most 1000000 tasks"),
        (text(params=["a 1", "b", "a 2"]), "params[2]", "two tasks have the name 'a'"),
        (text(params="a b"), "params", "list of texts"),
        (text(nb_jobs=None, param_file="nowhere"), "param_file", "'nowhere' is not readable"),
        (text(jobs_type="desktop_computing"), "jobs_type", "not yet supported"),
        (text(clusters={"zzz": {}}), "", "No clusters usable"),
        (text(walltime="soon"), "clusters.a.walltime", "hours:minutes:seconds, found 'soon'"),
        (text(resources="/cpu=0"), "clusters.a.resources", "/nodes=1/cpu=2, found '/cpu=0'"),
        (text(max_jobs="many"), "clusters.a.max_jobs", "whole number"),
        (text(prologue="make"), "clusters.a.prologue", "list of commands"),
        (text(project={"a": 1}), "clusters.a.project", "expected a text"),
        ("DEFAULT{ name = n ; nbJobs = 2 ; } { execFile = x ; }", "", "expected NAME{ key = value ; }"),
        ("DEFAULT{ name = n ; nbJobs = 2 ; } zzz{ execFile = x ; }", "zzz", 'The "zzz" cluster does not exist!'),
        ("DEFAULT{ name = n ; paramFile = /x ; } a{ execFile = x ; }", "param_file", "param file /x or the nbJobs"),
        ("DEFAULT{ name = n ; nbJobs = two ; } a{ execFile = x ; }", "nbJobs", "whole number"),
        ("DEFAULT{ name = n ; nbJobs = 2 ; } a{ execFile = x ; priority = -1 ; }", "a.priority", "whole number"),
        ("", "", 'The "DEFAULT" section does not exist'),
    ],
)
def test_what_is_refused_says_where_and_why(jdl: str, path: str, words: str) -> None:
    with pytest.raises(JdlError) as caught:
        read_jdl(jdl, user="u", clusters=["a"])
    assert (caught.value.path, words in caught.value.reason) == (path, True), caught.value


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ("DEFAULT{ name = n ; nbJobs = 1 ; }\n\n a{ execFile = x ;\n", "line 3: the block a is not closed"),
        ("DEFAULT{ nbJobs = 1 ; }\nfor all a{ execFile = x ; }", "line 2: 'for all' is dropped: it is in no block"),
        ("DEFAULT{ nbJobs = 1 ; } a{ execFile = x ; }\n}\n}", None),
        ("DEFAULT{ nbJobs = 1 ; } a{ execFile = x ; }\n}\nend", "line 3: 'end' is dropped: it is in no block"),
        ("DEFAULT{ nbJobs = 1 ; }\na{ execFile = x ; b{ y } }", "line 2: 'y' is dropped: it is in a block of a block"),
    ],
)
def test_what_is_odd_about_blocks_is_told_with_its_line(blocks: str, told: str | None) -> None:
    got = read_jdl(blocks, user="u", clusters=["a"])
    assert got.campaign.clusters[0].exec_file == "x"
    assert told is None or told in got.warnings, got.warnings


@pytest.mark.parametrize(
    ("given", "number", "called", "id"),
    [
        ("", 1, "1", 1),
        ("", 7, "7", 7),
        ("name = my campaign ;", 1, "1", 1),  # CiGri 2's grammar has no value with a space
        ('name = "n" ;', 2, "2", 2),
        ("name = ;", 1, "1", 1),
        ("name = n m ; name = n ;", 1, "n", 0),
        ("name = 1 ;", 1, "1", 0),
        ("name = weird-name_2.0 ;", 5, "weird-name_2.0", 0),
    ],
)
def test_a_campaign_of_blocks_without_a_name_is_called_by_its_number(
    given: str, number: int, called: str, id: int
) -> None:
    got = read_jdl(f"DEFAULT{{ {given} nbJobs = 1 ; }} a{{ execFile = x ; }}", user="u", number=number)
    assert (got.campaign.name, got.campaign.id) == (called, id)
    dropped = any("is dropped" in each for each in got.warnings)
    assert dropped == (" m" in given or "my " in given or '"' in given or given == "name = ;")


def test_a_block_without_a_name_is_told_with_its_line() -> None:
    with pytest.raises(JdlError) as caught:
        read_jdl("DEFAULT{ name = n ; nbJobs = 1 ; }\n\n { execFile = x ; }\n", user="u")
    assert caught.value.line == 3


def test_a_file_of_parameters_in_blocks() -> None:
    files = {"p": "one 1 # first\n  \n# none\ntwo\n"}
    for more, expected in (("", ("one 1 ", "two")), ("nbJobs = 1 ;", ("one 1 ", "two"))):
        blocks = f"DEFAULT{{ {more} paramFile = p ; }} a{{ execFile = x ; }}"
        assert read_jdl(blocks, user="u", read_file=files.__getitem__).parameters == expected
    blocks = "DEFAULT{ nbJobs = 2 ; paramFile = missing ; } a{ execFile = x ; }"
    assert read_jdl(blocks, user="u", read_file=_missing).parameters == ("0", "1")


def _missing(path: str) -> str:
    raise FileNotFoundError(path)


def test_numbers_are_texts() -> None:
    got = read_jdl(text(name=7, params=[1, 2.5, "x y", None, True]), user="u")
    assert (got.campaign.name, got.parameters) == ("7", ("1", "2.5", "x y", "", "true"))


def test_codes() -> None:
    codes = {
        "DEFAULT{ name = n ; }": -1,
        "DEFAULT{ name = n ; nbJobs = 2 ; }": -2,
        "DEFAULT{ name = n ; nbJobs = 2 ; paramFile = x ; }": -2,
        "DEFAULT{ name = n ; } a{ walltime = 1 ; }": -1,
        text(params=["a", "a"]): -4,
        text(exec_file=None): -3,
    }
    for refused, code in codes.items():
        with pytest.raises(JdlError) as caught:
            read_jdl(refused, user="u")
        assert caught.value.code == code, refused
    with pytest.raises(JdlError) as caught:
        read_jdl(text(), user="u", type="odd")
    assert caught.value.code == -5


def test_what_is_dropped_is_told_with_its_line() -> None:
    default = "DEFAULT{\n name = n ; nbJobs = 1 ;\n odd = 1 ; }\n"
    blocks = "a{ execFile = x ;\n\n execDir = ~/d ; }\nb{ execFile = x ; }"
    got = read_jdl(default + blocks, user="u", clusters=["a", "b"])
    assert got.campaign.clusters[0].exec_directory == "~"
    assert [warning.split(":")[0] for warning in got.warnings] == ["line 6", "DEFAULT.odd is ignored"]


def test_a_test_keeps_as_many_tasks_as_clusters() -> None:
    got = read_jdl(text(nb_jobs=9, clusters={"a": {}, "b": {}}), user="u", type="test")
    assert (got.campaign.type, got.parameters) == (CampaignType.TEST, ("0", "1"))


def test_there_may_be_no_tasks_at_all() -> None:
    for more in ({"nb_jobs": 0}, {"params": []}, {"params": [], "nb_jobs": 3}):
        assert read_jdl(text(**more), user="u").parameters == ()


def test_params_win() -> None:
    got = read_jdl(text(params=["p1 a", "p2"], param_file="nowhere"), user="u")
    assert got.parameters == ("p1 a", "p2")


def test_parameters_of_a_file() -> None:
    files = {"p": "one 1\n\n two \n"}.__getitem__
    assert read_jdl(text(nb_jobs=None, param_file="p"), user="u", read_file=files).parameters == ("one 1", "", "two")
    blocks = "DEFAULT{ name = n ; paramFile = p ; nbJobs = 9 ; } a{ execFile = x ; }"
    assert read_jdl(blocks, user="u", read_file=files).parameters == ("one 1", " two ")


def test_the_expanded_jdl_is_a_jdl() -> None:
    """What is stored of a campaign can be submitted again, and is the same campaign."""
    first = read_jdl(text(walltime="2", test_mode=True, prologue=["cd ~"], clusters={"a": {}, "b": {}}), user="u")
    again = read_jdl(first.jdl, user="u")
    assert msgspec.structs.replace(again, jdl="") == msgspec.structs.replace(first, jdl="")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
KEYS = st.sampled_from([*ClusterProperties.__struct_fields__, *TASKS, "params", "param_file", "jobs_type"])


@pytest.mark.slow
@given(st.dictionaries(KEYS, ANYTHING), st.dictionaries(KEYS, ANYTHING))
def test_whatever_is_said_it_is_a_campaign_or_refused(top: dict[str, Any], cluster: dict[str, Any]) -> None:
    top = TASKS | {key: value for key, value in top.items() if key != "clusters"} | {"clusters": {"a": cluster}}
    try:
        got = read_jdl(json.dumps(top), user="u")
    except JdlError:
        return
    (properties,) = got.campaign.clusters
    assert properties_from("a", rows_of(properties)) == properties
    assert read_resources(properties.resources).weight >= 1
    assert seconds_of(properties.walltime) >= 0
    assert len(set(names_of(got.parameters))) == len(got.parameters)


@given(st.text() | st.text(alphabet="DEFAULTa{}=;# \n~x1"))
@example("DEFAULT{a=1}")
def test_whatever_the_text_it_is_a_campaign_or_refused(jdl: str) -> None:
    with suppress(JdlError):
        read_jdl(jdl, user="u")


@given(st.text() | st.from_regex(r"/?[a-z]+=[0-9]{1,3}(/[a-z]+=[0-9]{1,3})?", fullmatch=True))
def test_resources_are_read_back(request: str) -> None:
    try:
        resources = read_resources(request)
    except InputError:
        return
    assert read_resources(str(resources)) == resources


def test_admission_rules_rewrite_in_their_order() -> None:
    rules = load_rules(
        "def _helper(jdl):\n    jdl['name'] += '1'\n"
        "def first(jdl, user):\n    _helper(jdl)\n"
        "def second(jdl, user):\n    return {**jdl, 'name': jdl['name'] + user}\n"
    )
    assert read_jdl(text(), user="u", rules=rules).campaign.name == "n1u"


def test_a_rule_that_refuses_is_named_and_changes_nothing() -> None:
    rules = load_rules("def never(jdl, user):\n    jdl['name'] = 'other'\n    raise KeyError('no')\n")
    before = {"clusters": {}, "name": "n"}
    with pytest.raises(JdlError, match="the admission rule never refuses it: 'no'") as caught:
        rules.admit(before, "u")
    assert (caught.value.rule, before["name"]) == ("never", "n")


def test_a_rule_that_makes_no_jdl_of_it_is_named() -> None:
    with pytest.raises(JdlError, match="the admission rule odd returned 3: return a JDL or nothing"):
        read_jdl(text(), user="u", rules=load_rules("def odd(jdl, user): return 3"))


@pytest.mark.parametrize(("source", "line"), [("def x(:\n", 1), ("import nothing_of_this_name\n", None)])
def test_rules_that_cannot_be_executed_are_refused(source: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        load_rules(source, "rules.py")
    assert (caught.value.file, caught.value.line) == ("rules.py", line)


def test_jobs_find_all_variables_of_the_specification() -> None:
    properties = ClusterProperties(cluster="a", exec_file="x", walltime="1:00:00", resources="/cpu=2")
    job, task = GridJob(id=7, campaign=3, task=5, cluster="a"), GridTask(5, 3, "t5", "t5 x")
    campaign = Campaign(id=3, user="alice", name="n")
    found = jdl.environment(campaign, properties, job, task, workdir="/home/alice", node_file="/tmp/nodes")
    assert found == {
        "CIGRI_NODE_FILE": "/tmp/nodes",
        "CIGRI_NODEFILE": "/tmp/nodes",
        "CIGRI_JOB_ID": "7",
        "CIGRI_JOBID": "7",
        "CIGRI_CAMPAIGNID": "3",
        "CIGRI_CAMPAIGN_ID": "3",
        "CIGRI_JOB_NAME": "t5",
        "CIGRI_JOBNAME": "t5",
        "CIGRI_USER": "alice",
        "CIGRI_WORKDIR": "/home/alice",
        "CIGRI_WORKING_DIRECTORY": "/home/alice",
        "CIGRI_RESOURCES": "/cpu=2",
        "CIGRI_WALLTIME": "1:00:00",
        "CIGRI_WALLTIME_SECONDS": "3600",
    }
