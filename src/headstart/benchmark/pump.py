r"""Families of centrifugal pumps, simulated in one dimension: as many related tasks as an experiment needs.

Seven design variables in, efficiency out, with head, NPSH and power for constraints, noise-free, at a family's duty.
Symbols: u = ω r speed of the blade, c absolute and w relative velocity, m meridional and u tangential, 1 inlet and
2 outlet, β blade angle.

1. Flow: $Q_i = Q + Q_l$ and $c_m = Q_i / (A τ)$, where z blades of thickness e leave free $τ = 1 - z e / (π d \sin β)$.
2. Slip: `slip_factor` γ.
3. Euler: $c_{2u} = γ u_2 - c_{2m} / \tan β_2$ and $H_{th} = u_2 c_{2u} / g$, as nothing swirls at the inlet.
4. Hydraulic losses: channel friction, shock, diffusion, collector mismatch, throat friction, lost radial head.
5. Leakage: $Q_l = π d s \sqrt{2 g ΔH / (λ L / 2s + 1.5)}$ through the wear ring; a fixed point with steps 1 and 3.
6. Disc friction: $P_d = C_M ρ ω^3 r_2^5 / 2$, with `disc_moment` $C_M$.
7. Efficiency: $η = ρ g Q H / P$ of the shaft power $P = (ρ g Q_i H_{th} + P_d) (1 + m)$.
8. Suction: $NPSH_r = (λ_c c_{1m}^2 + λ_w w_1^2) / 2g$.

Sources: Wiesner, J. Eng. Power 89 (1967) 558; Gülich, Centrifugal Pumps, 3rd ed. 2014, ch. 3 and 6; Daily and Nece,
J. Basic Eng. 82 (1960) 217; El-Naggar, Int. J. Rotating Machinery 2013, 473512.

>>> generate()["family"].nunique()
6
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd

from headstart.errors import DataError, ProblemError, checked_whole
from headstart.shapes import Float
from headstart.tasks.columns import numbers, offenders, require_columns

# The design variables and their ranges; a family narrows the first.
INPUTS = {
    "impeller_diameter_mm": (95.0, 450.0),
    "inlet_to_outlet_diameter": (0.40, 0.62),
    "outlet_width_to_diameter": (0.025, 0.13),
    "inlet_blade_angle_deg": (14.0, 34.0),
    "outlet_blade_angle_deg": (16.0, 38.0),
    "blades": (4.0, 9.0),
    "throat_area_factor": (0.55, 1.9),
}
OUTPUTS = ("efficiency", "head_m", "npshr_m", "shaft_power_kw")
# Rows a family of the packaged table `pump_simulated`.
ROWS = (55, 11, 24, 37, 18, 45)

_LIMITS = {"inlet_to_outlet_diameter": 1.0, "inlet_blade_angle_deg": 90.0, "outlet_blade_angle_deg": 90.0}
_GRAVITY, _DENSITY = 9.81, 998.0
_PASSES = 30  # of the leakage, which gains a factor of two a pass where the ring is laminar, and ten elsewhere

# The collector's mismatch loss k, and its throat area at a factor of one, over the impeller's outlet area.
_MISMATCH = {"volute": 0.55, "vaned": 0.40}
_THROAT = {"volute": 0.156, "vaned": 0.227}
# What the equations and the seven variables leave open. Shock, suction and mechanical losses lie in their customary
# ranges (0.5 to 0.8; 1.1 to 1.35 and 0.1 to 0.3; 1 to 2 %). Within these, and freely for the rest, they were fitted to
# the designs of `pump_simulated`, which other code computed from the same equations; so agreement with it is no proof.
_LEADING_EDGE = 0.48  # thickness over the blade's, as leading edges are profiled
_HUB = 0.30  # diameter over the eye's
_BLADE_LENGTH = 1.33  # of the curved blade over a straight one at the mean angle
_SHOCK = 0.67
_THROAT_LENGTH = 10.0  # in throat diameters
_STATOR_GAP = 1.05  # r3 / r2
_RING_DIAMETER = 1.1  # over the eye's
_RING_LENGTH = 0.08  # over the impeller's diameter
_RING_ROUGHNESS = 0.066  # over its hydraulic diameter 2s; rings are turned, not cast
_SWIRL = 0.5  # of the liquid beside the impeller over the impeller's
_MECHANICAL = 0.019
_SUCTION_INLET, _SUCTION_BLADE = 1.2, 0.22  # λc, λw


@dataclass(frozen=True)
class Family:
    """Pumps for one duty: one task.

    >>> FAMILIES[0].bounds["impeller_diameter_mm"]
    (170.0, 235.0)
    """

    name: str
    flow: float  # m³/s, shared by the eyes, the same in every stage
    speed: float  # 1/min
    diameters: tuple[float, float]  # m, the range of the impeller's outlet diameter
    roughness: float  # m, of the castings
    ring_gap: float  # m, radial clearance of the wear ring
    viscosity: float  # m²/s
    collector: str  # "volute" or "vaned"
    _: KW_ONLY
    eyes: int = 1  # 2 for double suction, each with its own outlet of the given width
    stages: int = 1  # in series: their heads and powers add up
    blade_thickness: float = 0.0175  # over the impeller's diameter
    disc_gap: float = 0.1  # axial clearance beside the impeller over its radius

    def __post_init__(self) -> None:
        if self.collector not in _MISMATCH:
            raise ProblemError(f"collector={self.collector!r} is not known; choose one of: {', '.join(_MISMATCH)}.")

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """The range of each of the `INPUTS`."""
        low, high = self.diameters
        return INPUTS | {"impeller_diameter_mm": (round(1e3 * low, 3), round(1e3 * high, 3))}


FAMILIES = (
    Family("end_suction_low_ns", 0.007, 2900.0, (0.170, 0.235), 1.0e-4, 2.0e-4, 1e-6, "volute"),
    Family("end_suction_mid_ns", 0.022, 2900.0, (0.150, 0.215), 1.0e-4, 2.5e-4, 1e-6, "volute"),
    Family("double_suction", 0.130, 1480.0, (0.320, 0.450), 1.5e-4, 3.5e-4, 1e-6, "volute", eyes=2),
    Family("multistage_diffuser", 0.015, 2950.0, (0.165, 0.230), 0.5e-4, 2.0e-4, 1e-6, "vaned", stages=5),
    # Small castings have relatively thick blades.
    Family(
        "esp_mixed_flow", 0.006, 3500.0, (0.095, 0.125), 2.5e-4, 2e-4, 2e-6, "vaned", stages=3, blade_thickness=0.022
    ),
    Family("process_oil", 0.020, 2950.0, (0.180, 0.250), 1.0e-4, 4.0e-4, 4e-5, "volute"),
)


def random_families(count: int, *, seed: int) -> tuple[Family, ...]:
    """Families drawn around the six; the first ones of a seed are the same however many are asked for.

    Flow, speed, roughness, viscosity and ring gap over diameter are log-uniform, about as wide as in the six. So is the
    flow coefficient $φ = Q / (ω d^3)$, which gives the diameter: an impeller too small for its duty delivers no head.

    >>> [family.name for family in random_families(2, seed=7)]
    ['pump_7_0', 'pump_7_1']
    """
    return tuple(_random_family(index, seed) for index in range(checked_whole("count", count)))


def _random_family(index: int, seed: int) -> Family:
    rng = np.random.default_rng([seed, index])

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    flow, speed = log_uniform(0.005, 0.15), log_uniform(1450.0, 3550.0)
    eyes = 2 if flow > 0.06 else 1  # a single eye would ask for too much suction head
    diameter = (flow / eyes / (speed * math.pi / 30) / log_uniform(0.0028, 0.011)) ** (1 / 3)
    collector = str(rng.choice(list(_MISMATCH)))
    return Family(
        name=f"pump_{seed}_{index}",
        flow=flow,
        speed=speed,
        diameters=(0.85 * diameter, 1.15 * diameter),
        roughness=log_uniform(0.5e-4, 2.5e-4),
        ring_gap=diameter * log_uniform(0.9e-3, 1.9e-3),
        viscosity=log_uniform(1e-6, 4e-5),
        collector=collector,
        eyes=eyes,
        stages=int(rng.integers(1, 6)) if collector == "vaned" else 1,
        blade_thickness=log_uniform(0.015, 0.022),
    )


def simulate(designs: pd.DataFrame | Float[np.ndarray, "n 7"], family: Family) -> pd.DataFrame:
    """The `OUTPUTS` of each design: of a table with the columns `INPUTS`, or of an array with these in order.

    A design without head at the duty is infeasible: its outputs are NaN, as of an experiment that failed.

    >>> simulate(np.array([[190.0, 0.45, 0.06, 22.0, 25.0, 6.0, 1.1]]), FAMILIES[0]).round(2)
       efficiency  head_m  npshr_m  shaft_power_kw
    0        0.67   49.42     2.08            5.08
    """
    table = designs if isinstance(designs, pd.DataFrame) else pd.DataFrame(designs, columns=list(INPUTS))
    columns = _checked(table)
    d2 = columns["impeller_diameter_mm"] / 1e3
    d1, b2 = columns["inlet_to_outlet_diameter"] * d2, columns["outlet_width_to_diameter"] * d2
    beta1, beta2 = np.radians(columns["inlet_blade_angle_deg"]), np.radians(columns["outlet_blade_angle_deg"])
    blades = columns["blades"]
    omega, flow = family.speed * math.pi / 30, family.flow / family.eyes
    u1, u2 = omega * d1 / 2, omega * d2 / 2

    # Steps 1, 2, 3 and 5. Where the blades leave no passage, any number will do: the design is infeasible.
    blocked = blades * family.blade_thickness * d2 / math.pi
    free1, free2 = 1.0 - _LEADING_EDGE * blocked / (d1 * np.sin(beta1)), 1.0 - blocked / (d2 * np.sin(beta2))
    is_open = (free1 > 0) & (free2 > 0)
    eye, outlet = math.pi / 4 * d1**2 * (1.0 - _HUB**2), math.pi * d2 * b2
    slip = slip_factor(beta2, blades, d1 / d2)
    # ΔH = 0.75 Hth - k² u2² / 2g (1 - (d / d2)²): pressure falls inwards beside the turning impeller.
    ring, gap = _RING_DIAMETER * d1, 2.0 * family.ring_gap
    fall = _SWIRL**2 * (u2**2 - (omega * ring / 2) ** 2) / (2.0 * _GRAVITY)
    leak, resistance = np.zeros_like(d2), np.full_like(d2, 0.03)
    for _ in range(_PASSES):
        c2m = (flow + leak) / (outlet * np.where(is_open, free2, 1.0))
        c2u = slip * u2 - c2m / np.tan(beta2)
        theoretical = u2 * c2u / _GRAVITY
        driving = np.maximum(0.75 * theoretical - fall, 0.0)
        jet = np.sqrt(2.0 * _GRAVITY * driving / (resistance * _RING_LENGTH * d2 / gap + 1.5))
        resistance = friction_factor(jet * gap / family.viscosity, _RING_ROUGHNESS)
        leak = math.pi * ring * family.ring_gap * jet
    c1m = (flow + leak) / (eye * np.where(is_open, free1, 1.0))
    w1, w2 = np.hypot(c1m, u1), np.hypot(c2m, u2 - c2u)

    # Step 4. Between two blades, Dh = 2 a b / (a + b), the mean of inlet and outlet.
    b1, a1, a2 = eye / (math.pi * d1), math.pi * d1 * np.sin(beta1) / blades, math.pi * d2 * np.sin(beta2) / blades
    hydraulic = a1 * b1 / (a1 + b1) + a2 * b2 / (a2 + b2)
    length = _BLADE_LENGTH * (d2 - d1) / 2 / np.sin((beta1 + beta2) / 2)
    mean = (w1 + w2) / 2
    throat = columns["throat_area_factor"] * _THROAT[family.collector] * outlet
    c3, bore = flow / throat, np.sqrt(4.0 * throat / math.pi)
    channel = friction_factor(mean * hydraulic / family.viscosity, family.roughness / hydraulic) * length / hydraulic
    entry = friction_factor(c3 * bore / family.viscosity, family.roughness / bore) * _THROAT_LENGTH
    lost = (
        channel * mean**2
        + _SHOCK * (u1 - c1m / np.tan(beta1)) ** 2
        + 0.25 * np.maximum(w1**2 - (1.4 * w2) ** 2, 0.0)
        + _MISMATCH[family.collector] * (c2u / _STATOR_GAP - c3) ** 2
        + entry * c3**2
        + c2m**2
    )
    head = theoretical - lost / (2.0 * _GRAVITY)

    # Steps 6 to 8. Where the head is positive, so are Hth and c2u, as losses are never negative.
    moment = disc_moment(omega * d2**2 / 4 / family.viscosity, family.disc_gap)
    disc = 0.5 * moment * _DENSITY * omega**3 * (d2 / 2) ** 5
    power = (_DENSITY * _GRAVITY * (flow + leak) * family.eyes * theoretical + disc) * (1.0 + _MECHANICAL)
    efficiency = _DENSITY * _GRAVITY * family.flow * head / power
    suction = (_SUCTION_INLET * c1m**2 + _SUCTION_BLADE * w1**2) / (2.0 * _GRAVITY)
    outputs = [efficiency, family.stages * head, suction, family.stages * power / 1e3]
    feasible = np.where(is_open & (head > 0), outputs, np.nan)
    return pd.DataFrame(dict(zip(OUTPUTS, feasible, strict=True)), index=table.index)


def _checked(table: pd.DataFrame) -> dict[str, Float[np.ndarray, " n"]]:
    require_columns(table, INPUTS)
    columns = {name: numbers(table, name) for name in INPUTS}
    for name, values in columns.items():
        limit = _LIMITS.get(name, math.inf)
        bad = (values <= 0) | (values >= limit)
        if bad.any():
            raise DataError(
                f"Column {name!r} must be above 0{f' and below {limit:g}' * (limit < math.inf)}, but "
                f"{offenders(table[name], bad)}. It usually is {INPUTS[name][0]:g} to {INPUTS[name][1]:g}: check the "
                "unit, or leave the row out."
            )
    return columns


def slip_factor(
    outlet_angle: Float[np.ndarray, " n"], blades: Float[np.ndarray, " n"], diameter_ratio: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    r"""Wiesner's slip factor, as amended by Gülich for radial impellers; the angle in radians.

    $γ = 0.98 (1 - \sqrt{\sin β_2} / z^{0.7}) k_w$ with $k_w = 1 - ((d_1/d_2 - ε) / (1 - ε))^3$ where the inlet is wider
    than $ε = \exp(-8.16 \sin β_2 / z)$, and 1 elsewhere. Gülich's factor for mixed flow is for nq near 50 and more.
    """
    sine = np.sin(outlet_angle)
    limit = np.exp(-8.16 * sine / blades)
    excess = np.maximum(diameter_ratio - limit, 0.0) / (1.0 - limit)
    return 0.98 * (1.0 - np.sqrt(sine) / blades**0.7) * (1.0 - excess**3)


def friction_factor(
    reynolds: Float[np.ndarray, " n"], roughness: float | Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Darcy's friction factor, 64/Re or Swamee and Jain's, with the roughness over the hydraulic diameter.

    The larger of the two, as a jump between laminar and turbulent would cut the design space in parts. Below Re = 1000,
    where it means nothing, the turbulent one is kept constant.
    """
    turbulent = 0.25 / np.log10(roughness / 3.7 + 5.74 / np.maximum(reynolds, 1e3) ** 0.9) ** 2
    return np.maximum(64.0 / np.maximum(reynolds, 1.0), turbulent)


