"""The guards that look at outcomes as they come, each for itself."""
