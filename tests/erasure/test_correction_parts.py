"""Words that were corrected, inside longer texts: found as whole words, taken out or left by a person."""

import pytest

from memadmin.access.actors import actor_of
from memadmin.erasure import rectifying
from memadmin.erasure.models import Correction, WrongLeft
from memadmin.store.models import Session
from tests.erasure.test_answered import RIGHT, WRONG, checked, codes, corrected, entries
from tests.erasure.workflow import officer
from tests.factories import NOON, a_session, make_container, make_memory, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def container():
    return make_container()


def test_the_words_are_found_inside_longer_texts_as_whole_words_whatever_signs_part_them(container):
    memory = make_memory(container, WRONG)
    longer = make_memory(container, f"Ann, 41, {WRONG.title().replace(' the ', ' the, ')}; likes it")
    make_memory(container, f"{WRONG}ers market")  # another word
    make_memory(container, "the quokka farm works at night")  # another order
    store(container, a_session("s-1", summary=f"She {WRONG}. She likes tea."))

    request = corrected(memory)
    checked(request)

    assert set(WrongLeft.objects.values_list("location", "row_uid", "inside")) == {
        ("store.long_term", longer.uid, True),
        ("store.sessions", Session.objects.get().uid, True),
    }
    assert codes(request) == ["words_left"]


def test_a_text_that_differs_by_signs_alone_says_just_what_was_wrong(container):
    memory = make_memory(container, WRONG)
    make_memory(container, f"{WRONG} - {WRONG}")
    make_memory(container, WRONG.upper())

    checked(corrected(memory))

    assert sorted(WrongLeft.objects.values_list("inside", flat=True)) == [False, True]


def test_what_is_right_inside_a_longer_text_is_left_and_stays_so_at_the_next_look(container):
    memory = make_memory(container, WRONG)
    make_memory(container, f"no longer {WRONG}")
    twin = make_memory(container, WRONG)
    request = corrected(memory)
    checked(request)
    act = {"actor": actor_of(officer()), "now": NOON}

    rectifying.leave(request, WrongLeft.objects.get(inside=True), **act)
    with pytest.raises(rectifying.NotCorrected, match="just what was wrong"):
        rectifying.leave(request, WrongLeft.objects.get(inside=False), **act)
    rectifying.correct(request, twin, RIGHT, **act)
    checked(request)

    assert codes(request) == []
    assert sorted(entries(request, "erasure.words_left")) == [("ok", "store.long_term"), ("refused", "not_corrected")]


def test_where_what_is_right_has_the_wrong_words_too_longer_texts_are_not_accused(container):
    memory = make_memory(container, WRONG)
    make_memory(container, f"Ann {WRONG}")

    request = corrected(memory, text=f"{WRONG} no more")
    checked(request)

    assert codes(request) == []


def test_what_was_corrected_before_parts_were_looked_for_is_known_by_its_whole_text(container):
    memory = make_memory(container, WRONG)
    make_memory(container, f"Ann {WRONG}")
    twin = make_memory(container, WRONG)
    request = corrected(memory)
    Correction.objects.update(words=None, words_ref="")

    checked(request)

    assert WrongLeft.objects.get().row_uid == twin.uid
