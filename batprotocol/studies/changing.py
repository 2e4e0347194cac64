"""The workload of a run: the changes that the keys of a study make to it, what is drawn, and the time that counts.

It must not know how descriptions are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from batprotocol.errors import StudyError, shown
from batprotocol.studies.failing import failure_seed_of
from batprotocol.studies.files import Files
from batprotocol.studies.keys import KEYS, OLD_KEYS
from batprotocol.studies.runs import Task
from batprotocol.studies.schedulers import Chosen

__all__ = [
    "PREDICTED",
    "SEED",
    "GivenInput",
    "changes_of",
    "counted_of",
    "drawn_of",
    "predicting",
    "word_of",
    "words_of",
]

_DRAWN: Final = {"weeks": "weeks", "estimate_factor": "estimates"}
"""The parts of a workload that are drawn at random, by the keys that cause it."""
SEED: Final = "{seed}"
"""The placeholder for the seed in the initialization data and in the arguments of a scheduler."""
PREDICTED: Final = "predicted"


class GivenInput(NamedTuple):
    """A file that a run reads, or a value in place of one. A platform has options, too."""

    label: Any
    text: Any
    files: Files | None
    options: Mapping[str, Any] = {}


def changes_of(value: Mapping[str, Any], workload: GivenInput) -> dict[str, str]:
    """The changes of a workload, as options in its name."""
    own = words_of(workload)
    found = {}
    for key, given in value.items():
        if KEYS[key].kind != "change" or word_of(key) in own or (key == "seed" and not draws_of(value, workload)):
            continue
        if key == "estimates" and given != "exact":
            continue  # the walltimes of the workload as it is
        found[word_of(key)] = ("yes" if given else "no") if isinstance(given, bool) else str(given)
    return found


def counted_of(task: Task) -> dict[str, float]:
    """The time that counts, if the workload of a run is a window with margins, as settings of its measure."""
    words = {**dict(parse_qsl(task.workload.partition("?")[2])), **task.changes}
    if "window" not in words:
        return {}
    try:
        begin, end = (float(each) for each in words["window"].split("-"))
        before, factor = float(words.get("before", 0)), float(words.get("arrival-factor", words.get("load", 1)))
    except ValueError:
        raise StudyError(f"expected an interval such as 0-604800, got {shown(words['window'])}", "window") from None
    # jobs.csv has six decimals, and so has the time of a job that is submitted when the window begins
    return {"begin": round(before / factor, 6), "end": round((before + end - begin) / factor, 6)}


def predicting(policy: str) -> str:
    """A policy that predicts the run times of jobs."""
    return f"{policy}+{PREDICTED}"


def word_of(key: str) -> str:
    """The name of a key in names of workloads."""
    return key.replace("_", "-")


def words_of(workload: GivenInput) -> set[str]:
    """The options in the name of a workload, by their present names."""
    words = (part.partition("=")[0] for part in str(workload.text).partition("?")[2].split("&"))
    old = {name: word_of(new[workload.files is None]) for name, new in OLD_KEYS.items()}
    return {old.get(word, word) for word in words}


def draws_of(value: Mapping[str, Any], workload: GivenInput) -> tuple[str, ...]:
    """The parts of a workload that are drawn at random, of `workload`, `weeks` and `estimates`."""
    if workload.files is None:
        return ("workload",)
    own = words_of(workload)
    return tuple(dict.fromkeys(what for key, what in _DRAWN.items() if key in value or word_of(key) in own))


def drawn_of(value: Mapping[str, Any], workload: GivenInput, scheduler: Chosen, init: str) -> tuple[str, ...]:
    """The parts that the seed of a run draws."""
    failures = ("failures",) if failure_seed_of(value) is not None else ()
    if "seed" not in value:
        return failures
    found = () if "seed" in words_of(workload) else draws_of(value, workload)
    own = ("scheduler",) if SEED in init or SEED in scheduler.target or SEED in scheduler.arguments.values() else ()
    return (*found, *own, *failures)
