"""The default values of the package are those that are known."""

from __future__ import annotations

import defaults

WITHOUT_ENGINE = True


def test_the_defaults_are_those_that_are_known() -> None:
    defaults.check("legacy")
