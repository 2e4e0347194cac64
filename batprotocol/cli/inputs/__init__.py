"""Inputs of commands: `sources` reads bytes from arguments (files, folders, standard input), `archives` reads archives
with many of them, and `texts` reads text files."""
