"""How many kinds of changes the audit's tests refuse, one at a time, and that no reason to refuse is left untried."""

from __future__ import annotations

from common.audit_report import Reason
from common.sgf_record import GAME_TYPES
from tests.common import (
    test_audit,
    test_audit_beginning,
    test_audit_cleanup,
    test_audit_net_changes,
    test_audit_reanalysis,
    test_audit_text,
)
from tests.common.katago_games import beginnings, cleanup_games

LEAST_KINDS = 200
OF_ROWS = (
    test_audit.ROW_MUTATIONS,
    test_audit.GAME_MUTATIONS,
    test_audit.SIDE_MUTATIONS,
    test_audit_reanalysis.MUTATIONS,
)
OF_BEGINNINGS = (test_audit_beginning.REFUSED, test_audit_cleanup.REFUSED, test_audit_text.DISHONEST)
ELSEWHERE = {
    Reason.TOO_LONG: test_audit.test_a_game_longer_than_can_be_replayed_is_refused,
    Reason.JOB_RESIGNATION: test_audit_text.RESIGNATIONS,
    Reason.JOB_TIME: None,  # tests/client/games/test_match_limits.py
    Reason.NET_CHANGES: test_audit_net_changes.test_a_change_is_told_alike_everywhere,
    Reason.AUDIT_TIME: None,  # what the server says of an `OutOfTime`
}


def test_changes_are_of_many_kinds_and_of_every_reason() -> None:
    reasons = [reason for table in OF_ROWS for _, reason in table.values()]
    reasons += [case[-1] for table in OF_BEGINNINGS for case in table.values()]
    unfinished = [refused for _, _, refused in test_audit_text.UNFINISHED.values() if refused]
    assert len(reasons) + len(unfinished) >= LEAST_KINDS
    tried = {*reasons, *(reason for refused in unfinished for reason in refused), *ELSEWHERE}
    assert set(Reason) == tried


def test_games_of_every_kind_are_recorded() -> None:
    """And pass, as the tests of each set say."""
    assert {upload.facts.game_type for upload in (*beginnings(), *cleanup_games())} == set(GAME_TYPES)
