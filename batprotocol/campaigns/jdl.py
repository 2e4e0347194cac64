"""Reads campaigns: the JDL of either system, with defaults, after the admission rules, as values.

The JDL of CiGri 3 is JSON, that of CiGri 2 blocks. Both become an *expanded* JDL, plain dicts, on which admission rules
work. `read_jdl` makes values of it.
"""

from __future__ import annotations

import ast
import math
import re
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, TypeAlias, overload

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.campaigns._values import as_ruby, read_resources, seconds_of
from batprotocol.campaigns.model import (
    Campaign,
    CampaignType,
    ClusterProperties,
    GridJob,
    GridTask,
    GridValue,
)
from batprotocol.errors import InputError, JdlError, shown

__path__: list[str] = []  # it was a package: its modules are found by their old names

__all__ = [
    "AdmissionRules",
    "CampaignSubmission",
    "environment",
    "load_rules",
    "names_of",
    "properties_from",
    "read_jdl",
    "read_resources",
    "rows_of",
    "seconds_of",
]


# CiGri 3's JDL: one JSON object. Defaults are added, and the common keys are copied to each cluster.


Jdl: TypeAlias = dict[str, Any]
"""A JDL, as a JSON object."""

_OF_THE_CAMPAIGN = {"name", "clusters", "param_file", "nb_jobs", "jobs_type", "params"}
_DEFAULTS = {
    "type": "best-effort",
    "exec_directory": "$HOME",
    "output_gathering_method": "None",
    "dimensional_grouping": "false",
    "temporal_grouping": "false",
    "checkpointing_type": "None",
    "test_mode": "false",
    "properties": "",
    "project": "",
    "cluster_job_type": "",
    "walltime": "01:00:00",
    "resources": "/resource_id=1",
}


def _given(value: object) -> bool:
    """Whether a key has a value: null and false have none, as in Ruby."""
    return value is not None and value is not False


def parse(text: str | bytes) -> Jdl:
    """The JDL in a text, with keys in lower case. All required keys are present.

    Raises:
        JdlError: it is not JSON, or a key is missing.

    >>> parse('{"Name": "n", "nb_jobs": 2, "clusters": {"a": {"exec_file": "run.sh"}}}')["name"]
    'n'
    """
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JdlError(f"JDL badly defined: {error}") from None
    jdl = {key.lower(): value for key, value in whole.items()} if isinstance(whole, dict) else {}
    for field in ("name", "clusters"):
        if not _given(jdl.get(field)):
            raise JdlError(f"JDL file does not contain mandatory field '{field}'")
    if isinstance(jdl["name"], int | float) and not isinstance(jdl["name"], bool):
        jdl["name"] = msgspec.json.encode(jdl["name"]).decode()
    if not isinstance(jdl["name"], str):
        raise JdlError(f"expected a text, found {shown(jdl['name'])}", "name")
    clusters = jdl["clusters"]
    if not isinstance(clusters, dict):
        raise JdlError(f"expected an object with a key for each cluster, found {shown(clusters)}", "clusters")
    for name, cluster in clusters.items():
        if not isinstance(cluster, dict):
            raise JdlError(f"expected an object, found {shown(cluster)}", f"clusters.{name}")
        if not _given(cluster.get("exec_file")) and not _given(jdl.get("exec_file")):
            raise JdlError(
                f"Cluster {as_ruby(cluster)} does not have mandatory field 'exec_file'", f"clusters.{name}", code=-3
            )
    if not clusters:
        raise JdlError('You must define at least one cluster in the "clusters" field', code=-2)
    if not _is_desktop(jdl) and not any(_given(jdl.get(field)) for field in ("params", "nb_jobs", "param_file")):
        raise JdlError(
            "No parameters for your campaign are defined."
            'You must define param_file or nb_jobs or have "jobs_type": "desktop_computing"'
        )
    return jdl


def _is_desktop(jdl: Jdl) -> bool:
    return str(jdl.get("jobs_type", "")).lower() == "desktop_computing"


