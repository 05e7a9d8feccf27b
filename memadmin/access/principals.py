"""Who is calling the API: what its token says, as at this request."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from memadmin.access.scopes import Scope
from memadmin.store.models import Container


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The bearer of a token. `name` is whose memories it writes and reads; with `all_access` it reads everybody's.

    `containers` are the keys of those that the token lists; None: it lists none, and the roles decide.
    """

    token: UUID
    name: str
    scopes: frozenset[str]
    containers: frozenset[int] | None = None
    backend_roles: frozenset[str] = frozenset()
    all_access: bool = False
    tenant: str | None = None
    tenancy: bool = False  # multi-tenancy is on: without a tenant nothing is there
    switched_on: bool = True  # the compatible API is

    @property
    def actor(self) -> str:
        """The name in the audit log."""
        return f"token/{self.token}"

    @property
    def sees_everything(self) -> bool:
        """True where no container and no writer is hidden from the bearer."""
        return self.reaches_all and not self.tenancy

    @property
    def reaches_all(self) -> bool:
        """True for a token of the whole installation: it names no container and, in this request, no tenant."""
        return self.all_access and self.containers is None and self.tenant is None

    def has(self, scope: Scope) -> bool:
        return scope in self.scopes


def may_use(principal: Principal, container: Container) -> bool:
    """Whether the container is the bearer's to use.

    One that the token lists is. Else the owner may, else whoever shares a backend role with the container, or with its owner
    where the container names none. Source: OpenSearch agentic memory, access control.
    """
    if not in_tenant(principal, container):
        return False
    if principal.containers is not None:
        return container.pk in principal.containers
    if principal.all_access:
        return True
    owner = container.owner if isinstance(container.owner, dict) else {}
    roles = container.backend_roles or owner.get("backend_roles") or []
    return owner.get("name") == principal.name or not principal.backend_roles.isdisjoint(roles)


def in_tenant(principal: Principal, container: Container) -> bool:
    if principal.tenancy:
        return principal.tenant is not None and container.tenant == principal.tenant
    return principal.tenant is None or container.tenant == principal.tenant


def owns(principal: Principal, container: Container) -> bool:
    """Whether the bearer may delete the container."""
    return principal.all_access or (isinstance(container.owner, dict) and container.owner.get("name") == principal.name)
