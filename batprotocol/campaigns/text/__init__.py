"""What CiGri's commands print, as functions of values.

`gridstat`, `gridevents` and `answers` are CiGri 3's, `gridstat2` is CiGri 2's; `times` has the ways to write times and
numbers. None ends its text with a newline.
"""
