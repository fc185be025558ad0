"""Property tests try the same examples in each run, however loaded the machine is."""

from hypothesis import settings

settings.register_profile("headstart", deadline=None, derandomize=True)
settings.load_profile("headstart")
