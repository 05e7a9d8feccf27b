import pytest

from memadmin.store import dropping, suppression
from memadmin.store.models import Mode, Returned, Subject
from memadmin.store.suppression import Terms
from tests.factories import ACTOR, NOON, a_memory, days, make_container, store

pytestmark = pytest.mark.django_db
REQUEST = "erasure/7f0c"


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    settings.SUPPRESSION_KEYS = str(tmp_path / "keys.json")


def set_aside_user(container):
    terms = Terms(mode=Mode.QUARANTINE)
    suppression.suppress_users(["ann"], container=container, terms=terms, request_ref=REQUEST, actor=ACTOR, now=NOON)


def test_what_nobody_decides_on_is_dropped():
    container = make_container()
    set_aside_user(container)
    store(container, a_memory())

    assert dropping.drop_expired(actor="job/tidy", now=NOON + days(6)) == 0
    assert dropping.drop_expired(actor="job/tidy", now=NOON + days(8)) == 1
    assert not Returned.objects.exists()


def test_with_the_last_of_what_was_set_aside_goes_the_id_that_was_erased():
    container = make_container()
    set_aside_user(container)
    store(container, a_memory("one"), a_memory("two"), a_memory("other", user_id="bob"))
    first, second = Returned.objects.order_by("pk")

    dropping.drop([first], actor=ACTOR, now=NOON)
    assert set(Subject.objects.values_list("user_id", flat=True)) == {"ann", "bob"}
    dropping.drop([second], actor=ACTOR, now=NOON)

    assert list(Subject.objects.values_list("user_id", flat=True)) == ["bob"]


def test_a_user_whose_text_alone_was_set_aside_stays_when_it_is_dropped():
    container = make_container()
    terms = Terms(mode=Mode.QUARANTINE)
    suppression.suppress_texts(["likes tea"], container=container, terms=terms, request_ref=REQUEST, actor=ACTOR, now=NOON)
    store(container, a_memory("likes tea", user_id="bob"))

    dropping.drop(list(Returned.objects.all()), actor=ACTOR, now=NOON)

    assert Subject.objects.get().user_id == "bob"
