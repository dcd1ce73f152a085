"""Settings of the tests: those of the project, in an environment of their own.

pytest reads this module before anything else does, in each xdist worker anew. A child process that a test starts
inherits the environment and reads the same settings.
"""

import os
import sys

from tests import environment

if "pytest" in sys.modules:
    environment.prepare()
elif "JOBOPS_VAR" not in os.environ:
    environment.read_only()

from jobops.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
