"""The doctor: looks at Redis and the database, says what should not be, and mends what it can when asked to."""
