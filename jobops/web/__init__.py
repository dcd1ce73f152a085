"""The pages: overview, tenants, jobs, workers, health, and RQ's own pages read-only."""
