"""The engine: per-tenant queues, fair claims, leases and their ends, on Redis and RQ. It knows nothing of Django."""
