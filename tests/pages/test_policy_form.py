import pytest

from memadmin.pages.policy_form import PolicyForm
from tests.pages.test_policies import FORM

WRONG = {
    "sessions_days": "9" * 24,
    "ttl_days": "0",
    "max_records": "1e9",
    "history_count": "٣٠",
    "long_term_count": "-1",
    "recency": "<b>1</b>",
    "half_life_days": "",
}


def form_of(**given):
    ticks = {f"{name}_none": "" for name in given}
    return PolicyForm({**FORM, **ticks, **given})


def test_all_that_is_wrong_is_told_at_once_and_each_beside_its_field():
    form = form_of(**WRONG)

    assert set(form.errors) == set(WRONG)
    assert [name for name, messages in form.errors.items() if len(messages) != 1] == []
    assert form.policy is None


@pytest.mark.parametrize("name", sorted(set(WRONG) | {"importance", "max_tokens", "sessions_count"}))
@pytest.mark.parametrize("value", ["9" * 24, "x" * 5_000])
def test_a_text_that_is_too_long_is_refused_by_the_name_of_its_field(name, value):
    (message,) = form_of(**{name: value}).errors[name]

    label = form_of().fields[name].label
    assert message.startswith(f"“{label}")
    assert f"got {len(value)}" in message
    assert value not in message


def test_weights_that_do_not_make_one_are_told_beside_other_faults():
    form = form_of(recency="0.9", max_records="0")

    assert set(form.errors) == {"importance", "max_records"}
    assert "make 1.5 together" in form.errors["importance"][0]


def test_what_is_right_gives_a_policy():
    form = form_of()

    assert (form.is_valid(), form.policy is None) == (True, False)
