"""The web server's entry: `gunicorn jobops.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobops.settings")
# Threads of one server process share a pool of PostgreSQL connections. Load the app after the fork (no --preload).
os.environ.setdefault("JOBOPS_DATABASE_POOL", "8")

application = get_wsgi_application()
