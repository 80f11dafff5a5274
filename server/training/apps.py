"""Registration of the app."""

from django.apps import AppConfig


class TrainingConfig(AppConfig):
    """Training of networks from counted games."""

    name = "server.training"
