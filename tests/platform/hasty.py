"""Our web server's worker, in a hurry."""

from memadmin.management.web_worker import Worker


class Hasty(Worker):
    patience = 1
