"""The output of CiGri's commands, as functions of values.

`gridstat`, `gridevents` and `answers` are CiGri 3's, `gridstat2` is CiGri 2's. `times` formats times and numbers. No
text ends with a newline.
"""
