"""The addresses of the compatible API, as in OpenSearch. Fixed words stand before the ids that could be taken for them."""

from django.urls import include, path

from memadmin.api.opensearch import cluster_settings, containers, elsewhere, memories, retention
from memadmin.api.opensearch.endpoints import route

BASE = "_plugins/_ml/memory_containers"

urlpatterns = [
    path("", include("memadmin.api.opensearch.search_urls")),
    path("_cluster/settings", route(GET=cluster_settings.get_settings, PUT=cluster_settings.put_settings)),
    path(f"{BASE}/_retention/_dry_run", route(POST=retention.dry_run_all)),
    path(f"{BASE}/_retention/_execute", route(POST=retention.execute)),
    path(f"{BASE}/<str:cid>/_retention/_dry_run", route(POST=retention.dry_run)),
    path(f"{BASE}/_create", route(POST=containers.create_container)),
    path(f"{BASE}/<str:cid>/memories/sessions", route(POST=memories.create_session)),
    path(f"{BASE}/<str:cid>/memories/long-term", route(POST=memories.add_memory)),
    path(f"{BASE}/<str:cid>/memories", route(POST=memories.add_working)),
    path(
        f"{BASE}/<str:cid>/memories/<str:name>/<path:mid>",
        route(GET=memories.get_memory, PUT=memories.update_memory, DELETE=memories.delete_memory),
    ),
    path(
        f"{BASE}/<str:cid>",
        route(GET=containers.get_container, PUT=containers.update_container, DELETE=containers.delete_container),
    ),
    path("_<path:rest>", route(**dict.fromkeys(("GET", "POST", "PUT", "DELETE"), elsewhere.no_handler))),
]
