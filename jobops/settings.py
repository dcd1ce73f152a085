"""Django's settings, one file for every place. What differs between places is read from the environment (env.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from jobops import embedded, env, logs
from jobops.web.rq_queues import ShownQueues

BASE_DIR = Path(__file__).resolve().parent.parent
# Everything that a checkout writes by itself: the SQLite file, the embedded Redis, what the demo makes.
VAR_DIR = env.folder("JOBOPS_VAR", BASE_DIR / "var")
# With no services of its own configured, a checkout is one machine, and its commands join what runs under var/.
OWN_SERVICES = env.is_set("DATABASE_URL") or env.is_set("JOBOPS_REDIS_URL")

DEBUG = env.boolean("DEBUG", default=False)
JOBOPS_DEMO = env.boolean("JOBOPS_DEMO", default=not OWN_SERVICES and (VAR_DIR / "demo" / "services.json").exists())
# The demo keeps to a folder of its own: its accounts and its jobs exist nowhere else.
HOME_DIR = VAR_DIR / "demo" if JOBOPS_DEMO else VAR_DIR
if JOBOPS_DEMO:
    # A command that joins the demo has the settings of its processes.
    env.adopt(HOME_DIR / "environment.json")
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])

# --- services -------------------------------------------------------------------------------------------------------

_database = env.database("DATABASE_URL", HOME_DIR / "jobops.sqlite3")
_on_sqlite = _database["ENGINE"].endswith("sqlite3")
# Only the web server shares connections between threads; a pool does not survive the fork of a worker's slot.
_pool_size = env.integer("JOBOPS_DATABASE_POOL", default=0, minimum=0, maximum=1000)
_options: dict[str, Any] = _database.setdefault("OPTIONS", {})
if _on_sqlite:
    if not env.is_set("DATABASE_URL"):
        env.make_folder("JOBOPS_VAR", HOME_DIR)
    # Several processes write: wait for the lock at the start of a transaction, where waiting is possible.
    _options.update(
        transaction_mode="IMMEDIATE",
        timeout=20,
        init_command="PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
    )
    _database["TEST"] = {"NAME": f"{_database['NAME']}.test"}
elif importlib.util.find_spec("psycopg") is None:
    env.refuse("DATABASE_URL", "names PostgreSQL, but its driver is missing: pip install 'jobops[postgres]'")
elif _pool_size:
    _options["pool"] = {"min_size": 1, "max_size": _pool_size, "timeout": 10}
else:
    _database["CONN_HEALTH_CHECKS"] = True
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

JOBOPS_REDIS_URL = env.redis_url("JOBOPS_REDIS_URL", embedded.url_of(HOME_DIR / "redis"))

# SQLite means one machine, so a key of its own will do; hosts that share a database must share the key.
SECRET_KEY = env.secret_key(
    "SECRET_KEY",
    keep_in=HOME_DIR / "secret_key" if DEBUG or JOBOPS_DEMO or _on_sqlite else None,
    shortest=1 if DEBUG or JOBOPS_DEMO else env.SHORTEST_SECRET_KEY,
)

# --- the engine -----------------------------------------------------------------------------------------------------

JOBOPS_LANES = env.lanes("JOBOPS_LANES", {"interactive": 4.0, "bulk": 1.0})
# The lanes that a worker serves when `worker --lanes` names none.
JOBOPS_WORKER_LANES = env.lanes_of("JOBOPS_WORKER_LANES", JOBOPS_LANES)
JOBOPS_HEARTBEAT_SECONDS = env.number("JOBOPS_HEARTBEAT_SECONDS", default=5, minimum=0.1, maximum=3600)
JOBOPS_LEASE_SECONDS = env.number("JOBOPS_LEASE_SECONDS", default=30, minimum=0.2, maximum=86_400)
if JOBOPS_LEASE_SECONDS < 2 * JOBOPS_HEARTBEAT_SECONDS:
    env.refuse(
        "JOBOPS_LEASE_SECONDS",
        f"is {JOBOPS_LEASE_SECONDS:g}, less than two heartbeats: use at least {2 * JOBOPS_HEARTBEAT_SECONDS:g} "
        f"(twice JOBOPS_HEARTBEAT_SECONDS, {JOBOPS_HEARTBEAT_SECONDS:g})",
    )
# Above this share of Redis's maxmemory new jobs wait in the outbox; 1: never.
JOBOPS_REDIS_MEMORY_SHARE = env.number("JOBOPS_REDIS_MEMORY_SHARE", default=0.85, minimum=0.1, maximum=1)
JOBOPS_PAYLOAD_LIMIT = env.integer("JOBOPS_PAYLOAD_LIMIT", default=262_144, minimum=1_024, maximum=64 * 1024 * 1024)
JOBOPS_JOB_MODULES = env.modules("JOBOPS_JOB_MODULES")
# How long what was done once is remembered; 0: for ever. After that the same key is new.
JOBOPS_ONCE_KEEP_DAYS = env.integer("JOBOPS_ONCE_KEEP_DAYS", default=90, minimum=0, maximum=36_500)
JOBOPS_DEFAULT_OWNER = env.owner("JOBOPS_DEFAULT_OWNER", "operations")
# How long a drained dead letter is kept, and a discard can be undone. One that is not drained is kept for ever.
# What was drained less than a week ago nobody deletes, by hand either.
JOBOPS_RETENTION_FLOOR_DAYS = 7
JOBOPS_RETENTION_DAYS = env.integer(
    "JOBOPS_RETENTION_DAYS", default=30, minimum=JOBOPS_RETENTION_FLOOR_DAYS, maximum=36_500
)

# Other RQ installations whose failed jobs `dlq import-rq` takes over: name → URL of their Redis.
JOBOPS_RQ_SOURCES = env.rq_sources("JOBOPS_RQ_SOURCES")

# RQ's own pages and tools get one bounded list of queues, never one entry a tenant.
RQ_QUEUES = ShownQueues()
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "rq-pages": {"BACKEND": "jobops.web.rq_pages.ReadOnlyCache"},
}
RQ_SHOW_ADMIN_LINK = False

# --- alerts ---------------------------------------------------------------------------------------------------------

# Where people open these pages: links in messages begin with it. On HTTPS the first host will do.
_first_host = ALLOWED_HOSTS[0] if env.boolean("JOBOPS_HTTPS", default=False) else ""
JOBOPS_BASE_URL = env.base_url(
    "JOBOPS_BASE_URL", default=f"https://{_first_host}" if _first_host.strip("*.") == _first_host != "" else ""
)
# Origins that a webhook may lead to although they are private, or on http. For the tests of a receiver only.
JOBOPS_ALERT_ALLOW_PRIVATE_SINK = env.origins("JOBOPS_ALERT_ALLOW_PRIVATE_SINK")
_mail = env.mail_server("JOBOPS_ALERT_MAIL_URL")
EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.host, _mail.port, _mail.user, _mail.password
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.starttls, _mail.tls
EMAIL_TIMEOUT = 10  # seconds, for each step of the conversation
DEFAULT_FROM_EMAIL = env.text("JOBOPS_ALERT_MAIL_FROM", "jobops@localhost")

# --- Django ---------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "jobops",
    "tenants",
    "dlq",
    *(["jobops.demo"] if JOBOPS_DEMO else []),
    "jobops.web.admin_apps.SuperusersAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_tables2",
    "django_rq",
    "axes",
    "csp",
]
MIDDLEWARE = [
    "jobops.web.middleware.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "jobops.web.middleware.SignInRequired",
    "jobops.web.middleware.IdleClock",
    "jobops.web.middleware.ViewerZone",
    "jobops.web.middleware.NeverStored",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "jobops.urls"
WSGI_APPLICATION = "jobops.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"ops": "jobops.web.tags"},
        },
    }
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
LOGGING = logs.configure(
    env.choice("JOBOPS_LOG_FORMAT", "text", logs.FORMATS),
    env.choice("JOBOPS_LOG_LEVEL", "INFO", logs.LEVELS),
)
# A command that ends by itself prints what it did: on stderr it says only what is wrong, unless asked for more.
JOBOPS_COMMAND_LOG_LEVEL = env.choice("JOBOPS_LOG_LEVEL", "WARNING", logs.LEVELS)

# WhiteNoise serves the apps' own static folders as they are: no collectstatic, in no mode.
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 0 if DEBUG else 300

# --- who gets in, and how safely ------------------------------------------------------------------------------------

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# A few wrong passwords for one account from one address close it to that address for a while.
AXES_FAILURE_LIMIT = env.integer("JOBOPS_LOGIN_ATTEMPTS", default=10, minimum=1, maximum=1000)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
# How many proxies stand before the web server, each of which appends to X-Forwarded-For. At 0 the header counts for
# nothing: anybody could write any address into it.
JOBOPS_TRUSTED_PROXIES = env.integer("JOBOPS_TRUSTED_PROXIES", default=0, minimum=0, maximum=10)
AXES_CLIENT_IP_CALLABLE = "jobops.client_address.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "jobops.web.views.session.locked_out"
AXES_VERBOSE = False

# Signed out after so long without a click; a page that refreshes itself is not a click.
JOBOPS_SESSION_IDLE_SECONDS = env.integer("JOBOPS_SESSION_IDLE_SECONDS", default=8 * 3600, minimum=60)
SESSION_COOKIE_AGE = JOBOPS_SESSION_IDLE_SECONDS
SESSION_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "jobops.web.views.errors.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
JOBOPS_HTTPS = env.boolean("JOBOPS_HTTPS", default=False)
if JOBOPS_HTTPS:
    SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # HSTS is for this host alone: whether all below its name are on HTTPS too, for a year to come, is not for this
    # program to promise. `check --deploy` asks for that (W005), and for the list in browsers that it takes (W021).
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
