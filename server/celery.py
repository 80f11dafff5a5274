"""The Celery application: ``celery -A server worker -Q audit``, ``celery -A server beat``.

Tasks live in the apps' ``tasks.py``; routes, broker and schedule in the settings. A message is only a hint that there
is work: what is due can always be read from the database.
"""

from __future__ import annotations

import logging
import logging.config
import os
import sys
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_init
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from server import broker, environment

logger = logging.getLogger(__name__)

broker.install()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
if sys.argv[0].endswith(("/celery", "/celery/__main__.py")):  # the program: whoever else imports this may need neither
    try:
        environment.check()
    except ImproperlyConfigured as error:
        raise SystemExit(f"celery: {error}") from None
app = Celery("tengen")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def configure_logging(**_: Any) -> None:
    """Log as the settings say; Celery's own set-up would hide what is below WARNING unless its -l says otherwise."""
    logging.config.dictConfig(settings.LOGGING)


def send_hint(task: str) -> bool:
    """Say that there is work for ``task``. Never fails: beat says the same from time to time; False = not sent."""
    try:
        app.send_task(task)
    except Exception as error:  # whatever the broker's transport raises
        logger.warning("no message for %s, the schedule will reach it: %s", task, error)
        return False
    return True


@worker_init.connect
def refuse_without_tables(**_: object) -> None:
    """End a worker whose every task would fail. One whose database is away waits for it."""
    from server.tables import missing_tables

    if missing := missing_tables():
        raise SystemExit(f"celery: {missing}")
