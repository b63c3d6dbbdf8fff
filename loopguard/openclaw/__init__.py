"""Profile `openclaw`: its runs, and how their batches are judged."""
