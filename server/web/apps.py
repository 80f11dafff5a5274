"""Registration of the app."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """The pages that people read."""

    name = "server.web"
