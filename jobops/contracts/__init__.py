"""What a job type promises, and how one is declared, enqueued and run by its promise."""