def expand(jdl: Jdl, clusters: Collection[str] | None) -> Jdl:
    """The JDL with all defaults. Each cluster gets a copy of the common keys that it does not set itself.

    Args:
        jdl: the JDL of `parse`; it is not changed.
        clusters: the known clusters; unknown ones are dropped. None: accept any.

    Raises:
        JdlError: none of its clusters is known, or it requests volunteers' computers.
    """
    known = {name: each for name, each in jdl["clusters"].items() if clusters is None or name in clusters}
    if not known:
        raise JdlError("No clusters usable for the campaign", code=-2)
    if _is_desktop(jdl):
        raise JdlError("Desktop_computing campaigns are not yet supported", "jobs_type")
    shared = {key: value for key, value in jdl.items() if key not in _OF_THE_CAMPAIGN}
    expanded = {key: value for key, value in jdl.items() if key in _OF_THE_CAMPAIGN}
    expanded["clusters"] = {name: _complete(cluster, shared) for name, cluster in known.items()}
    if not _given(expanded.get("jobs_type")):
        expanded["jobs_type"] = "normal"
    return expanded


def _complete(cluster: Jdl, shared: Jdl) -> Jdl:
    complete = dict(cluster)
    for more in ({key: value for key, value in _DEFAULTS.items() if not _given(shared.get(key))}, shared):
        complete |= {key: value for key, value in more.items() if not _given(complete.get(key))}
    return {key: _with_macros(key, value) for key, value in complete.items()}


_MACROS = {
    "exec_file": (("~", "$HOME"), ("{HOME}", "$HOME"), ("{CAMPAIGN_ID}", r"\$CIGRI_CAMPAIGN_ID")),
    "exec_directory": (("~", "$HOME"), ("{HOME}", "$HOME")),
    "prologue": (
        ("{CAMPAIGN_ID}", r"\$CIGRI_CAMPAIGN_ID"),
        ("{OAR_JOB_ID}", r"\$OAR_JOB_ID"),
        ("~", r"\$HOME"),
        ("{HOME}", r"\$HOME"),
    ),
}
_MACROS["epilogue"] = _MACROS["prologue"]
"""The macros and the keys that have them. A backslash prevents the cluster's shell from replacing them too early."""


def _with_macros(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_with_macros(key, each) for each in value]
    if isinstance(value, str):
        for macro, meaning in _MACROS.get(key, ()):
            value = value.replace(macro, meaning)
    return value


# CiGri 2's JDL: blocks `NAME{ key = value ; }`, one of them DEFAULT, the others clusters; `#` begins a comment.


_OF_NAMES = string.ascii_letters + string.digits + "_+*.-"
_SETTING = re.compile(r"([A-Za-z0-9_]+)\s*=\s*([A-Za-z0-9./:=_-]+)")
_KEYS_OF_DEFAULT = {"name": "name", "nbJobs": "nb_jobs", "paramFile": "param_file"}
_KEYS_OF_A_CLUSTER = {
    "execFile": "exec_file",
    "walltime": "walltime",
    "resources": "resources",
    "execDir": "exec_directory",
    "priority": "priority",
    "checkpoint_type": "checkpointing_type",
    "checkpoint_period": "checkpointing_period",
}
_BLOCK_DEFAULTS = {"walltime": "01:00:00", "resources": "/resource_id=1", "exec_directory": "~", "priority": 1}
_OTHERS = {"data_to_transfer", "transfer_timeout"}


def parse_blocks(text: str, clusters: Collection[str] | None, warnings: list[str]) -> Jdl:
    """The JDL in a text of blocks.

    Args:
        text: the text.
        clusters: the known clusters; None: accept any.
        warnings: a warning for each dropped text is added, with its line.

    Raises:
        JdlError: a block has no name, a cluster is unknown, or a key is missing.

    >>> warnings = []
    >>> jdl = parse_blocks("DEFAULT{ name = n ; nbJobs = 2 ; } a{ execFile = ~/x ; execFile = x ; }", None, warnings)
    >>> jdl["nb_jobs"], jdl["clusters"]["a"]["exec_file"]
    (2, 'x')
    >>> warnings
    ["line 1: 'execFile = ~/x' is dropped: a value may hold only letters, digits and . / - : = _"]
    """
    blocks = _blocks(text, warnings)
    default = blocks.pop("DEFAULT", None)
    for name, block in blocks.items():
        if clusters is not None and name not in clusters:
            raise JdlError(f'The "{name}" cluster does not exist!', name)
        if "execFile" not in block:
            raise JdlError(f"The parameter execFile is not defined in the cluster section {name}", name)
    if not default:
        raise JdlError('The "DEFAULT" section does not exist or is empty!')
    jdl: Jdl = {_KEYS_OF_DEFAULT[key]: value for key, value in default.items() if key in _KEYS_OF_DEFAULT}
    jdl.setdefault("name", "")
    if "nb_jobs" in jdl:
        jdl["nb_jobs"] = _whole("nbJobs", jdl["nb_jobs"])
    elif "param_file" not in jdl:
        raise JdlError(unreadable(""))
    _warn_of_unknown("DEFAULT", default, {*_KEYS_OF_DEFAULT, *_OTHERS}, warnings)
    jdl["clusters"] = {name: _cluster(name, block, warnings) for name, block in blocks.items()}
    return jdl


