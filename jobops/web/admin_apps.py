"""Django's admin with the project's own site."""

from django.contrib.admin.apps import AdminConfig


class SuperusersAdminConfig(AdminConfig):
    """Takes the place of ``django.contrib.admin`` among the installed apps."""

    default_site = "jobops.web.admin_site.SuperusersSite"
