"""The default values of Slurm's policy are those that are known, and its values cannot be changed."""

from __future__ import annotations

import defaults

WITHOUT_ENGINE = True


def test_the_defaults_are_those_that_are_known() -> None:
    defaults.check("policies.slurm")
