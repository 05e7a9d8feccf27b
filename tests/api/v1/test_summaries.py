import pytest

from memadmin.audit.models import AuditEntry
from memadmin.store.models import Container, Subject
from tests.api.v1.calls import caller_of, problem, said
from tests.factories import make_container
from tests.runs import preview
from tests.summaries import a_container, fill

pytestmark = pytest.mark.django_db
SWITCH = "/containers/c1/summarising"


@pytest.fixture
def api():
    return caller_of("ana", all_access=True)


def test_summarising_is_switched_on_and_off_and_the_container_says_so(api):
    make_container(external_id="c1", owner={"name": "ana"})

    on = said(api.call("PUT", SWITCH, {"summarise_from": 4}))
    shown = said(api.get("/containers/c1"))
    off = said(api.call("PUT", SWITCH, {"summarise_from": None}))

    assert (on["summarise_from"], shown["summarise_from"], off["summarise_from"]) == (4, 4, None)
    assert AuditEntry.objects.filter(action="container.changed").count() == 2


@pytest.mark.parametrize("wrong", [1, 13, "many", True])
def test_a_cluster_of_no_size_is_refused_with_its_field(api, wrong):
    make_container(external_id="c1", owner={"name": "ana"})

    assert problem(api.call("PUT", SWITCH, {"summarise_from": wrong}))[::2] == (400, "summarise_from")
    assert Container.objects.get().summarise_from is None


def test_the_clusters_of_a_preview_are_listed_with_their_places_among_its_victims(api, settings):
    settings.LLM_URL = "http://127.0.0.1:9"
    container = a_container(external_id="c1", owner={"name": "ana"})
    fill(container)
    run = preview(container)

    [cluster] = said(api.get(f"/runs/{run.number}/clusters"))["items"]
    victims = said(api.get(f"/runs/{run.number}/victims"))["items"]

    assert (cluster["number"], cluster["state"], cluster["summary_uid"]) == (1, "planned", None)
    assert (cluster["first"], cluster["last"], len(victims)) == (1, 3, cluster["room"])
    assert cluster["user_uid"] == str(Subject.objects.get(user_id="ann").uid)
