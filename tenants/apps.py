"""Wiring of the tenants app."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, memberships, roles, and the policies that the engine obeys."""

    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"
