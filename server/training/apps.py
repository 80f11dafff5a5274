"""Registration of the app."""

from django.apps import AppConfig


class TrainingConfig(AppConfig):
    """Training of networks from counted games."""

    name = "server.training"

    def ready(self) -> None:
        """Declare what trainers demand of a run's settings."""
        from server.runs.checks import CHECKS
        from server.training.checks import SETTINGS_CHECKS

        CHECKS.extend(SETTINGS_CHECKS)
