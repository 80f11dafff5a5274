"""The Celery application: ``celery -A server worker -Q audit``, ``celery -A server beat``.

Tasks live in the apps' ``tasks.py``; routes, broker and schedule in the settings. A message is only a hint that there
is work: what is due can always be read from the database.
"""

from __future__ import annotations

import logging
import logging.config
import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

from server import broker

logger = logging.getLogger(__name__)

broker.install()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
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


def make_broker_folders() -> None:
    """Make the folders of the file broker, which expects to find them; other brokers need nothing."""
    options = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {})
    for key in ("data_folder_in", "data_folder_out", "control_folder"):
        if key in options:
            Path(options[key]).mkdir(parents=True, exist_ok=True)


make_broker_folders()
