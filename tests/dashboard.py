"""A small archive of pumps for the tests of the dashboard, with a response that is known."""

import numpy as np
import pandas as pd


def head(speed, angle, lift=0.0):
    """A pump's head: best at a speed and an angle that differ a little between pumps."""
    return 30 + lift - ((speed - 2200 - 60 * lift) / 300) ** 2 - ((angle - 26 - lift) / 5) ** 2


def archive(pumps=4, rows=6) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"pump": np.repeat([f"P{k}" for k in range(pumps)], rows)})
    frame["speed_rpm"] = random.uniform(1000, 3000, len(frame)).round(0)
    frame["angle_deg"] = random.uniform(10, 40, len(frame)).round(1)
    lift = np.repeat(np.linspace(-2, 2, pumps), rows)
    frame["head_m"] = head(frame["speed_rpm"], frame["angle_deg"], lift).round(3)
    return frame
