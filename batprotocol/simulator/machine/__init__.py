"""The machine: hosts and links with their states, the work of profiles on them, and the queue of future events."""
