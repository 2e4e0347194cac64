"""The queue of future events: what actors wait for, exactly as in SimGrid or fast."""
