"""What is never compiled: the interpreter runs the handlers of signals, which may raise, when this is called."""

__all__ = ["look"]


def look() -> None:
    """Do nothing, in the interpreter."""
