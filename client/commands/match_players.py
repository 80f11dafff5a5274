"""Who plays in a match: options of the command and keys of the text together."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from client.commands.local import config_of, explained
from client.games.kinds import MATCH
from client.matches.schedule import Schedule, schedule_of
from client.networks import Network, network_of
from common import config_text
from common.config_text import ConfigError
from common.parameters import BotParameters, PairingParameters, base_text, completed, parse_bots
from common.text_files import read_text


@dataclass(frozen=True)
class Entrants:
    """The players of a match, and how they meet."""

    text: str  # the whole configuration
    networks: tuple[Network, ...]  # of the first players
    names: tuple[str, ...]  # of all players
    schedule: Schedule

    @property
    def count(self) -> int:
        """How many players."""
        return len(self.names)


def entrants_of(options: argparse.Namespace) -> Entrants:
    """The players that options and text give.

    As many as ``numBots`` says if that is more than one, else as many as networks are given, and a program.

    Raises:
        ConfigError, OSError, TextError, ValueError: what does not go together.
    """
    given: Path | None = options.config
    overrides = ",".join(options.override)
    with explained(given or Path(f"{MATCH.text}.cfg")):
        at_least = len(options.models) + bool(options.program)
        pairing, bots = parse_bots(read_text(given) if given else "", overrides=overrides, least=max(2, at_least))
    models = _models(options, pairing, bots)
    count = len(models) + bool(options.program)
    networks = tuple(network_of(model) for model in models)
    if options.against_first:
        pairing = replace(pairing, secondary_bots=(*pairing.secondary_bots, *range(1, count)))
    text = config_of(given, MATCH.text, num_bots=count) if given else base_text(MATCH.text)
    return Entrants(
        text=_overridden(text, overrides, count),
        networks=networks,
        names=_names(options, networks, bots),
        schedule=schedule_of(pairing, count),
    )


def _overridden(text: str, overrides: str, count: int) -> str:
    """The text with the values of ``--override`` over it, which take the place of what may not stand beside them."""
    values = {key: entry.value for key, entry in config_text.parse_overrides(overrides).items()}
    try:
        return completed(MATCH.text, config_text.write(values), text, num_bots=count)[0]
    except ConfigError as error:
        raise ConfigError(f"--override: {error}") from error


def _models(options: argparse.Namespace, pairing: PairingParameters, bots: tuple[BotParameters, ...]) -> list[str]:
    """What ``--models`` would say for every network that plays."""
    programs = int(bool(options.program))
    of_text = bots[: len(bots) - programs]
    models: list[str] = options.models or [bot.model for bot in of_text if bot.model is not None]
    count = pairing.num_bots
    if count > 1:
        if len(models) == 1:
            models = models * (count - programs)
        if len(models) + programs != count:
            raise ValueError(
                f"numBots = {count}, but there are {len(models)} networks{' and a program' if programs else ''}: give"
                " one for each bot, or one for all, by --models or nnModelFile0, nnModelFile1, …"
            )
    if len(models) + programs < 2 or not models:
        raise ValueError("give two networks by --models, or one with --program")
    return models


def _names(
    options: argparse.Namespace, networks: tuple[Network, ...], bots: tuple[BotParameters, ...]
) -> tuple[str, ...]:
    """Of all players, each its own."""
    count = len(networks) + bool(options.program)
    if options.names:
        if len(set(options.names)) != count or len(options.names) != count:
            raise ValueError(f"--names takes {count} different names, one for each player")
        return tuple(options.names)
    names = [network.name for network in networks]
    names += [Path(options.program.split()[0]).name] if options.program else []
    names = [bot.name or name for bot, name in zip(bots, names, strict=False)]
    shared = {name for name in names if names.count(name) > 1}
    return tuple(f"{name}-{_letter(number)}" if name in shared else name for number, name in enumerate(names))


def _letter(number: int) -> str:
    """A, B, … Z, and numbers beyond."""
    return chr(ord("A") + number) if number < 26 else str(number)
