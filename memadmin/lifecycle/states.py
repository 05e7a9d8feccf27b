"""The one error that every move of a run may end in."""


class WrongState(Exception):
    """The run is not in a state that allows this; the message says in which it is."""
