"""Time: the scheduler process, its promotion and rescue, and the agenda of its duties."""
