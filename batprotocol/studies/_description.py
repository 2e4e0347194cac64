"""A study: its description, in TOML or in Python, and its runs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any, Final

import msgspec

from batprotocol._util.files import naming
from batprotocol.errors import InputError, StudyError, shown
from batprotocol.policies.names import PolicyNameError, named
from batprotocol.studies._inputs import (
    ELECTRICITY,
    PREDICTED,
    SEED,
    ElectricSchedulers,
    GivenInput,
    changes_of,
    counted_of,
    drawn_of,
    electric_input,
    laws_of,
    measures_energy,
    predicting,
    traces_of_run,
    word_of,
    words_of,
)
from batprotocol.studies.comparing.rows import expect_one_axis
from batprotocol.studies.keys import KEYS, MOST_RUNS, OLD_KEYS, values_of, with_new_names
from batprotocol.studies.runs import Measure, Run, Task, limits_of
from batprotocol.studies.sources import ChosenScheduler, StudyFiles, chosen, digest_of_program, own_metrics, traces_of
from batprotocol.workloads import EXAMPLE_PLATFORM, EXAMPLE_WORKLOAD

_SETTINGS: Final = ("name", "timeout", "memory", "metrics")
_EXAMPLE: Final = "example"
_OF_MODELS: Final = ("jobs", "arrival_factor", "offered_load", "estimates", "estimate_factor", "walltimes", "seed")
"""The changes of a workload that is drawn from a model."""
_EXCLUSIVE: Final = (
    *(("estimates", "estimate_factor"), ("arrival_factor", "offered_load"), ("failures", "mtbf")),
    *(("window", other) for other in ("jobs", "time", "shift", "weeks", "offered_load", "warm_up", "cool_down")),
)
"""A study has at most one key of each of these groups."""
_FILES: Final = ("workload", "platform", "events", "failures")
_INPUTS: Final = (*_FILES, *ELECTRICITY)
"""The keys with files. Those of electricity have values only if they are given."""
_NAMED: Final = ("scheduler", *_INPUTS)
"""The keys whose values may have names."""
_OPTIONS: Final = ("master", "mmax", "roles")
"""The keys that a table of a platform may have beside its file."""


class Description:
    """The description of a study.

    Args:
        keys: its values, by the keys of `KEYS`, `name`, `timeout`, `memory` and `metrics`.
        folder: the folder of the files that it names.
        file: the file of the description, for errors, or "".

    Raises:
        StudyError: the description is not valid.
        OSError: a file cannot be read.
    """

    def __init__(self, keys: Mapping[str, Any], folder: str = "", file: str = "") -> None:
        self.folder = os.path.abspath(folder)
        """The folder of the files that it names."""
        try:
            keys, self.notes = with_new_names(
                keys, map(_is_model, values_of("workload", keys.get("workload", _EXAMPLE)))
            )
            self._expect_keys(keys)
            self.name: str = keys.get("name", "study")
            """The name of the study."""
            self.limits = limits_of(keys)
            """The limits of each run."""
            self.axes: dict[str, tuple[Any, ...]] = {}
            """The axes of its tables: the labels of the values of each key that was given."""
            self._values = {key: self._checked(key, keys[key]) for key in KEYS if key in keys}
            self._expect_one_of_each()
            self._inputs = {key: self._read(key) for key in _INPUTS if key in self._values or key not in ELECTRICITY}
            self._schedulers = [
                found
                for number, each in enumerate(self._values["scheduler"])
                for found in chosen(each, self.folder, _place("scheduler", number, keys["scheduler"]))
            ]
            self._electric = ElectricSchedulers(self._schedulers, self._inputs)
            self._metrics, self._metric_files = own_metrics(keys.get("metrics", []), self.folder)
            self._label()
            self._expect_changes()
            self._expect_laws()
            self._expect_chance()
            self._expect_watts()
            self._expect_only()
            self._expect_policies()
        except StudyError as error:
            raise StudyError(error.reason, error.path, file=error.file or file) from None

    # The description

    def _expect_keys(self, keys: Mapping[str, Any]) -> None:
        for key in keys:
            if key not in KEYS and key not in _SETTINGS:
                near = get_close_matches(key, [*KEYS, *_SETTINGS], n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join([*_SETTINGS, *KEYS])}"
                raise StudyError(f"there is no such key; {hint}", key)
        if "scheduler" not in keys:
            raise StudyError(
                'a study has at least one scheduler: write for example scheduler = ["fcfs", "easy"]', "scheduler"
            )
        name = keys.get("name", "study")
        if not isinstance(name, str) or not name or os.path.basename(name) != name:
            raise StudyError(f"expected a text that can be the name of a file, got {shown(name)}", "name")

    def _checked(self, key: str, given: Any) -> Sequence[Any]:
        values = values_of(key, given)
        if key == "scheduler" or isinstance(values, range):
            return values
        for number, value in enumerate(values):
            inner = value.get(key) if key in _NAMED and isinstance(value, Mapping) else value
            if not KEYS[key].check(inner):
                raise StudyError(f"expected {KEYS[key].expected}, got {shown(value)}", _place(key, number, given))
        return values

    def _expect_one_of_each(self) -> None:
        for names in _EXCLUSIVE:
            found = [key for key in names if key in self._values]
            if len(found) > 1:
                raise StudyError(f"{' and '.join(found)} exclude one another: give one of them", found[-1])

    def _read(self, key: str) -> list[GivenInput]:
        given = self._values.get(key)
        if given is None:
            example = key == "platform" and all(_path_of(each) == _EXAMPLE for each in self._workloads())
            given = [_EXAMPLE] if key == "workload" or example else [None]
        return [self._input(key, each, _place(key, number, given)) for number, each in enumerate(given)]

    def _workloads(self) -> Sequence[Any]:
        return self._values.get("workload", [_EXAMPLE])

    def _input(self, key: str, given: Any, place: str) -> GivenInput:
        label, text = given, given
        options: dict[str, Any] = {}
        if isinstance(given, Mapping):
            known = [key, "name", *(_OPTIONS if key == "platform" else ())]
            if given.keys() - set(known):
                raise StudyError(f"a table has the keys {', '.join(known)}, got {shown(sorted(given))}", place)
            text = given[key]
            label = given.get("name", text)
            options = {name: _option(name, given[name], place) for name in _OPTIONS if name in given}
        if key in ELECTRICITY:
            return electric_input(key, label, text, self.folder, place)
        if not isinstance(text, str):
            return GivenInput(label, text, None, options)
        path, mark, query = text.partition("?") if key == "workload" else (text, "", "")
        if key == "workload" and _is_model(text):
            return GivenInput(label, text, None)
        examples = {"workload": EXAMPLE_WORKLOAD, "platform": EXAMPLE_PLATFORM}
        path = examples.get(key, path) if path == _EXAMPLE else os.path.join(self.folder, path)
        folder, own = os.path.split(path)
        names = [own, *traces_of(path)] if key == "workload" else [own]
        return GivenInput(label, own + mark + query, StudyFiles.read(folder, names), options)

    def _label(self) -> None:
        labels: dict[str, Sequence[Any]] = {key: self._values[key] for key in KEYS if key in self._values}
        for key, inputs in self._inputs.items():
            if key in labels:
                labels[key] = [each.label for each in inputs]
        labels.setdefault("workload", [each.label for each in self._inputs["workload"]])
        for key in KEYS:
            if key not in labels or key == "scheduler":
                continue
            _expect_once(key, labels[key])
            self.axes[key] = tuple(labels[key])
        _expect_once(
            "scheduler", [" ".join([each.name, *map(str, each.parameters.items())]) for each in self._schedulers]
        )
        self.axes["scheduler"] = tuple(dict.fromkeys(each.name for each in self._schedulers))
        for each in self._schedulers:
            for name, value in each.parameters.items():
                axis = _axis_of(name)
                if value not in self.axes.get(axis, ()):
                    self.axes[axis] = (*self.axes.get(axis, ()), value)

    def _expect_changes(self) -> None:
        """Check that each change of a workload is possible, and is given once."""
        for key in self._values:
            for workload in self._inputs["workload"] if KEYS[key].kind == "change" else ():
                if word_of(key) in words_of(workload) and key != "seed":
                    raise StudyError(
                        f"the workload {shown(workload.text)} has it in its name already: remove one of them", key
                    )
                if workload.files is None and key not in _OF_MODELS:
                    raise StudyError(
                        f"the workload {shown(workload.text)} is drawn from a model, and this key is for files only",
                        key,
                    )

    def _expect_chance(self) -> None:
        """Refuse several seeds if nothing is drawn at random: the runs would be equal."""
        if len(self.axes.get("seed", ())) < 2:
            return
        inits = self._values.get("init", [""])
        others = {"failures"} if "failure_seed" in self._values else set()
        if not any(
            set(drawn_of(self._values, workload, scheduler, init)) - others
            for workload in self._inputs["workload"]
            for scheduler in self._schedulers
            for init in inits
        ):
            raise StudyError(
                "nothing is drawn at random: use a workload such as lublin:256?jobs=1000, set weeks, "
                'estimate_factor or mtbf, or give the seed to the scheduler, with init = "{seed}" or as an argument',
                "seed",
            )

    def _expect_laws(self) -> None:
        """Refuse keys of drawn failures without failures."""
        for key in self._values:
            if KEYS[key].kind == "failures" and key != "mtbf" and "mtbf" not in self._values:
                raise StudyError('no failures are drawn: set mtbf, such as mtbf = "1mo"', key)

    def _expect_watts(self) -> None:
        without = any(each.files is None for each in self._inputs["platform"])
        energy = self._values.get("energy", [measures_energy(self._values)])
        if any(energy) and without and "watts" not in self._values:
            raise StudyError(
                "energy can only be measured on a platform whose file defines watts: name such a file, or set watts, "
                'such as watts = "idle=95,busy=250"',
                "platform",
            )
        if not all(energy) and any(key in self._values for key in ELECTRICITY):
            raise StudyError("carbon, price and cap are measured with the energy: remove energy = false", "energy")
        if "master" in self._values and without:
            raise StudyError("a platform without a file has its own master: name a platform file", "platform")

    def _expect_only(self) -> None:
        """Check that the values with which schedulers run are values of this study."""
        for each in self._schedulers:
            for axis, values in each.only.items():
                known = list(map(str, self.axes.get(axis, ())))
                missing = [value for value in values if str(value) not in known]
                if missing:
                    found = f"it has {', '.join(known)}" if known else f"there is no axis {shown(axis)}"
                    raise StudyError(f"{each.name} runs with {axis} {shown(missing[0])} only, but {found}", "scheduler")

    def _expect_policies(self) -> None:
        """Check that all schedulers can predict if the study has predicted estimates."""
        for each in self._schedulers if PREDICTED in self._values.get("estimates", ()) else ():
            if PREDICTED in map(str, each.only.get("estimates", (PREDICTED,))):
                if each.files is not None:
                    raise StudyError(f"{each.name} is not a policy, and policies alone can predict", "estimates")
                try:
                    named(predicting(each.target))
                except PolicyNameError as error:
                    raise StudyError(f"{each.name} cannot predict: {error}", "estimates") from None

    # The runs

    def count(self, only: Iterable[str] = ()) -> int:
        """The number of all runs, or of those with these values, computed without a list of them.

        Raises:
            StudyError: there is no such axis, or no such value on it.
        """
        only, schedulers = tuple(only), any(each.only for each in self._schedulers)
        if not only and not schedulers:
            return math.prod(map(len, self._all_values.values()))
        choices = self._choices(only)
        if not schedulers:
            return math.prod(map(len, choices.values()))
        return sum(math.prod(map(len, each.values())) for each in self._boxes(choices))

    def runs(
        self, only: Iterable[str] = (), *, batsim: Sequence[str] = (), in_process: bool = False
    ) -> tuple[list[Run], dict[str, StudyFiles]]:
        """All its runs, or some of them, and the files that they read, by their digests.

        Args:
            only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`: only the runs with these values.
            batsim: the command that simulates; by default, the embedded Batsim does.
            in_process: whether that command loads the scheduler into its own process.

        Raises:
            StudyError: no run is left, or there are too many to list.
            OSError: the command cannot be read.
        """
        only = tuple(only)
        files: dict[str, StudyFiles] = {}
        program = digest_of_program(batsim)
        count = self.count(only)
        if count > MOST_RUNS:
            raise StudyError(f"it has {count:,} runs, and {MOST_RUNS:,} is the maximum: use fewer values, or --only")
        found = list(self._all(only, files, tuple(batsim), program, in_process))
        if not found:
            raise StudyError(f"there is no run with {' '.join(only)}")
        return found, files

    @property
    def _all_values(self) -> dict[str, Sequence[Any]]:
        return {**self._values, **self._inputs, "scheduler": self._schedulers}

    def _choices(self, only: Iterable[str]) -> dict[str, Sequence[tuple[Any, Any]]]:
        """The labels and values that can be chosen for each key."""
        wanted = _wanted(only, self.axes)
        values = self._all_values
        found: dict[str, Sequence[tuple[Any, Any]]] = {}
        for key in KEYS:
            if key not in values:
                continue
            labels = [each.name for each in self._schedulers] if key == "scheduler" else self.axes.get(key, values[key])
            found[key] = [
                (label, value)
                for label, value in zip(labels, values[key], strict=True)
                if key not in wanted or str(label) in wanted[key]
            ]
        asked = {axis: texts for axis, texts in wanted.items() if axis not in KEYS}
        found["scheduler"] = [
            (label, each)
            for label, each in found["scheduler"]
            if all(str(_parameters(each).get(axis)) in texts for axis, texts in asked.items())
        ]
        return found

    def _boxes(
        self, choices: Mapping[str, Sequence[tuple[Any, Any]]]
    ) -> Iterator[Mapping[str, Sequence[tuple[Any, Any]]]]:
        """The choices for each scheduler, with the values with which it runs."""
        for label, scheduler in choices["scheduler"]:
            own = {
                key: [each for each in found if scheduler.runs_with_value(key, each[0])]
                for key, found in choices.items()
                if key != "scheduler"
            }
            yield {**own, "scheduler": [(label, scheduler)]}

    def _all(
        self, only: Iterable[str], files: dict[str, StudyFiles], batsim: tuple[str, ...], program: str, in_process: bool
    ) -> Iterator[Run]:
        def kept(found: StudyFiles | None) -> str:
            if found is None:
                return ""
            if id(found) not in known:
                known[id(found)] = found.digest
                files[found.digest] = found
            return known[id(found)]

        known: dict[int, str] = {}
        digests = {id(each): kept(each.files) for inputs in self._inputs.values() for each in inputs}
        for each in self._metric_files:
            kept(each)
        choices = self._choices(only)
        measures: dict[tuple[Any, ...], Measure] = {}
        for chosen_values in product(*choices.values()):
            value = {key: each for key, (_, each) in zip(choices, chosen_values, strict=True)}
            axes = {key: label for key, (label, _) in zip(choices, chosen_values, strict=True) if key in self.axes}
            workload, platform, events, failures = (value[key] for key in _FILES)
            scheduler: ChosenScheduler = value["scheduler"]
            if not all(scheduler.runs_with_value(key, label) for key, label in axes.items()):
                continue
            axes.update(_parameters(scheduler))
            scheduler = self._electric.scheduler(scheduler, value)
            seed = value.get("seed", 0)
            init = value.get("init", "")
            target = scheduler.target.replace(SEED, str(seed))
            task = Task(
                scheduler=predicting(target) if value.get("estimates") == PREDICTED else target,
                arguments={name: seed if each == SEED else each for name, each in scheduler.arguments.items()},
                source=kept(scheduler.files),
                workload=workload.text,
                workload_files=digests[id(workload)],
                changes=changes_of(value, workload),
                platform=platform.text,
                platform_files=digests[id(platform)],
                master=platform.options.get("master", value.get("master", "")),
                mmax=platform.options.get("mmax", value.get("mmax", 0)),
                roles=platform.options.get("roles", {}),
                events=events.text or "",
                events_files=digests[id(events)],
                failures=failures.text or "",
                failures_files=digests[id(failures)],
                drawn_failures=laws_of(value, seed),
                init=init.replace(SEED, str(seed)),
                energy=measures_energy(value),
                watts=value.get("watts", ""),
                corrected=value.get("corrected", False),
                rules=value.get("rules", ""),
                batsim=batsim,
                batsim_files=program,
                in_process=in_process,
            )
            settings = {key: value[key] for key in value if KEYS[key].kind == "metrics"}
            settings.update(counted_of(task))
            traces = traces_of_run(value)
            measure = measures.setdefault((*settings.items(), traces), Measure(settings, self._metrics, traces))
            yield Run.of(axes, task, measure, drawn_of(value, workload, scheduler, init), workload.files is None)


def read_description(path: str | os.PathLike[str]) -> Description:
    """The description in a TOML file. The files that it names are in the folder of that file.

    Raises:
        StudyError: it cannot be read, or is not valid.
        OSError: a file cannot be read.
    """
    name = os.fspath(path)
    with naming(name), open(name, "rb") as file:
        data = file.read()
    try:
        keys = msgspec.toml.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # a number can have too many digits
        raise StudyError(f"it is not TOML: {error}", file=name) from None
    keys.setdefault("name", os.path.splitext(os.path.basename(name))[0])
    return Description(keys, os.path.dirname(name), name)


def _place(key: str, number: int, given: Any) -> str:
    return f"{key}[{number}]" if isinstance(given, list | tuple) and len(given) > 1 else key


def _expect_once(key: str, labels: Iterable[Any]) -> None:
    """Check that the values of an axis have different names."""
    if isinstance(labels, range):
        return
    seen: set[str] = set()
    for label in labels:
        if str(label) in seen:
            hint = "; give one of them a name" if key in _NAMED else "; remove one of them"
            raise StudyError(f"{shown(label)} is named twice{hint}", key)
        seen.add(str(label))


def _axis_of(parameter: str) -> str:
    """The axis of an argument of schedulers. Its name differs from the argument if that has the name of a key."""
    return f"scheduler.{parameter}" if parameter in KEYS or parameter in _SETTINGS else parameter


def _parameters(scheduler: ChosenScheduler) -> dict[str, Any]:
    """The values of a scheduler on the axes of its arguments."""
    return {_axis_of(name): value for name, value in scheduler.parameters.items()}


def _option(name: str, value: Any, place: str) -> Any:
    """An option of a platform."""
    if name == "roles":
        if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
            raise StudyError(f"expected a table of hosts and their roles, got {shown(value)}", f"{place}.roles")
        return dict(value)
    if not KEYS[name].check(value):
        raise StudyError(f"expected {KEYS[name].expected}, got {shown(value)}", f"{place}.{name}")
    return value


def _path_of(workload: Any) -> str:
    text = workload.get("workload") if isinstance(workload, Mapping) else workload
    return str(text).partition("?")[0]


def _is_model(workload: Any) -> bool:
    """Whether a workload is drawn from a model, by its name."""
    name = workload.get("workload") if isinstance(workload, Mapping) else workload
    return isinstance(name, str) and name.startswith("lublin:")


def _wanted(only: Iterable[str], axes: Mapping[str, Sequence[Any]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in only:
        axis, equals, text = each.partition("=")
        axis = next((new for new in OLD_KEYS.get(axis, ()) if new in axes), axis)
        if not equals or axis not in axes:
            raise StudyError(f"expected AXIS=VALUE with one of the axes {', '.join(axes)}, got {shown(each)}")
        known = {str(value) for value in axes[axis]}
        values = {text} if text in known else set(text.split(","))
        try:
            expect_one_axis(axes, axis, values)
        except InputError as error:
            raise StudyError(error.reason) from None
        if not values <= known:
            missing = min(values - known)
            raise StudyError(f"{axis} has no value {shown(missing)}; it has {', '.join(map(str, axes[axis]))}")
        found.setdefault(axis, set()).update(values)
    return found
