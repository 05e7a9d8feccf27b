"""Settings of the project, read from the environment. A bad value stops the start with the variable's name."""

from pathlib import Path

import environ
from csp.constants import SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()


def env_bool(name: str, default: bool) -> bool:
    value = str(env.str(name, default=str(default))).strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")


DEBUG = env_bool("DEBUG", False)
SECRET_KEY = env.str("SECRET_KEY", default="insecure-only-for-development-and-tests-" + "0" * 32)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_q",
    "django_htmx",
    "csp",
    "memadmin",
    "memadmin.audit",
    "memadmin.store",
    "memadmin.jobs",
    "memadmin.access",
    "memadmin.lifecycle",
    "memadmin.transfer",
    "memadmin.pages",
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

SQLITE_OPTIONS = {
    # Deferred transactions that read first and write later fail with "database is locked" under two processes.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON;",
}
DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'var' / 'memadmin.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = SQLITE_OPTIONS

AUTH_USER_MODEL = "access.Person"
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
STATIC_ROOT = BASE_DIR / "var" / "static"
WHITENOISE_USE_FINDERS = True

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "frame-ancestors": ["'none'"],
        "form-action": [SELF],
        "base-uri": [SELF],
    }
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
