"""Units, as far as the name of a column tells them: people write them there."""

from __future__ import annotations

import re

_BRACKETS = re.compile(r"^(?P<name>.+?)\s*[\[(](?P<unit>[^\])]{1,20})[\])]\s*$")
# Endings that are units in tables of engineers; the longest that fits counts.
_ENDINGS = {
    "ml_min": "ml/min",
    "m3_day": "m³/day",
    "m3_h": "m³/h",
    "l_min": "l/min",
    "mm_s": "mm/s",
    "m_s": "m/s",
    "ms_cm": "mS/cm",
    "mol_pct": "mol %",
    "wt_pct": "wt %",
    "vol_pct": "vol %",
    "mol_l": "mol/l",
    "pct": "%",
    "percent": "%",
    "degc": "°C",
    "deg_c": "°C",
    "deg": "°",
    "rpm": "rpm",
    "kpa": "kPa",
    "mpa": "MPa",
    "bar": "bar",
    "kw": "kW",
    "kwh": "kWh",
    "mm": "mm",
    "um": "µm",
    "nm": "nm",
    "cm": "cm",
    "kg": "kg",
    "mg": "mg",
    "ml": "ml",
    "min": "min",
    "hz": "Hz",
    "usd": "USD",
    "eur": "EUR",
    "ev": "eV",
    "mv": "mV",
}
# One letter is a unit only behind a word that says of what.
_LETTERS = {
    ("temperature", "c"): "°C",
    ("temperature", "k"): "K",
    ("temp", "c"): "°C",
    ("temp", "k"): "K",
    ("time", "s"): "s",
    ("time", "h"): "h",
    ("power", "w"): "W",
    ("head", "m"): "m",
    ("concentration", "m"): "mol/l",
    ("voltage", "v"): "V",
    ("current", "a"): "A",
    ("mass", "g"): "g",
    ("length", "m"): "m",
}


def unit_of(column: str) -> str:
    """The unit that a column's name ends in, or nothing.

    >>> [unit_of(name) for name in ("temperature_c", "Flow [ml/min]", "melt_pool_depth_um", "vitamin_c", "blades")]
    ['°C', 'ml/min', 'µm', '', '']
    """
    found = _BRACKETS.match(column)
    if found:
        return found["unit"]
    words = column.lower().replace("-", "_").replace(" ", "_").split("_")
    for count in (2, 1):
        unit = _ENDINGS.get("_".join(words[-count:])) if len(words) > count else None
        if unit:
            return unit
    return _LETTERS.get((words[-2], words[-1]), "") if len(words) > 1 else ""
