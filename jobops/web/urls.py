"""Where each page is. Names are what the templates and ``navigation`` call them."""

from __future__ import annotations

from django.urls import path

from jobops.web.views import (
    audit,
    bulk,
    bulks,
    catalog,
    health,
    jobs,
    letter,
    letter_actions,
    letters,
    overview,
    session,
    tenant,
    tenants,
    workers,
)

urlpatterns = [
    path("", overview.page, name="overview"),
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.SignOut.as_view(), name="sign-out"),
    path("tenants/", tenants.page, name="tenants"),
    path("tenants/<slug:slug>/", tenant.page, name="tenant"),
    path("tenants/<slug:slug>/pause/", tenant.pause, name="tenant-pause"),
    path("tenants/<slug:slug>/resume/", tenant.resume, name="tenant-resume"),
    path("dlq/", letters.page, name="dlq"),
    path("dlq/export/", letters.export, name="dlq-export"),
    path("dlq/act/", bulk.start, name="dlq-act"),
    path("dlq/replays/", bulks.page, name="bulks"),
    # Two addresses of one page: what a person did is in the one they pass on.
    path("dlq/replays/<int:bulk_id>/", bulk.page, name="bulk"),
    path("dlq/discards/<int:bulk_id>/", bulk.page, name="bulk-discard"),
    path("dlq/bulk/<int:bulk_id>/confirm/", bulk.confirm, name="bulk-confirm"),
    path("dlq/bulk/<int:bulk_id>/cancel/", bulk.cancel, name="bulk-cancel"),
    path("dlq/bulk/<int:bulk_id>/undo/", bulk.undo, name="bulk-undo"),
    path("dlq/<int:letter_id>/", letter.page, name="letter"),
    path("dlq/<int:letter_id>/payload/", letter.payload, name="letter-payload"),
    path("dlq/<int:letter_id>/replay/", letter_actions.replay, name="letter-replay"),
    path("dlq/<int:letter_id>/discard/", letter_actions.discard, name="letter-discard"),
    path("dlq/<int:letter_id>/undo/", letter_actions.undo, name="letter-undo"),
    path("dlq/<int:letter_id>/cancel/", letter_actions.cancel, name="letter-cancel"),
    path("jobs/<slug:job_id>/", jobs.page, name="job"),
    path("catalog/", catalog.page, name="catalog"),
    path("workers/", workers.page, name="workers"),
    path("audit/", audit.page, name="audit"),
    path("audit/export/", audit.export, name="audit-export"),
    path("healthz", health.alive, name="alive"),
    path("readyz", health.ready, name="ready"),
    # What pages poll: see jobops.web.places.LIVE.
    path("live/overview/", overview.fragment, name="live-overview"),
    path("live/tenants/<slug:slug>/", tenant.fragment, name="live-tenant"),
    path("live/dlq/", letters.fragment, name="live-dlq"),
    path("live/dlq/bulk/<int:bulk_id>/", bulk.fragment, name="live-bulk"),
    path("live/dlq/<int:letter_id>/", letter.fragment, name="live-letter"),
    path("live/jobs/<slug:job_id>/", jobs.fragment, name="live-job"),
    path("live/workers/", workers.fragment, name="live-workers"),
]
