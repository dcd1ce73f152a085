"""What a running job can do, and how its enqueues travel with the database."""