def disc_moment(reynolds: Float[np.ndarray, " n"], gap: float) -> Float[np.ndarray, " n"]:
    """Daily and Nece's moment coefficient of a disc's two faces, with Re = ω r² / ν and the gap over the radius.

    The largest of four regimes: laminar and turbulent, each with boundary layers that have merged or not.
    """
    regimes = [
        2.0 * math.pi / (gap * reynolds),
        3.70 * gap**0.1 * reynolds**-0.5,
        0.080 * gap ** (-1 / 6) * reynolds**-0.25,
        0.102 * gap**0.1 * reynolds**-0.2,
    ]
    return np.max(regimes, axis=0)


def sample_designs(family: Family, count: int, *, seed: int) -> pd.DataFrame:
    """Random designs in the family's bounds, feasible or not; fewer of a seed are the first of more.

    >>> sample_designs(FAMILIES[0], 3, seed=0).shape
    (3, 7)
    """
    # The name, so that families differ which share a seed, whatever the other families are.
    rng = np.random.default_rng([seed, zlib.crc32(family.name.encode())])
    low, high = np.array(list(family.bounds.values())).T
    share = rng.random((checked_whole("count", count), len(INPUTS)))
    table = pd.DataFrame(low + share * (high - low), columns=list(INPUTS))
    # Each number of blades has an equal share of its range.
    fewest, most = INPUTS["blades"]
    blades = fewest + np.floor(share[:, list(INPUTS).index("blades")] * (most - fewest + 1))
    return table.assign(blades=blades.astype(np.int64))


def generate(families: Sequence[Family] = FAMILIES, rows: int | Sequence[int] = ROWS, *, seed: int = 0) -> pd.DataFrame:
    """A table in the form of `pump_simulated`, with so many feasible designs of each family.

    >>> generate(random_families(3, seed=1), 20, seed=1).groupby("family").size().tolist()
    [20, 20, 20]
    """
    counts = [rows] * len(families) if isinstance(rows, int) else list(rows)
    if len(counts) != len(families):
        raise DataError(f"rows={rows!r} for {len(families)} families; give one number for each, or one for all.")
    parts = [_feasible(family, count, seed) for family, count in zip(families, counts, strict=True)]
    return pd.concat(parts, ignore_index=True)


def _feasible(family: Family, rows: int, seed: int) -> pd.DataFrame:
    for factor in (2, 200):
        designs = sample_designs(family, factor * rows, seed=seed)
        table = designs.join(simulate(designs, family)).dropna().head(rows)
        if len(table) == rows:
            table.insert(0, "family", family.name)
            return table
    raise DataError(
        f"Only {len(table)} of {len(designs)} designs of {family.name!r} are feasible, not {rows}. "
        "Give the family larger diameters, or less flow."
    )
