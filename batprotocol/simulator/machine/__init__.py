"""The machine: hosts with their power states and energy, links, and the demands of tasks and messages."""
