"""The default values of the managers of campaigns are those that are known, and their values cannot be changed."""

from __future__ import annotations

import defaults

WITHOUT_ENGINE = True


def test_the_defaults_are_those_that_are_known() -> None:
    defaults.check("campaigns.managers")
