"""The product's settings with retention runs that take their time, so that their worker can be killed in the middle."""

from memadmin.settings import *  # noqa: F403
from memadmin.settings import INSTALLED_APPS, Q_CLUSTER

INSTALLED_APPS = [*INSTALLED_APPS, "tests.lifecycle.slow_batches.apps.SlowBatchesConfig"]
Q_CLUSTER = {**Q_CLUSTER, "poll": 0.1, "guard_cycle": 0.2}
