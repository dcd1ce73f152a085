"""What the pages show, read in a number of queries that does not grow with the rows."""
