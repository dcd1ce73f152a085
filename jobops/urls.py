"""Where each URL goes."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from jobops.web.rq_pages import rq_urls

urlpatterns = [
    path("", include("jobops.web.urls")),
    path("rq/", include(rq_urls())),
    path("admin/", admin.site.urls),
    *([path("", include("jobops.demo.urls"))] if settings.JOBOPS_DEMO else []),
]
handler404 = "jobops.web.views.errors.not_found"
