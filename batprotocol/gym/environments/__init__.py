"""The environments: each says what is decided, in a few lines on `Environment`."""

from batprotocol.gym.environments.batch import Batch, Policies

__all__ = ["Batch", "Policies"]
