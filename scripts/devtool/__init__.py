"""What ./dev is made of. Python's standard library only: it must run before anything is installed."""
