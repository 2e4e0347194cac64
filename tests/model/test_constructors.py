"""Constructors of values: which fields they take by position, and errors that name the class and the field."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import model

WITHOUT_ENGINE = True

VALUES = [
    kind
    for name in model.__all__
    if inspect.isclass(kind := getattr(model, name)) and issubclass(kind, model.Value) and kind is not model.Value
]
EVENTS = model.BATSIM_TO_EDC + model.EDC_TO_BATSIM


def test_all_values_are_looked_at() -> None:
    assert len(VALUES) > 70
    assert set(EVENTS) <= set(VALUES)


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_what_is_only_by_keyword(kind: Any) -> None:
    """The rule of the page of values: events, required fields behind optional ones, nothing but flags."""
    fields = msgspec.structs.fields(kind)
    required = [each.required for each in fields]
    behind_optional = sorted(required, reverse=True) != required
    only_flags = len(fields) > 0 and all(each.type is bool for each in fields)
    is_by_keyword = kind in EVENTS or behind_optional or only_flags
    assert kind.__match_args__ == (() if is_by_keyword else kind.__struct_fields__)


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_an_error_names_the_class_and_the_field(kind: Any) -> None:
    fields = msgspec.structs.fields(kind)
    required = [each.name for each in fields if each.required]
    if required:
        with pytest.raises(TypeError, match=f"^{kind.__name__} needs {' and '.join(required)}$"):
            kind()
    whole = dict.fromkeys(required, "")
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no field 'other'$"):
        kind(**whole, other=1)
    if fields:
        misspelt = fields[0].name + "s"
        near = re.escape(f"{kind.__name__} has no field {misspelt!r}; did you mean {fields[0].name!r}?")
        with pytest.raises(TypeError, match=f"^{near}$"):
            kind(**{misspelt: 1})
    with pytest.raises(TypeError, match=f"^{kind.__name__} (takes .*, got|has no fields, got) {len(fields) + 1} by"):
        kind(*range(len(fields) + 1))


def test_errors_of_the_page() -> None:
    for make, reason in (
        (lambda: model.SequentialCompositionProfile(["p"], 3), "takes repetition_count, profile_ids only by keyword"),  # type: ignore[call-arg, misc]
        (lambda: model.Host(id=0, name="n"), "Host needs computation_speed"),  # type: ignore[call-arg]
        (lambda: model.OneShot(1, time=2), "OneShot: .*'time'"),  # type: ignore[misc, call-arg]
    ):
        with pytest.raises(TypeError, match=reason):
            make()


@given(st.sampled_from([kind for kind in VALUES if not any(each.required for each in msgspec.structs.fields(kind))]))
def test_values_are_copied_and_pickled(kind: Any) -> None:
    value = kind()
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
