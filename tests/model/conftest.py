"""Settings of hypothesis for the tests of the model."""

from hypothesis import settings

# No deadline per example: the first one may import pandas, and a laptop that runs all tests at once is slow for a
# moment.
settings.register_profile("patient", parent=settings(), deadline=None)
settings.load_profile("patient")
