"""Steps of long loops: they let signals reach compiled code, and give other threads their turn.

The interpreter does both between any two of its own steps, but code that mypyc has compiled runs without the
interpreter. So each loop that an input can make long counts its steps here (`counting`, which is compiled, too). After
a number of steps, it calls an interpreted function that does nothing (`looking`). This package must not know the
meaning of the steps.
"""
