"""Registration of the app."""

from django.apps import AppConfig


class RatingsConfig(AppConfig):
    """Strengths of networks."""

    name = "server.ratings"
