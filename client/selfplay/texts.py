"""The configuration of a run of self-play, put together of texts by name, files and single values.

Each is laid over those before it, the first over the text of KataGo's paper; where each value comes from is kept, to be
shown. Knows no process and no game.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client.games.kinds import SELFPLAY
from client.games.position_files import FILE_KEYS, PositionSources, read_sources, without_files
from common import config_text
from common.config_text import ConfigError
from common.parameters import (
    CONFIGS,
    SelfplayConfig,
    base_text,
    completed,
    ignored,
    keys_of,
    parse_row_files,
    parse_selfplay,
    written,
)
from common.text_files import read_text

PAPER: Final = "paper"
"""Names the text that all others are laid over."""
DEFAULT: Final = "default"
"""Where a value comes from that no text gives."""
_SILENT: Final = PositionSources(())


@dataclass(frozen=True)
class Text:
    """A whole configuration text."""

    text: str
    origins: dict[str, str]  # by key: which text and line gave its value
    sources: PositionSources  # positions in files that it names
    notes: tuple[str, ...]  # what was added to texts that were not whole, and what is ignored of those that were

    def config(self, length: int | None) -> SelfplayConfig:
        """What is played in tensors of edge ``length``, by default the longest side of any board; `ConfigError`."""
        return parse_selfplay(self.text, data_board_len=length or self.longest_side)

    @property
    def longest_side(self) -> int:
        """Of the boards of all games."""
        return max(parse_selfplay(self.text).init.longest_side, self.sources.longest_side)

    def explained(self) -> str:
        """The effective text: every key with its value and, behind it, where that comes from."""
        config = parse_selfplay(self.text)
        lines = []
        for group in (config.search, config.init, config.selfplay, parse_row_files(self.text)):
            old_names = {key.name: key.old_name for key in keys_of(type(group)).values()}
            for name, value in written(group).items():
                origin = self.origins.get(name) or self.origins.get(old_names[name] or "", DEFAULT)
                lines.append(f"{name} = {config_text.quoted(value)}  # {origin}\n")
            lines.append("\n")
        return "".join(lines).removesuffix("\n")


def shipped_names() -> list[str]:
    """The texts that come with Tengen, by what ``--config`` calls them."""
    names = sorted(path.stem.removeprefix(f"{SELFPLAY.text}_") for path in CONFIGS.glob(f"{SELFPLAY.text}_*.cfg"))
    return [PAPER, *names]


def text_of(configs: Sequence[str], overrides: Sequence[str], seed: int) -> Text:
    """The text that ``--config`` and ``--override`` mean.

    Args:
        configs: names of `shipped_names`, or files; each a whole text or what it changes in those before it.
        overrides: ``key=value,key=value`` each, put over all texts.
        seed: of what is drawn in reading positions.

    Raises:
        ConfigError: with the name of the text.
        OSError, TextError: a file cannot be read.
    """
    text = base_text(SELFPLAY.text)
    origins = _origins(text, PAPER)
    sources, notes = _SILENT, []
    for name, changes in _layers(configs, overrides):
        try:
            entries = config_text.parse(changes)
            if any(key in entries for key in FILE_KEYS):
                sources = read_sources(changes, seed)
            stripped = without_files(changes)
            whole, kept = completed(SELFPLAY.text, stripped, text)
            notes += [f"{name}: {warning}" for warning in ignored(SELFPLAY.text, changes)]
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
        given = _origins(stripped, name)
        present = config_text.parse(whole)
        origins = {key: given.get(key) or origins[key] for key in present}
        if kept and name in configs and name not in shipped_names():
            over = ", ".join(configs[: configs.index(name)]) or f"{SELFPLAY.text}.cfg, which comes with Tengen"
            notes.append(f"{name} gives what differs from {over}: {kept} values are taken from there")
        text = whole
    _check(text, [*configs, *overrides])
    return Text(text, origins, sources, tuple(notes))


def _check(text: str, names: Sequence[str]) -> None:
    """See that the values of all texts go together; else `ConfigError` with their names."""
    try:
        parse_selfplay(text)
    except ConfigError as error:
        raise ConfigError(f"{', '.join(names) or PAPER}: {error}") from None


def _layers(configs: Sequence[str], overrides: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and contents, the lowest first."""
    for config in configs:
        if config == PAPER:
            yield PAPER, base_text(SELFPLAY.text)
        elif config in shipped_names():
            yield from _shipped(config)
        else:
            yield config, read_text(Path(config))
    for override in overrides:
        values = {key: entry.value for key, entry in config_text.parse_overrides(override).items()}
        yield "--override", config_text.write(values)


def _shipped(name: str) -> Iterator[tuple[str, str]]:
    """A text that comes with Tengen: ``a_b`` is laid over ``a``."""
    over, _, _ = name.rpartition("_")
    if over:
        yield from _shipped(over)
    yield name, read_text(CONFIGS / f"{SELFPLAY.text}_{name}.cfg")


def _origins(text: str, name: str) -> dict[str, str]:
    return {
        key: name if name == "--override" else f"{name}, {entry.place}"
        for key, entry in config_text.parse(text).items()
    }
