# jobops: web server, workers and scheduler from one image; see docker-compose.yml for how each is started.
# The Python that the tests run on.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
WORKDIR /app
# First what changes seldom.
COPY requirements-image.lock ./
RUN /venv/bin/pip install --require-hashes --requirement requirements-image.lock
COPY . .
RUN /venv/bin/pip install --no-deps --no-build-isolation --editable . \
    && /venv/bin/python -m compileall -q jobops tenants dlq

FROM python:${PYTHON}-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin jobops
COPY --from=build /venv /venv
# Root's and read-only for the process: it writes to the database and to Redis only.
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["gunicorn", "jobops.wsgi", "--bind", "0.0.0.0:8000", "--no-control-socket"]
