"""Each way to cheat that docs/trust.md tells of, with the tests of what stops it or of what raises an alarm.

A line of the page's table without a test fails, and so does one here that the page does not tell of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from deploy.installation import ROOT
from tests.nets.evaluation import test_canary
from tests.server import test_accepted_uploads, test_cheaters, test_false_uploads
from tests.server.accounts import test_account_pages
from tests.server.games import test_auditing, test_identity, test_replay
from tests.server.inspection import test_replays
from tests.server.jobs import test_leases, test_tasks_api
from tests.server.positions import test_positions
from tests.server.runs import test_texts
from tests.server.trust import test_differences, test_standings

Test = Callable[..., Any]
FALSE_UPLOADS: Final = test_false_uploads.test_each_false_upload_is_refused_by_its_own_reason
CHEATS: Final[dict[str, tuple[Test, ...]]] = {
    "Games that were never played": (
        FALSE_UPLOADS,
        test_cheaters.test_lies_about_searches,
        test_replay.test_an_honest_game_is_equal_and_a_changed_one_is_not,
        test_standings.test_quarantine_takes_games_out_and_holds_further_ones,
    ),
    "A game sent again under another uid": (
        test_identity.test_a_game_with_another_uid_is_refused_and_leaves_no_file,
        test_identity.test_spelling_is_no_part_of_a_game,
        test_identity.test_a_turned_or_mirrored_game_is_the_same,
        test_leases.test_each_game_of_a_job_is_taken_once,
    ),
    "A copied game with a move more or less": (FALSE_UPLOADS,),
    "Easy or short games": (FALSE_UPLOADS, test_differences.test_cheats_are_found_by_the_look_that_is_told),
    "Other rules, sizes, komi, handicap, set-up stones": (FALSE_UPLOADS,),
    "Fewer or more visits than asked for": (FALSE_UPLOADS,),
    "Rows that weigh more": (FALSE_UPLOADS,),
    "Targets and values turned round": (
        FALSE_UPLOADS,
        test_accepted_uploads.test_no_change_of_a_row_passes_but_of_what_is_listed,
        test_cheaters.test_lies_about_searches,
    ),
    "An old or another network under a new name": (
        test_cheaters.test_games_of_another_network_are_refused_and_their_login_quarantined,
        test_cheaters.test_an_old_network_under_a_new_name_fits_no_row,
        test_leases.test_no_other_token_proves_a_game,
    ),
    "One login decides a gate": (
        test_leases.test_the_games_of_a_gate_are_spread_over_logins,
        test_leases.test_where_few_are_active_each_plays_an_equal_part_of_a_gate,
        test_leases.test_katagos_client_gets_no_more_of_a_gate_than_the_share,
    ),
    "Many logins of one person decide a gate": (test_replay.test_a_sample_of_a_gates_games,),
    "Match games that were never played": (
        test_replays.test_what_does_not_hold_is_taken_out_and_the_gate_judged_again,
        test_replays.test_what_the_networks_say_of_a_game_of_ours_is_the_measure,
        test_replays.test_values_that_no_rounding_makes_are_not_the_games,
    ),
    "Taking jobs without playing them": (
        test_leases.test_a_login_holds_so_many_games_and_no_more,
        test_leases.test_a_machine_holds_so_many_games_and_no_more,
    ),
    "Keeping a gate's games back": (test_leases.test_leases_of_gates_are_short,),
    "Picking games": (test_leases.test_each_game_of_a_job_is_taken_once,),
    "Flooding": (
        test_identity.test_a_login_sends_so_much_a_day_and_no_more,
        test_identity.test_a_full_disk_refuses_games_before_they_are_stored,
    ),
    "Sign-ups by the million": (test_account_pages.test_a_million_sign_ups_are_stopped,),
    "Games after the job's end": (test_leases.test_jobs_end,),
    "Games that break the audit": (
        test_auditing.test_a_game_that_takes_too_long_is_refused_at_its_second_audit,
        test_auditing.test_a_game_that_breaks_the_audit_does_not_hold_up_others,
    ),
    "Networks that end KataGo's clients": (
        test_canary.test_an_old_network_fails_where_katagos_client_ends,
        test_tasks_api.test_katago_gets_no_selfplay_that_would_crash_it,
    ),
    "Settings that end all clients": (
        test_texts.test_a_text_that_cannot_be_played_is_told_with_what_the_client_said,
        test_positions.test_overrides_that_could_not_be_played_are_not_saved,
    ),
}


def test_each_cheat_of_the_page_has_its_test() -> None:
    section = (ROOT / "docs" / "trust.md").read_text().partition("\n## Cheats\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| \*\*(.+?)\*\*", section, re.MULTILINE) == list(CHEATS)
