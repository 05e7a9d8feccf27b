"""Exports for the person whom a request is about: built out of the request's manifest, sealed, handed out by a link that works once.

starting    what must hold before one is made; calling one off
building    the job, in steps that survive a kill: chapter by chapter into sealed parts
handing     the code that opens it is made, shown once, and not kept
collecting  the person gives the code: the archive streams out, and that was it
ending      what expires, is called off, or is erased
"""
