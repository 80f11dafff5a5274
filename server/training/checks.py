"""Are a run's training settings such as its trainer can read? Asked where they are saved.

The reader is `server.training.plan`, and with it torch, which no web process loads: there it runs in a process of its
own for the few seconds that it takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Final

from django.conf import settings

from server.errors import InvalidSettings
from server.runs.checks import SettingsCheck
from server.runs.models import Run
from server.training.architectures import architecture_fault
from server.training.sizes import trained_nets

TIMEOUT_S: Final = 45.0
"""Shorter than what a web server leaves a request."""
_PROGRAM: Final = "import django; django.setup(); from server.training.checks import main; main()"
_FIELDS: Final = ("name", "architecture", "next_architecture", "data_board_len", "training_settings")


def training_faults(run: Run) -> list[str]:
    """What is wrong with the training settings of ``run``, for each of its sizes; empty if nothing is."""
    if "torch" in sys.modules:
        return faults_here(run)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            input=json.dumps({name: getattr(run, name) for name in _FIELDS}),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
            cwd=settings.BASE_DIR,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "server.settings", "SECRET_KEY": settings.SECRET_KEY},
        )
    except (subprocess.SubprocessError, OSError) as error:
        return [f"the settings could not be checked ({type(error).__name__}); please try again"]
    faults: list[str] = json.loads(done.stdout)
    return faults


def faults_here(run: Run) -> list[str]:
    """The same in this process; loads torch."""
    from server.training.plan import plan_of

    faults: list[str] = []
    for net in trained_nets(run):
        try:
            plan_of(run, net.architecture)
        except InvalidSettings as error:
            faults.append(str(error))
    return list(dict.fromkeys(faults))


def _architecture_check(field: str) -> SettingsCheck:
    """That there is a net of the name in ``field``, if there is a name."""

    def faults(run: Run) -> list[str]:
        name = getattr(run, field)
        fault = architecture_fault(name) if name else ""
        return [fault] if fault else []

    return SettingsCheck(field, frozenset({field}), faults)


SETTINGS_CHECKS: Final = (
    _architecture_check("architecture"),
    _architecture_check("next_architecture"),
    SettingsCheck("training_settings", frozenset(_FIELDS) - {"name"}, training_faults, is_slow=True),
)
"""What `server.runs` asks on behalf of the trainers."""


def main() -> None:
    """Read a run's fields as JSON from the standard input and write the faults as JSON."""
    values: dict[str, Any] = json.load(sys.stdin)
    json.dump(faults_here(Run(**values)), sys.stdout)
