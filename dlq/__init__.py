"""The dead-letter queue: every job that gave up, as a durable record with an owner and a due time."""
