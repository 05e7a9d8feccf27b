"""The addresses of search. They stand before those that take any word for a memory's id."""

from django.urls import path

from memadmin.api.opensearch import searches, similarity
from memadmin.api.opensearch.endpoints import route

BASE = "_plugins/_ml/memory_containers"

urlpatterns = [
    path(f"{BASE}/_search", route(GET=searches.search_containers, POST=searches.search_containers)),
    path(f"{BASE}/<str:cid>/memories/<str:name>/_search", route(GET=searches.search_memories, POST=searches.search_memories)),
    path(f"{BASE}/<str:cid>/memories/<str:name>/_delete_by_query", route(POST=searches.delete_by_query)),
    path(f"{BASE}/<str:cid>/memories/long-term/_semantic_search", route(GET=similarity.semantic_search, POST=similarity.semantic_search)),
    path(f"{BASE}/<str:cid>/memories/long-term/_hybrid_search", route(GET=similarity.hybrid_search, POST=similarity.hybrid_search)),
]
