"""What a client of OpenSearch asks first: who answers, in which version."""

from __future__ import annotations

from typing import Any

from memadmin.access.scopes import Scope
from memadmin.api.opensearch.endpoints import Call, endpoint

VERSION = "3.8.0"  # of the agentic memory API that is answered here


@endpoint(Scope.CONTAINER_READ)
def get_info(call: Call) -> dict[str, Any]:
    return {
        "name": "memadmin",
        "cluster_name": "memadmin",
        "cluster_uuid": "memadmin",
        "version": {
            "distribution": "opensearch",
            "number": VERSION,
            "build_type": "memadmin",
            "build_snapshot": False,
            "minimum_wire_compatibility_version": "2.19.0",
            "minimum_index_compatibility_version": "2.0.0",
        },
        "tagline": "memadmin answers the agentic memory API of OpenSearch",
    }
