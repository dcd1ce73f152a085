"""What holds for all job types, a chapter a file. Each takes the job types, the installation and what was measured."""
