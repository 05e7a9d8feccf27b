"""Settings of the project, read from the environment (docs/settings.md). A bad value stops the start with the variable's name."""

from pathlib import Path

from csp.constants import NONE, SELF

from memadmin.environment import (
    env_bool,
    env_choice,
    env_database,
    env_days,
    env_endpoint,
    env_folder,
    env_hosts,
    env_int,
    env_list,
    env_origins,
    env_secret,
    env_text,
    env_zone,
)
from memadmin.logs import logging_config
from memadmin.secret_key import kept_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = env_folder("VAR_DIR", BASE_DIR / "var")

DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env_secret("SECRET_KEY") or kept_secret_key(VAR_DIR / "secret_key")
ALLOWED_HOSTS = env_hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env_origins("CSRF_TRUSTED_ORIGINS")

# HTTPS only. `up` on a loopback address switches it off for its own processes.
SECURE = env_bool("SECURE", not DEBUG)
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # probes come from the machine itself, over plain HTTP
SECURE_HSTS_SECONDS = env_int("HSTS_SECONDS", 3600, low=0, high=63_072_000) if SECURE else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for sub-domains: the operator's other hosts are not ours to bind
    "security.W021",  # HSTS preload: the same, and it cannot be taken back
]
SESSION_COOKIE_AGE = 12 * 60 * 60  # seconds: one working day
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_500  # a request for erasure lists up to 500 items or 1,000 users, each with its tick
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {"default-src": [SELF], "img-src": [SELF, "data:"], "frame-ancestors": [NONE], "form-action": [SELF], "base-uri": [SELF]}
}

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_q",
    "django_htmx",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_standardized_errors",
    "memadmin",
    "memadmin.audit",
    "memadmin.store",
    "memadmin.jobs",
    "memadmin.access",
    "memadmin.lifecycle",
    "memadmin.erasure",
    "memadmin.recall",
    "memadmin.transfer",
    "memadmin.webhooks",
    "memadmin.pages",
    "memadmin.api",
    "memadmin.demo",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memadmin.maintenance.maintenance_middleware",
]

ROOT_URLCONF = "memadmin.urls"
WSGI_APPLICATION = "memadmin.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memadmin.pages.context.shell",
            ],
            "builtins": ["django.templatetags.static", "memadmin.pages.templatetags.memadmin"],
        },
    }
]

DATABASES = {"default": env_database("DATABASE_URL", default_file=VAR_DIR / "memadmin.sqlite3")}
ON_SQLITE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
if ON_SQLITE:
    DATABASES["default"]["ENGINE"] = "memadmin.sqlite"
    DATABASES["default"]["OPTIONS"] = {
        # Deferred transactions that read first and write later fail with "database is locked" under two processes.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,  # seconds
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON;",
    }
else:
    # No connection pool: django-q2 forks, and two processes would talk through one pooled socket.
    DATABASES["default"]["CONN_MAX_AGE"] = 60  # seconds
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
    # Compiling a query costs more than the short ones of a page take.
    DATABASES["default"]["OPTIONS"].setdefault("options", "-c jit=off")

AUTH_USER_MODEL = "access.Person"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Gunicorn's own variable: whose word on the client's address is believed. From the same machine it always is.
TRUSTED_PROXIES = [each.strip() for each in (env_text("FORWARDED_ALLOW_IPS") or "").split(",") if each.strip()]
LOGIN_URL = "pages:login"
LOGIN_REDIRECT_URL = "pages:overview"
LOGOUT_REDIRECT_URL = "pages:login"
# Memory-hard, and an eighth of the time that PBKDF2 takes; the second reads hashes made elsewhere.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", "django.contrib.auth.hashers.PBKDF2PasswordHasher"]
CSRF_FAILURE_VIEW = "memadmin.pages.errors.csrf_failed"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # the default puts the texts into a cookie

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"  # filled by `up`
WHITENOISE_USE_FINDERS = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

LOG_LEVEL = env_choice("LOG_LEVEL", "INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = logging_config(LOG_LEVEL)
WEB_PROCESSES = env_int("WEB_CONCURRENCY", 1 if ON_SQLITE else 2, low=1, high=64)  # of 8 threads each

# The keys by which erased ids and texts are known again. Every node on one database needs the same file; it stays out of its backups.
SUPPRESSION_KEYS = env_text("SUPPRESSION_KEYS") or str(VAR_DIR / "suppression_keys.json")

# Erasure. Dates of requests are days of this zone; on these days (and weekends) no period ends in law.
LEGAL_TIME_ZONE = env_zone("LEGAL_TIME_ZONE", "UTC")
LEGAL_HOLIDAYS = env_days("LEGAL_HOLIDAYS")
# Lets the person who reviewed a request approve it too; every certificate then says so.
ERASURE_SINGLE_OPERATOR = env_bool("ERASURE_SINGLE_OPERATOR", False)
# The keys that sign checkpoints of the audit log, and the folder that these are written to: best on another volume.
ERASURE_LEDGERS = env_list("ERASURE_LEDGERS") or [str(VAR_DIR / "erasure_ledger.jsonl")]  # outside the database and its backups
AUDIT_KEYS = env_text("AUDIT_KEYS") or str(VAR_DIR / "audit_keys")
AUDIT_ANCHORS = env_text("AUDIT_ANCHORS") or str(VAR_DIR / "audit_anchors")

# Model endpoints that speak OpenAI's protocol. Optional: without them agents write their memories themselves.
LLM_URL = env_endpoint("LLM_URL")
LLM_MODEL = env_text("LLM_MODEL") or "default"
LLM_API_KEY = env_text("LLM_API_KEY") or ""
EMBEDDING_URL = env_endpoint("EMBEDDING_URL")
EMBEDDING_MODEL = env_text("EMBEDDING_MODEL") or "default"
EMBEDDING_API_KEY = env_text("EMBEDDING_API_KEY") or ""
LLM_TIMEOUT_SECONDS = env_int("LLM_TIMEOUT_SECONDS", 20, low=1, high=25)  # a job's step asks twice, under its lease

# Off: a webhook may reach public addresses over HTTPS only, so that a subscriber cannot make us knock inside our own network.
PUBLIC_URL = (env_endpoint("PUBLIC_URL") or "").rstrip("/")  # by which recipients reach this installation
WEBHOOKS_TO_PRIVATE_NETWORKS = env_bool("WEBHOOKS_TO_PRIVATE_NETWORKS", False)

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "drf_standardized_errors.handler.exception_handler",
    "DEFAULT_SCHEMA_CLASS": "memadmin.api.v1.description.Described",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
DRF_STANDARDIZED_ERRORS = {
    "EXCEPTION_HANDLER_CLASS": "memadmin.api.v1.problems.Handler",
    "EXCEPTION_FORMATTER_CLASS": "memadmin.api.v1.problems.Formatter",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "memadmin",
    "DESCRIPTION": "Memories of AI agents: written, recalled, governed.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {"ProblemType": "memadmin.api.v1.shapes.PROBLEM_TYPES"},  # other shapes have a `type` of their own
}

Q_CLUSTER = {
    "name": "memadmin",
    "orm": "default",
    "workers": 2,
    # retry > timeout * (1 + ceil((queue_limit + 1) / workers)), or a waiting task is started twice
    "timeout": 240,
    "retry": 1200,
    "max_attempts": 3,
    "ack_failures": False,
    "catch_up": False,
    "queue_limit": 1,
    "bulk": 1,
    "recycle": 200,
    "save_limit": 200,
    "poll": 0.5,
}
