"""The product's settings with one more app: a job that takes its time, so that its worker can be killed in the middle."""

from memadmin.settings import *  # noqa: F403
from memadmin.settings import INSTALLED_APPS, Q_CLUSTER

INSTALLED_APPS = [*INSTALLED_APPS, "tests.jobs.killable.apps.KillableConfig"]
Q_CLUSTER = {**Q_CLUSTER, "poll": 0.1, "guard_cycle": 0.2}
