"""Entry point of web servers: ``gunicorn server.wsgi``."""

from __future__ import annotations

import logging
import os
import warnings

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from server import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
# Static files are found in the apps where nobody has collected them; whitenoise warns of the absent folder.
warnings.filterwarnings("ignore", "No directory at", UserWarning)
application = get_wsgi_application()

if not settings.SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set; give every web process the same long random text, such as the one that this prints: "
        "python -c 'import secrets; print(secrets.token_urlsafe(50))'"
    )
if not settings.ALLOWED_HOSTS:
    logging.getLogger(__name__).warning("ALLOWED_HOSTS is not set: every request is refused; name the server's hosts")
