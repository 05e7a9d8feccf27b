"""How long things may take. The order matters: step < stretch < django-q2's timeout (240 s) < lease < lost."""

from datetime import timedelta

STRETCH = timedelta(seconds=60)  # of work, then the job goes back into the queue, so that others get their turn
LEASE = timedelta(minutes=5)  # longer than the timeout: a worker that hangs is dead before another takes its job
LOST = timedelta(minutes=10)  # a queue entry taken this long ago by a worker that did not start the job died with its worker
CLOCKS_DIFFER = timedelta(minutes=1)  # at most, between the machines of one installation
FIRST_WAIT = timedelta(minutes=1)  # before the second attempt, four times longer before each further one
MAY_NOT_GO_ON = timedelta(seconds=10)  # before it is asked again whether a job that waits may: the next tick does
LONGEST_WAIT = timedelta(hours=1)
KEEP_DONE = timedelta(days=30)
KEEP_FAILED = timedelta(days=180)