def unreadable(path: str) -> str:
    """The message for a campaign without parameters: its file cannot be read, and it has no `nbJobs`."""
    return f"I can't read the param file {path} or the nbJobs variable"


def lines_of(text: str) -> list[str]:
    """The parameters in a file: one line for each task, without comments.

    >>> lines_of("one 1 # the first\\n\\n# all\\ntwo 2\\n")
    ['one 1 ', 'two 2']
    """
    plain = (line.partition("#")[0] for line in text.split("\n"))
    return [line for line in plain if line.strip()]


def _blocks(text: str, warnings: list[str]) -> dict[str, dict[str, str]]:
    """The blocks by name, with their settings by key. Blocks of the same name are merged, and empty ones are ignored.

    Other text between the blocks is dropped with a warning. A missing brace at the end causes a warning, too.
    """
    plain = "\n".join(line.partition("#")[0] for line in text.split("\n"))
    found: dict[str, dict[str, str]] = {}
    line = 1
    parts = plain.split("}")
    for part in parts:
        begin = line + part[: len(part) - len(part.lstrip())].count("\n")
        before, brace, inner = part.partition("{")
        other = before.rstrip().rstrip(_OF_NAMES) if brace else before
        name = before.rstrip()[len(other) :]
        if brace and not name:
            raise JdlError(f"expected NAME{{ key = value ; }}, found {shown(part.strip())}", line=begin)
        if other.strip():
            warnings.append(f"line {begin}: {shown(other.strip())} is dropped: it is in no block")
        if brace:
            if part is parts[-1]:
                warnings.append(f"line {begin}: the block {name} is not closed")
            inner, more, rest = inner.partition("{")
            if more:
                warnings.append(f"line {begin}: {shown(rest.strip())} is dropped: it is in a block of a block")
            settings = _settings(inner, line + before.count("\n"), warnings)
            if settings:
                found.setdefault(name, {}).update(settings)
        line += part.count("\n")
    return found


def _settings(text: str, line: int, warnings: list[str]) -> dict[str, str]:
    found = {}
    for part in text.split(";"):
        begin = line + part[: len(part) - len(part.lstrip())].count("\n")
        line += part.count("\n")
        setting = _SETTING.fullmatch(part.strip())
        if setting is not None:
            found[setting[1]] = setting[2]
        elif part.strip():
            warnings.append(
                f"line {begin}: {shown(part.strip())} is dropped: a value may hold only letters, digits and . / - : = _"
            )
    return found


def _cluster(name: str, block: dict[str, str], warnings: list[str]) -> Jdl:
    cluster: Jdl = dict(_BLOCK_DEFAULTS)
    cluster |= {_KEYS_OF_A_CLUSTER[key]: value for key, value in block.items() if key in _KEYS_OF_A_CLUSTER}
    cluster["priority"] = _whole(f"{name}.priority", cluster["priority"])
    _warn_of_unknown(name, block, set(_KEYS_OF_A_CLUSTER), warnings)
    return cluster


def _warn_of_unknown(name: str, block: dict[str, str], known: set[str], warnings: list[str]) -> None:
    warnings += (f"{name}.{key} is ignored: the key is unknown" for key in block if key not in known)


def _whole(path: str, value: object) -> int:
    text = str(value)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise JdlError(f"expected a whole number, found {shown(text)}", path)
    return int(text)


# The tasks of a JDL: their parameters, and their names, which are the first words of the parameters.


