"""Below a path of a proxy that strips it: a process of its own, since settings are read once."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from server.wsgi import application
from django.templatetags.static import static
from django.test import Client
print(static("web/site.css"))
print(Client().get("/static/web/site.css").status_code)
"""


def test_static_files_are_named_below_the_path_and_served_without_it() -> None:
    environment = os.environ | {"BASE_PATH": "/go/", "ALLOWED_HOSTS": "testserver"}
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.stdout.split() == ["/go/static/web/site.css", "200"], result.stderr
