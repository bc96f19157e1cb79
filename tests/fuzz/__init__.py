"""Random inputs for everything that comes from outside: a sentence that refuses it, or a sound
result; never a traceback, a hang or a wrong figure that nobody notices.

The suite tries few inputs, the same ones each time; `make fuzz MINUTES=10` tries new ones as long.
"""
