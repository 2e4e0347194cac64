"""The machine: hosts with their power states and energy, links, and how what runs on them shares them."""
