"""The demo's pages. Only where ``JOBOPS_DEMO`` is set: see ``jobops.urls``."""

from __future__ import annotations

from django.urls import path

from jobops.demo import views

urlpatterns = [
    path("demo/", views.page, name="demo"),
    path("demo/incident/", views.incident, name="demo-incident"),
    path("demo/<slug:endpoint>/mend/", views.mend, name="demo-mend"),
    path("demo/<slug:endpoint>/break/", views.break_, name="demo-break"),
    path("live/demo/", views.fragment, name="live-demo"),
]
