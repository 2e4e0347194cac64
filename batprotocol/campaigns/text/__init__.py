"""What CiGri's commands print, out of values."""
