"""Entry point of web servers: ``gunicorn server.wsgi``."""

from __future__ import annotations

import os
import warnings

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.settings")
# Static files are found in the apps where nobody has collected them; whitenoise warns of the absent folder.
warnings.filterwarnings("ignore", "No directory at", UserWarning)
application = get_wsgi_application()
