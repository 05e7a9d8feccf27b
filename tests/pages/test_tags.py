from datetime import timedelta
from uuid import uuid4

import pytest
from django import forms
from django.template import Context, Template
from django.test import RequestFactory

from memadmin.access.models import Person
from memadmin.pages.templatetags import memadmin as tags
from memadmin.store.models import Subject
from tests.factories import NOON

EVIL = "<script>alert(1)</script>\"'&{{ x }}"


def render(source: str, **context: object) -> str:
    return Template(source).render(Context({"now": NOON, **context})).strip()


@pytest.mark.parametrize(
    "source",
    [
        "{{ x|excerpt }}",
        "{{ x|visible }}",
        "{{ x|isolate }}",
        "{{ x|short_id }}",
        "{{ x|strategy }}",
        "{{ x|changed_text }}",
        "{% badge x %}",
        "{% badge 'a' title=x %}",
        "{% uid x x %}",
        "{% empty 'nothing' x x x x %}",
        "{% score None x %}{% score 0.5 x %}",
        "{% ago None x %}",
        "{% exact_time None x %}",
        "{% word 'pin' x %}",
    ],
)
def test_every_tag_escapes(source):
    shown = render(source, x=EVIL)

    assert "<script" not in shown
    assert "\"'" not in shown


def test_a_number_is_grouped_and_a_failed_count_is_not_zero():
    assert render("{{ a|grouped }} {{ b|grouped }} {{ c|grouped }}", a=1312, b=0, c=None) == "1,312 0 unknown"


def test_a_score_is_a_number_with_a_bar():
    shown = render("{% score 0.618 %}")

    assert '<span class="score-number">62</span>' in shown
    assert 'class="score-fill" width="61.8"' in shown


@pytest.mark.parametrize(("value", "points"), [(-1, "0"), (0, "0"), (1_000_000, "100"), (2_000_000, "100"), (None, "unknown")])
def test_a_score_stays_between_0_and_100(value, points):
    assert f">{points}<" in render("{% score value most=1000000 %}", value=value)


def test_a_time_says_when_exactly():
    shown = render("{% ago at %}", at=NOON - timedelta(hours=3))

    assert shown == '<time datetime="2026-03-01T09:00:00+00:00" title="2026-03-01 09:00:00 UTC">3 hours ago</time>'


def test_no_time_is_called_unknown():
    assert "unknown" in render("{% ago None %}")


def test_isolated_text_may_run_in_its_own_direction():
    assert render("{{ x|isolate }}", x="שלום") == '<bdi dir="auto" class="user-text">שלום</bdi>'


def test_an_id_is_shortened_for_the_eye_and_copied_whole():
    shown = render("{% uid x 'memory id' %}", x="6f1c2d3e-0000-4000-8000-000000000001")

    assert ">6f1c2d3e…<" in shown
    assert 'data-copy="6f1c2d3e-0000-4000-8000-000000000001"' in shown
    assert 'aria-label="Copy memory id 6f1c2d3e-0000-4000-8000-000000000001"' in shown


@pytest.mark.parametrize(
    ("tag", "address"),
    [
        ("{% address page=3 %}", "/users/?q=a%26b&amp;page=3"),
        ("{% address q=None page='' %}", "/users/"),
        ("{% address q='x y' %}", "/users/?q=x+y&amp;page=2"),
    ],
)
def test_an_address_changes_one_parameter_and_keeps_the_others(tag, address):
    request = RequestFactory().get("/users/?q=a%26b&page=2")

    assert render(tag, request=request) == address


def test_a_link_leaves_out_empty_parameters():
    assert render("{% link 'pages:help' q='a b' state='' %}") == "/help/?q=a+b"


def test_the_address_of_a_row_is_the_one_that_url_gives():
    uid = uuid4()

    assert render("{% page_of 'pages:memory-pin' uid %}", uid=uid) == render("{% url 'pages:memory-pin' uid %}", uid=uid)


