import pytest

from memadmin.jobs import registry
from memadmin.jobs.cron import InvalidCron
from memadmin.jobs.registry import KindTaken, Step, UnknownKind, handler_of


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch):
    monkeypatch.setattr(registry, "HANDLERS", {})
    monkeypatch.setattr(registry, "CRONS", {})


def test_a_step_function_is_registered_with_its_kind_and_times():
    @registry.scheduled("tidy", default_cron="0 3 * * *")
    @registry.job("tidy", max_attempts=2)
    def tidy(job, *, now) -> Step:
        return Step(True)

    assert (handler_of("tidy").step, handler_of("tidy").max_attempts, registry.CRONS) == (tidy, 2, {"tidy": "0 3 * * *"})


def test_two_step_functions_of_one_kind_are_refused():
    registry.job("tidy")(lambda job, *, now: Step(True))

    with pytest.raises(KindTaken):
        registry.job("tidy")(lambda job, *, now: Step(True))


def test_wrong_default_times_stop_the_start():
    with pytest.raises(InvalidCron):
        registry.schedule("tidy", "at night")


def test_a_kind_that_nobody_registered_is_unknown():
    with pytest.raises(UnknownKind):
        handler_of("tidy")
