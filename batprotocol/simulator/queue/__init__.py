"""The queue of future events, for which actors wait, with SimGrid's exact order and times."""