def test_a_word_leads_to_its_explanation():
    assert 'href="/help/#half-life"' in render("{% word 'Half-life' %}")


def test_a_word_that_nobody_explains_fails_where_it_is_written():
    with pytest.raises(KeyError):
        render("{% word 'activation' %}")


def test_a_tag_asks_for_rights_as_views_do():
    sam = Person(login="sam", roles=["support"])

    assert render("{% if who|may:'memory.pin' %}yes{% else %}no{% endif %}", who=sam) == "yes"
    assert render("{% if who|may:'policy.edit' %}yes{% else %}no{% endif %}", who=sam) == "no"
    assert render("{% if who|may:'policy.edit' %}yes{% else %}no{% endif %}", who=None) == "no"


class DaysForm(forms.Form):
    days = forms.IntegerField(help_text="1 to 3650")
    keep = forms.BooleanField(label="Keep for ever", required=False)


def test_a_field_is_tied_to_its_label_help_and_errors():
    shown = render("{% field form.days %}", form=DaysForm({"days": "soon"}))

    assert '<label class="form-label required" for="id_days">Days</label>' in shown
    assert 'id="id_days_helptext"' in shown
    assert 'id="id_days_error"' in shown
    assert 'aria-describedby="id_days_helptext id_days_error"' in shown
    assert 'aria-invalid="true"' in shown


def test_a_checkbox_has_its_label_around_it():
    assert 'class="form-check-input" id="id_keep"><span class="form-check-label">Keep for ever</span></label>' in render(
        "{% field form.keep %}", form=DaysForm()
    )


@pytest.mark.parametrize(
    ("paging", "words"),
    [
        ({"first": 1, "last": 50, "total": 1312, "noun": "memories"}, "1\N{EN DASH}50 of 1,312 memories"),
        ({"first": 1, "last": 50, "total": 100000, "noun": "users", "capped": True}, "1\N{EN DASH}50 of more than 100,000 users"),
        ({"first": 0, "last": 0, "total": 0, "noun": "users"}, "0 users"),
    ],
)
def test_the_foot_of_a_list_tells_the_true_total(paging, words):
    assert words in render("{% include 'components/_paging.html' %}", paging=paging)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"memory": "Swift & Sons"}, "Swift &amp; Sons"),
        ("Swift & Sons", "Swift &amp; Sons"),
        ({"fact": "tea"}, "{&quot;fact&quot;: &quot;tea&quot;}"),
        ({"memory": None}, "{&quot;memory&quot;: null}"),
    ],
)
def test_what_history_keeps_is_shown_once_escaped(body, shown):
    assert render("{{ body|changed_text }}", body=body) == shown


def test_a_users_name_says_when_there_is_none():
    users = [Subject(user_id="ann"), Subject(user_id=""), Subject(user_id=None), None]

    assert [render("{{ user|user_name }}", user=user) for user in users] == ["ann", "(empty id)", "unattributed", "a user who has gone"]


def test_a_strategy_is_said_in_words():
    assert render("{{ name|strategy }}", name="USER_PREFERENCE") == "user preference"
    assert render("{{ name|strategy }}", name=None) == ""


def test_a_reason_behind_a_number_reads_as_of_many():
    assert (tags.reason("ttl"), tags.reason("ttl", 1)) == ("past its time to live",) * 2
    assert tags.reason("max_records", 2) == "with the lowest scores, beyond a user's cap of memories"
    assert tags.reason("age", 2) == "older than the retention rule keeps"
    assert tags.reason("of another system", 2) == "of another system"


def test_the_target_of_an_audit_entry_is_short_enough_for_a_column():
    assert tags.short_target("containers/f31d9d04-ba61-5a1d-afc6-e289d6622076") == "containers/f31d9d04…"
    assert tags.short_target("runs/2") == "runs/2"
    assert tags.short_target("settings/retention_enabled") == "settings/retention_enabled"
