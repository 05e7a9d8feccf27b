"""The product's settings with the bare view beside its addresses, to be measured against. Never used to serve anybody."""

from memadmin.settings import *  # noqa: F403

ROOT_URLCONF = "bench.bare"
