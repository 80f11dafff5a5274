"""``python3 deploy/pin.py``: the digests of the images that ``compose.yaml`` names by tag, as lines of ``deploy/.env``.

A tag may be another image tomorrow; with its digest it is the same for ever. Asks the registry, by the API that all
have (OCI distribution specification), and follows where it sends for a token. Needs nothing but Python.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Final

COMPOSE: Final = Path(__file__).resolve().parent / "compose.yaml"
REGISTRY: Final = "https://registry-1.docker.io"
TIMEOUT_S: Final = 30.0
_IMAGE: Final = re.compile(r"\$\{(\w+_IMAGE):-([\w./-]+):([\w.-]+)\}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_MANIFESTS: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)


class PinError(RuntimeError):
    """A registry does not answer as it should; the text says what was asked."""


def images(compose: str) -> dict[str, tuple[str, str]]:
    """Name and tag of each image by the variable of ``deploy/.env`` that takes its place."""
    return {variable: (name, tag) for variable, name, tag in _IMAGE.findall(compose)}


def digest_of(name: str, tag: str, registry: str = REGISTRY) -> str:
    """The digest of an image, such as ``sha256:…``.

    Raises:
        PinError: the registry has no such image, or says something else.
        OSError: it is not reached.
    """
    repository = name if "/" in name else f"library/{name}"
    address = f"{registry}/v2/{repository}/manifests/{tag}"
    try:
        headers = _head(address, {})
    except urllib.error.HTTPError as error:
        if error.code != 401:
            raise PinError(f"{address}: {error}") from None
        token = _token(error.headers.get("WWW-Authenticate", ""), repository)
        try:
            headers = _head(address, {"Authorization": f"Bearer {token}"})
        except urllib.error.HTTPError as second:
            raise PinError(f"{address}: {second}") from None
    found = _DIGEST.fullmatch(headers.get("Docker-Content-Digest", ""))
    if found is None:
        raise PinError(f"{address}: no digest in the answer")
    return found[0]


def _head(address: str, headers: dict[str, str]) -> dict[str, str]:
    request = urllib.request.Request(address, method="HEAD", headers={"Accept": _MANIFESTS} | headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return dict(answer.headers)


def _token(challenge: str, repository: str) -> str:
    """A token for reading, from where the registry sends for it."""
    told = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if "realm" not in told:
        raise PinError(f"the registry wants a login of another kind: {challenge!r}")
    asked = {"service": told.get("service", ""), "scope": f"repository:{repository}:pull"}
    with urllib.request.urlopen(f"{told['realm']}?{urllib.parse.urlencode(asked)}", timeout=TIMEOUT_S) as answer:
        found = json.load(answer)
    return str(found.get("token") or found.get("access_token") or "")


def main() -> int:
    """Print the lines; returns the exit code."""
    try:
        for variable, (name, tag) in images(COMPOSE.read_text()).items():
            print(f"{variable}={name}:{tag}@{digest_of(name, tag)}")
    except (PinError, OSError, ValueError) as error:
        print(f"the images cannot be pinned: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
