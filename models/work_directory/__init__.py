"""Lower bounds of work directories: of the peak and of the makespan."""
