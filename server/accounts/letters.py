"""E-mails to users: noted in the database by a page, sent by a worker, sent again while that fails.

So no page waits for a mail server, who asks for a letter cannot tell by the time whether there was one to send, and
neither the broker nor the database holds a link that opens an account: it is made as the letter is sent. A user has at
most one letter of a kind waiting.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from server.accounts.models import Letter, LetterKind
from server.hints import Hint

logger = logging.getLogger(__name__)

LINK_VALID: Final = timedelta(days=3)
"""How long an address can be verified by a letter; a new password has PASSWORD_RESET_TIMEOUT."""
AT_ONCE: Final = 50
"""Letters of one task, so that it stays short."""
MAX_TRIES: Final = 6
AGAIN_AFTER: Final = timedelta(minutes=2)
"""Doubled with each try."""
_SALT: Final = "tengen.verify"
_HINT: Final = Hint("server.accounts.tasks.send_letters")


def letter_write(user: Any, kind: LetterKind, address: str, site: str) -> None:
    """Note that a letter is to go to ``address``; one of its kind that waits already is replaced."""
    content = {"address": address, "site": site, "due_at": timezone.now(), "tries": 0}
    Letter.objects.update_or_create(user=user, kind=kind, defaults=content)
    transaction.on_commit(_HINT.send)


def letters_send() -> int:
    """Send what is due; returns how many went. What cannot be sent waits longer each time, and is given up at last."""
    return sum(_send(letter) for letter in _taken())


def _taken() -> list[Letter]:
    """Letters that are due, put off so that no other worker sends them meanwhile."""
    now = timezone.now()
    with transaction.atomic():
        due = Letter.objects.select_for_update(skip_locked=True, of=("self",)).select_related("user")
        letters = list(due.filter(due_at__lte=now).order_by("due_at")[:AT_ONCE])
        for letter in letters:
            letter.tries += 1
            letter.due_at = now + AGAIN_AFTER * 2 ** (letter.tries - 1)
            letter.save(update_fields=["tries", "due_at"])
    return letters


def _send(letter: Letter) -> bool:
    try:
        _message(letter).send()
    except Exception as error:  # of whichever mail backend
        # Only its kind: the text of a mail server's refusal repeats addresses, and may repeat the letter.
        gone = letter.tries >= MAX_TRIES
        logger.warning(
            "a letter (%s) could not be sent, %s: %s",
            letter.kind,
            "given up" if gone else "later",
            type(error).__name__,
        )
        if gone:
            Letter.objects.filter(pk=letter.pk).delete()
        return False
    # Whoever asked again meanwhile gets another one.
    Letter.objects.filter(pk=letter.pk, tries=letter.tries).delete()
    return True


def _message(letter: Letter) -> EmailMessage:
    context = {"user": letter.user, "site": letter.site, "link": letter.site + _path(letter)}
    lines = render_to_string(f"accounts/letter_{letter.kind}.txt", context).strip()
    subject, _, body = lines.partition("\n")
    return EmailMessage(subject=subject, body=body.strip() + "\n", to=[letter.address])


def _path(letter: Letter) -> str:
    match letter.kind:
        case LetterKind.VERIFY:
            return reverse("account:verify", args=[verification(letter.user, letter.address)])
        case LetterKind.RESET:
            key = urlsafe_base64_encode(force_bytes(letter.user.pk))
            return reverse("account:reset-confirm", args=[key, default_token_generator.make_token(letter.user)])
        case _:
            return reverse("account:reset")


def verification(user: Any, address: str) -> str:
    """What proves that its holder reads the mails to ``address``."""
    return signing.dumps({"user": user.pk, "address": address}, salt=_SALT, compress=True)


def verified(text: str) -> tuple[int, str] | None:
    """User's key and address that a `verification` names; None if it is none of ours, or too old."""
    try:
        said = signing.loads(text, salt=_SALT, max_age=LINK_VALID)
    except signing.BadSignature:
        return None
    return int(said["user"]), str(said["address"])
