# SPDX-License-Identifier: MIT
def record_event_duration_secs(event, duration, **kwargs):
    """To whoever has asked for it."""
