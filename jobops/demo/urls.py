"""The demo's page. Only where ``JOBOPS_DEMO`` is set: see ``jobops.urls``."""

from __future__ import annotations

from django.urls import path

from jobops.demo import views

urlpatterns = [
    path("", views.page, name="demo"),
    path("<slug:endpoint>/mend/", views.mend, name="demo-mend"),
    path("<slug:endpoint>/break/", views.break_, name="demo-break"),
]
