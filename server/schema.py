"""What the OpenAPI description needs to know of our login. Imported by the tree of addresses, which serves it."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class BasicLogin(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself by being made
    """HTTP Basic."""

    target_class = "server.accounts.authentication.RememberingBasicAuthentication"
    name = "basicAuth"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """The scheme by OpenAPI's name."""
        return {"type": "http", "scheme": "basic"}


class TokenLogin(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself by being made
    """A token of our client."""

    target_class = "server.accounts.authentication.TokenAuthentication"
    name = "tokenAuth"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """The scheme by OpenAPI's name."""
        return {"type": "http", "scheme": "bearer"}