MAX_TASKS = 1_000_000
"""The greatest number of tasks, so that a mistake does not fill the store."""

PIECE = 10_000
"""How many texts are written as JSON at a time."""


class Counting(Sequence[str]):
    """Numbers as the parameters of tasks. Each text is made when it is read.

    Args:
        numbers: the numbers.
    """

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        found = self._numbers[place]
        return Counting(found) if isinstance(found, range) else str(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def parameters_of(jdl: Jdl, read_file: Callable[[str], str] | None, *, blocks: bool) -> Sequence[str]:
    """The parameters of all tasks, by `params`, else by `nb_jobs`, else by `param_file`; in blocks first by a file."""
    found: Sequence[str]
    if jdl.get("params") not in (None, False):
        given = jdl["params"]
        if not isinstance(given, list) or any(isinstance(each, list | dict) for each in given):
            raise JdlError("expected a list of texts", "params")
        found = ["" if each is None else as_text(each) for each in given]
    elif blocks and jdl.get("param_file") is not None:
        try:
            found = lines_of(_read(text_of("param_file", jdl["param_file"]), read_file))
        except JdlError:
            if jdl.get("nb_jobs") is None:
                raise JdlError(unreadable(jdl["param_file"]), "param_file") from None
            found = _numbered(jdl["nb_jobs"])
    elif jdl.get("nb_jobs") is not None:
        found = _numbered(jdl["nb_jobs"])
    else:
        text = _read(text_of("param_file", jdl.get("param_file")), read_file)
        found = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    if len(found) > MAX_TASKS:
        raise JdlError(f"a campaign has at most {MAX_TASKS} tasks: submit several campaigns")
    if isinstance(found, Counting):
        return found
    hashes = sorted(map(hash, _names(found)))  # a million names would need much more memory
    if any(one == other for one, other in pairwise(hashes)):
        _refuse_twins(found)
    return tuple(found)


def _refuse_twins(parameters: Iterable[str]) -> None:
    seen: set[str] = set()
    for place, name in enumerate(_names(parameters)):
        if name in seen:
            raise JdlError(
                f"two tasks have the name {shown(name)}: use different first words",
                f"params[{place}]",
                code=-4,
            )
        seen.add(name)


def _numbered(number: object) -> Counting:
    """The parameters for `nb_jobs` tasks."""
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise JdlError(f"expected a number, found {shown(number)}", "nb_jobs")
    if number < 0:
        raise JdlError(f"expected a number of tasks, 0 or more, found {shown(number)}", "nb_jobs")
    return Counting(range(math.ceil(min(number, MAX_TASKS + 1))))


def _read(path: str, read_file: Callable[[str], str] | None) -> str:
    try:
        if read_file is not None:
            return read_file(path)
    except InputError:  # it has the reason
        raise
    except (OSError, ValueError):
        pass
    raise JdlError(f"Parameter file '{path}' is not readable", "param_file")


def names_of(parameters: Iterable[str]) -> list[str]:
    """The names of tasks: the first word of their parameters.

    >>> names_of(["one 1 2", ""])
    ['one', '']
    """
    return list(_names(parameters))


def _names(parameters: Iterable[str]) -> Iterator[str]:
    return (each.split(maxsplit=1)[0] if each.strip() else "" for each in parameters)


def text_of(path: str, value: object) -> str:
    """The value if it is a text, else a JdlError with that path."""
    if not isinstance(value, str):
        raise JdlError(f"expected a text, found {shown(value)}", path)
    return value


def as_text(value: object) -> str:
    """A scalar of JSON as a text for the tables."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def params_as_json(parameters: Sequence[str]) -> str:
    """The parameters as a list in JSON, made in pieces.

    >>> params_as_json(Counting(range(2)))
    '["0","1"]'
    """
    pieces = (parameters[begin : begin + PIECE] for begin in range(0, len(parameters), PIECE))
    return f"[{','.join(msgspec.json.encode(list(piece)).decode()[1:-1] for piece in pieces)}]"


# Finds the keys of a JDL that have no effect: unknown keys, and keys of CiGri that no cluster of batprotocol uses.


_STAYS = "output stays on the cluster; 'batproto grid output' shows the end of the output of failed jobs"
_OF_A_CAMPAIGN = frozenset({"name", "clusters", "params", "nb_jobs", "param_file", "jobs_type"})
_KNOWN = frozenset(ClusterProperties.__struct_fields__) - {"cluster"}
IDLE = {
    "checkpointing_type": "a killed job starts from the beginning",
    "checkpointing_period": "a killed job starts from the beginning",
    "cluster_job_type": "the clusters have no types of jobs",
    "dimensional_grouping": "the clusters run jobs in parallel anyway",
    "output_destination": _STAYS,
    "output_file": _STAYS,
    "output_gathering_method": "no output is fetched from clusters",
    "project": "the clusters have no accounting",
    "properties": "the clusters do not select resources",
}
"""The keys of CiGri that have no effect, each with the reason."""


def unknown_keys(jdl: Jdl) -> Iterator[str]:
    """Warnings for unknown keys. The keys of the campaign have been copied to each of its clusters."""
    found: dict[str, list[str]] = {}
    for name, cluster in jdl["clusters"].items():
        for key in cluster:
            if key not in _KNOWN:
                found.setdefault(key, []).append(name)
    for key, names in found.items():
        where = "" if len(names) == len(jdl["clusters"]) else f"clusters.{names[0]}."
        meant = get_close_matches(key, [*_KNOWN, *_OF_A_CAMPAIGN], 1)
        yield f"{where}{key} is ignored: the key is unknown" + (f"; did you mean {meant[0]}?" if meant else "")


def idle_keys(clusters: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Warnings for the keys of CiGri that have a value and no effect."""
    for key, reason in IDLE.items():
        given = [str(cluster.get(key)) for cluster in clusters.values()]
        if any(each.lower() not in ("none", "", "false") for each in given):
            yield f"{key} has no effect: {reason}"
    for name, cluster in clusters.items():
        kind = cluster.get("type", "best-effort")
        if kind not in ("best-effort", "normal"):
            yield f"clusters.{name}.type: {shown(kind)} counts as best-effort: write best-effort or normal"


# Admission rules: Python functions in a file. Each gets the JDL before its submission, and may change or refuse it.


Rule = Callable[[Jdl, str], Any]


class AdmissionRules(GridValue, frozen=True):
    """The admission rules of a file.

    Args:
        rules: the functions by name, in the order of the file.
    """

    rules: tuple[tuple[str, Rule], ...] = ()

    def admit(self, jdl: Jdl, user: str) -> Jdl:
        """The JDL after all rules.

        Raises:
            JdlError: a rule refuses it; the `rule` of the error is its name.
        """
        for name, rule in self.rules:
            copy = msgspec.json.decode(msgspec.json.encode(jdl))
            try:
                returned = rule(copy, user)
            except Exception as error:
                reason = str(error) or type(error).__name__
                raise JdlError(f"the admission rule {name} refuses it: {reason}", rule=name) from error
            jdl = copy if returned is None else returned
            if not isinstance(jdl, dict) or not isinstance(jdl.get("clusters"), dict):
                raise JdlError(f"the admission rule {name} returned {shown(jdl)}: return a JDL or nothing", rule=name)
        return jdl


def load_rules(source: str, file: str = "rules") -> AdmissionRules:
    """The admission rules of a Python file.

    Args:
        source: the text of the file; it is executed.
        file: the name of the file, for errors.

    Raises:
        InputError: it cannot be executed.

    >>> rules = load_rules("def short(jdl, user):\\n    jdl['clusters']['a']['walltime'] = '00:10:00'\\n")
    >>> rules.admit({"clusters": {"a": {"walltime": "99:00:00"}}}, "alice")
    {'clusters': {'a': {'walltime': '00:10:00'}}}
    """
    names: dict[str, Any] = {"__name__": "admission_rules", "__file__": file}
    try:
        tree = ast.parse(source, file)
        exec(compile(tree, file, "exec"), names)
    except SyntaxError as error:
        raise InputError(f"not Python: {error.msg}", file=file, line=error.lineno) from None
    except Exception as error:
        raise InputError(f"cannot be executed: {type(error).__name__}: {error}", file=file) from error
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return AdmissionRules(tuple((name, names[name]) for name in dict.fromkeys(defined)))


# Campaigns as values.


class CampaignSubmission(GridValue, frozen=True, kw_only=True):
    """The content of a JDL.

    Args:
        campaign: the campaign, without a number yet.
        parameters: the parameters of each task, in order. Their first word is the name of the task.
        jdl: the expanded JDL, as JSON.
        warnings: the parts that were ignored or have no effect, one sentence each.
    """

    campaign: Campaign
    parameters: Sequence[str]
    jdl: str
    warnings: tuple[str, ...] = ()


def read_jdl(
    text: str,
    *,
    user: str,
    clusters: Collection[str] | None = None,
    read_file: Callable[[str], str] | None = None,
    type: str | None = None,
    rules: AdmissionRules | None = None,
    number: int = 1,
) -> CampaignSubmission:
    """Read a JDL: CiGri 3's JSON or CiGri 2's blocks. The first character decides which.

    Args:
        text: the JDL.
        user: the user who submits it.
        clusters: the known clusters; None: accept any.
        read_file: reads a file of parameters, and raises OSError or ValueError if it cannot; None: files are refused.
        type: `default` or `test`; None: default.
        rules: the admission rules.
        number: the number that the campaign is expected to get, from 1. CiGri 2 calls a campaign by its number if its
            blocks give no name. Such a campaign has this number as its `id`, and the store changes both when it knows
            the real number.

    Raises:
        JdlError: it cannot be used, or a rule refuses it.

    >>> got = read_jdl('{"name": "n", "nb_jobs": 2, "exec_file": "run.sh", "clusters": {"a": {}}}', user="alice")
    >>> got.parameters, got.campaign.clusters[0].exec_file, got.campaign.clusters[0].walltime
    (('0', '1'), 'run.sh', '01:00:00')
    """
    if type is not None and type not in list(CampaignType):
        raise JdlError(f"{type}: invalid campaign type, expected default or test", "type", code=-5)
    warnings: list[str] = []
    blocks = text.lstrip()[:1] not in ("{", "[")
    jdl = parse_blocks(text, clusters, warnings) if blocks else expand(parse(text), clusters)
    if rules is not None:
        jdl = rules.admit(jdl, user)
    if not blocks:  # those of blocks have warnings with their lines
        warnings += unknown_keys(jdl)
    warnings += idle_keys(jdl["clusters"])
    parameters = parameters_of(jdl, read_file, blocks=blocks)
    if not jdl["clusters"]:
        raise JdlError("No cluster defined", code=-2)
    kind = CampaignType(type or "default")
    if kind is CampaignType.TEST:
        parameters = parameters[: len(jdl["clusters"])]  # one job for each cluster
    name = text_of("name", jdl.get("name"))
    by_number = blocks and not name
    campaign = Campaign(
        id=number if by_number else 0,
        user=user,
        name=str(number) if by_number else name,
        type=kind,
        jobs_type=text_of("jobs_type", jdl.get("jobs_type", "normal")),
        clusters=tuple(_properties(name, cluster) for name, cluster in jdl["clusters"].items()),
    )
    rest = {"clusters": jdl["clusters"], "jobs_type": campaign.jobs_type}
    shown_jdl = f'{{"name":{_json(jdl["name"])},"params":{params_as_json(parameters)},{_json(rest)[1:]}'
    return CampaignSubmission(
        campaign=campaign,
        parameters=parameters,
        jdl=shown_jdl,
        warnings=tuple(warnings),
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_LISTS = ("prologue", "epilogue")
_NUMBERS = ("max_jobs", "priority")
_FLAGS = ("test_mode", "temporal_grouping", "dimensional_grouping")


def _properties(name: str, cluster: Mapping[str, Any]) -> ClusterProperties:
    """The properties of a cluster in an expanded JDL. Unknown keys are ignored."""
    rows: dict[str, str] = {}
    for key, value in cluster.items():
        path = f"clusters.{name}.{key}"
        if key not in ClusterProperties.__struct_fields__ or key == "cluster" or value is None:
            continue
        if key in _LISTS:
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise JdlError(f"expected a list of commands, found {shown(value)}", path)
            rows[key] = "\n".join(value)
        elif isinstance(value, list | dict) or (key in ("exec_file", "exec_directory") and not isinstance(value, str)):
            raise JdlError(f"expected a text, found {shown(value)}", path)
        else:
            rows[key] = as_text(value)
    try:
        properties = properties_from(name, rows)
        read_resources(properties.resources)
        for walltime in (properties.walltime, properties.prologue_walltime, properties.epilogue_walltime):
            seconds_of(walltime or "0")
    except InputError as error:
        raise JdlError(error.reason, f"clusters.{name}.{error.path}") from None
    return properties


def properties_from(cluster: str, rows: Mapping[str, str]) -> ClusterProperties:
    """The properties of a campaign on a cluster, from the rows of the table `campaign_properties`.

    Raises:
        InputError: a number cannot be read.
    """
    values: dict[str, Any] = dict(rows)
    for key in _NUMBERS:
        if key in values:
            if not values[key].removeprefix("-").isdecimal() or len(values[key]) > 9:
                raise InputError(f"expected a whole number, found {shown(values[key])}", key)
            values[key] = int(values[key])
    values |= {key: values[key] == "true" for key in _FLAGS if key in values}
    values |= {key: tuple(values[key].split("\n")) if values[key] else () for key in _LISTS if key in values}
    return ClusterProperties(cluster=cluster, **values)


def rows_of(properties: ClusterProperties) -> dict[str, str]:
    """The rows of the table `campaign_properties`: one for each key. `properties_from` reads them.

    >>> rows = rows_of(ClusterProperties(cluster="a", exec_file="run.sh", max_jobs=4, prologue=("cd x", "make")))
    >>> rows["test_mode"], rows["max_jobs"], rows["prologue"]
    ('false', '4', 'cd x\\nmake')
    >>> properties_from("a", rows).prologue
    ('cd x', 'make')
    """
    found: dict[str, str] = {}
    usual = ClusterProperties(cluster="", exec_file="")
    for key in properties.__struct_fields__:
        value = getattr(properties, key)
        if key == "cluster" or value is None or (key in (*_LISTS, *_NUMBERS) and value == getattr(usual, key)):
            continue
        found[key] = "\n".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else as_text(value)
    return found


# The variables in the environment of a job, each with the aliases of the specification.


ALIASES = {
    "CIGRI_NODEFILE": "CIGRI_NODE_FILE",
    "CIGRI_JOBID": "CIGRI_JOB_ID",
    "CIGRI_CAMPAIGN_ID": "CIGRI_CAMPAIGNID",
    "CIGRI_JOBNAME": "CIGRI_JOB_NAME",
    "CIGRI_WORKING_DIRECTORY": "CIGRI_WORKDIR",
}
"""The second name of a variable, and its first."""


def environment(
    campaign: Campaign,
    properties: ClusterProperties,
    job: GridJob,
    task: GridTask | None,
    *,
    workdir: str,
    node_file: str = "",
) -> dict[str, str]:
    """The variables of a job.

    Args:
        campaign: its campaign.
        properties: its keys for the cluster.
        job: the job.
        task: its task; None for a prologue or epilogue.
        workdir: the directory in which it runs.
        node_file: a file with the names of its nodes, one per line; "" if there is none.

    >>> properties = ClusterProperties(cluster="a", exec_file="x", walltime="0:10")
    >>> job = GridJob(id=7, campaign=3, task=1, cluster="a")
    >>> found = environment(Campaign(id=3, user="alice", name="n"), properties, job, None, workdir="/tmp")
    >>> found["CIGRI_JOBID"], found["CIGRI_CAMPAIGN_ID"], found["CIGRI_WALLTIME_SECONDS"]
    ('7', '3', '600')
    """
    found = {
        "CIGRI_NODE_FILE": node_file,
        "CIGRI_JOB_ID": str(job.id),
        "CIGRI_CAMPAIGNID": str(campaign.id),
        "CIGRI_JOB_NAME": (job.tag or "") if task is None else task.name,
        "CIGRI_USER": campaign.user,
        "CIGRI_WORKDIR": workdir,
        "CIGRI_RESOURCES": properties.resources,
        "CIGRI_WALLTIME": properties.walltime,
        "CIGRI_WALLTIME_SECONDS": f"{seconds_of(properties.walltime):.0f}",
    }
    return found | {alias: found[name] for alias, name in ALIASES.items()}


__getattr__ = old_names(__name__, {"Rules": "AdmissionRules", "Submitted": "CampaignSubmission"})
