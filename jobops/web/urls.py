"""Where each page is. Names are what the templates and ``navigation`` call them."""

from __future__ import annotations

from django.urls import path

from jobops.web.views import health, jobs, letters, overview, session, tenant, tenants, workers

urlpatterns = [
    path("", overview.page, name="overview"),
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.SignOut.as_view(), name="sign-out"),
    path("tenants/", tenants.page, name="tenants"),
    path("tenants/<slug:slug>/", tenant.page, name="tenant"),
    path("tenants/<slug:slug>/pause/", tenant.pause, name="tenant-pause"),
    path("tenants/<slug:slug>/resume/", tenant.resume, name="tenant-resume"),
    path("dlq/", letters.page, name="dlq"),
    path("jobs/<slug:job_id>/", jobs.page, name="job"),
    path("workers/", workers.page, name="workers"),
    path("healthz", health.alive, name="alive"),
    path("readyz", health.ready, name="ready"),
    # What pages poll: see jobops.web.places.LIVE.
    path("live/overview/", overview.fragment, name="live-overview"),
    path("live/tenants/<slug:slug>/", tenant.fragment, name="live-tenant"),
    path("live/jobs/<slug:job_id>/", jobs.fragment, name="live-job"),
    path("live/workers/", workers.fragment, name="live-workers"),
]
