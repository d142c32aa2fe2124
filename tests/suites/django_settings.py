"""Settings under which Django's own suite runs: its MySQL backend, on the server that the environment names."""

import os

_SERVER = {
    "ENGINE": "django.db.backends.mysql",
    "HOST": "127.0.0.1",
    "PORT": os.environ["SUITE_PORT"],
    "USER": "root",
    "PASSWORD": "",
    # The second is there for the tests of several databases.
    "TEST": {"CHARSET": "utf8mb4"},
}
DATABASES = {
    "default": {**_SERVER, "NAME": "django_suite"},
    "other": {**_SERVER, "NAME": "django_suite_other"},
}
TEST_RUNNER = "report.Runner"
SECRET_KEY = "only for tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
