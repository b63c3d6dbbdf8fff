"""Profile `balanced` on one run: what stands against it, and how frames are answered."""
