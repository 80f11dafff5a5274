"""Entry point of web servers: ``gunicorn server.wsgi``."""

from __future__ import annotations

import logging
import os
import warnings

from django.core.wsgi import get_wsgi_application

from server import environment, settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
environment.check()
# Static files are found in the apps where nobody has collected them; whitenoise warns of the absent folder.
warnings.filterwarnings("ignore", "No directory at", UserWarning)
application = get_wsgi_application()

if not settings.ALLOWED_HOSTS:
    logging.getLogger(__name__).warning("ALLOWED_HOSTS is not set: every request is refused; name the server's hosts")
