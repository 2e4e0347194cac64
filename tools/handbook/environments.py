"""Tables of the environments of `batprotocol.gym`, and of the features of jobs."""

from __future__ import annotations

import inspect

from handbook.markdown import code, prose, table

__all__ = ["environments", "features"]


def environments(page: str, argument: str) -> str:
    """The environments: the actions of each, and their effects."""
    import gymnasium

    import batprotocol.gym  # registers them

    rows = []
    for name in sorted(name for name in gymnasium.registry if name.startswith("batprotocol/")):
        kind = getattr(batprotocol.gym, name.removeprefix("batprotocol/").partition("-")[0])
        said = inspect.cleandoc(kind.__doc__).partition("\n\nArgs:")[0]
        rows.append((code(name), prose(" ".join(said.split()))))
    return table(("environment", "what is decided"), rows) + "\n"


def features(page: str, argument: str) -> str:
    """The features of a waiting job in the observations of environments."""
    from batprotocol.gym import FEATURES

    return table(("feature", "meaning"), ((code(name), prose(each.sentence)) for name, each in FEATURES.items())) + "\n"
