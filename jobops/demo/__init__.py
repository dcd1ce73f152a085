"""The living demo: real jobs of five tenants, the servers they talk to, and the traffic.

This Django app is installed only where ``JOBOPS_DEMO`` is set; `manage.py demo` sets it for itself and its children.
"""
