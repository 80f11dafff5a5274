"""How gunicorn serves this project: ``gunicorn server.wsgi`` in this folder reads it by itself.

Options of the command line come first: ``--bind=0.0.0.0:8000 --workers=3``.
"""

from __future__ import annotations

import sys
from typing import Any

bind = "127.0.0.1:8000"
workers = 3
# Threads, since most of a request is waiting for the database and the disk.
threads = 4
worker_class = "server.web_worker.Worker"
timeout = 60
control_socket_disable = True


def on_starting(server: Any) -> None:
    """Refuse to start without what every worker needs; called once, before any is started."""
    from django.core.exceptions import ImproperlyConfigured

    from server import environment

    try:
        environment.check()
    except ImproperlyConfigured as error:
        sys.exit(f"gunicorn: {error}")


def post_worker_init(worker: Any) -> None:
    """Say what a database lacks that is there; one that is away is waited for, request by request."""
    from server.tables import missing_tables

    if worker.age == 1 and (missing := missing_tables()):
        worker.log.error(missing)
