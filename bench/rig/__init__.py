"""What the benches share: a private Redis, jobs for both sides, the table and the JSON document."""
