"""A function that is never compiled: when it is called, the interpreter runs signal handlers, which may raise."""

__all__ = ["look"]


def look() -> None:
    """Do nothing, in the interpreter."""
