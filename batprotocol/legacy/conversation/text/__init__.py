"""The rules of conversations in text: how the Batsims of 2015 to 2017 read a scheduler, and where they abort."""
