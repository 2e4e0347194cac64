"""What is read: `sources` makes bytes of arguments (files, folders, standard input), `archives` of what holds many;
`texts` are read as they are."""
