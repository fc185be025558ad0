"""The API does what its OpenAPI document says, whatever is sent to it: schemathesis makes up the requests."""

import itertools

import pytest
import schemathesis
from dashboard import archive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.python.asgi import ASGIClient
from visiting import API, Visitor, suggested

import headstart as hs
from headstart.web.app import create_app
from headstart.web.safety import Safety
from headstart.web.views import PICTURES

NOT_CHECKED = [
    # What is well-formed may still be refused: a label that no task has, a column that is not there.
    schemathesis.checks.positive_data_acceptance,
    # Of several routes at one address, Starlette names the methods of the first alone.
    schemathesis.checks.allow_header_conformance,
]
FIXED = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
PROBLEM = hs.Problem(
    inputs={"speed_rpm": (1000, 3000), "angle_deg": (10, 40)}, general=["pump"], objective="head_m", goal="maximize"
)
counter = itertools.count()
# What is made up looks like slips, of which Headstart warns.
pytestmark = pytest.mark.filterwarnings("ignore::headstart.errors.DataWarning")


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> ASGIClient:
    """An application with a campaign in which something has happened."""
    visitor = Visitor(tmp_path_factory.mktemp("schema") / "headstart.db", Safety(rate=1e6))
    campaign = hs.Campaign.create("pumps", archive(), PROBLEM, store=visitor.store)
    for speed in (1500.0, 2000.0, 2500.0):
        suggested(visitor.store, campaign, {"pump": "new"}, {"speed_rpm": speed, "angle_deg": 25.0})
    campaign.observe(29.0, suggestion=1)
    campaign.withdraw(2)
    campaign.observe([{"pump": "new", "speed_rpm": 1200, "angle_deg": 20, "head_m": 22.0}])
    visitor.store.jobs.add(campaign.id, "validate", {"tasks": None})
    return ASGIClient(visitor.app, base_url="http://localhost")


# The document does not depend on what is stored; who answers comes with the first test.
document = schemathesis.openapi.from_dict(create_app(None).openapi())


def documented(method: str, path: str) -> set[int]:
    responses = document.raw_schema["paths"][path][method]["responses"]
    return {int(status) for status in responses}


def test_the_document_names_all_that_there_is():
    operations = {(each.ok().method.upper(), each.ok().path) for each in document.get_all_operations()}
    assert ("POST", f"{API}/campaigns/{{campaign_id}}/suggestions") in operations
    assert ("POST", f"{API}/campaigns/{{campaign_id}}/observations") in operations
    assert ("GET", f"{API}/jobs/{{job_id}}") in operations
    assert all(path.startswith(f"{API}/") for _, path in operations)  # pages are for people


@document.parametrize()
@settings(max_examples=20, **FIXED)
def test_the_document_is_true(case, lab):
    """No request is answered by a failure of ours, nor in a way that the document does not know."""
    numbers = {name: value for name, value in (case.path_parameters or {}).items() if isinstance(value, int)}
    # Of the campaigns, suggestions, jobs and pictures that are made up, hardly any is there.
    if numbers and all(0 < value < 2**31 for value in numbers.values()) and sum(numbers.values()) % 3:
        case.path_parameters |= {name: 1 + value % 3 if name != "campaign_id" else 1 for name, value in numbers.items()}
        if "kind" in case.path_parameters:
            case.path_parameters["kind"] = PICTURES[sum(numbers.values()) % len(PICTURES)]
    if case.meta.generation.mode.is_positive and "wait" in (case.query or {}):
        case.query["wait"] = 0
    case.call_and_validate(session=lab, base_url=lab.base_url, excluded_checks=NOT_CHECKED)


numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers()
cells = (
    st.none() | st.booleans() | numbers | st.text(max_size=8) | st.sampled_from(["1,5", "1e5", "nan", "=1", "{{1}}"])
)
labels = st.text(max_size=8) | numbers | st.booleans() | st.sampled_from(["P0", "p0", " P0", "P0 ", "new", "1", "1.0"])
sensible = st.fixed_dictionaries(
    {"speed_rpm": st.floats(0, 4000), "angle_deg": st.floats(0, 50), "head_m": st.floats(-1e6, 1e6)},
)
likely = sensible | st.fixed_dictionaries(
    {"speed_rpm": cells, "angle_deg": cells},
    optional={"head_m": cells, "pump": labels, "suggestion": cells, "remark": cells},
)
rows = st.lists(likely, min_size=1, max_size=4)
tasks = st.none() | st.fixed_dictionaries({"pump": labels})


@given(kind=st.sampled_from(["observations", "predictions", "suggestions"]), rows=rows, task=tasks)
@settings(max_examples=150, **FIXED)
def test_what_is_nearly_right_is_stored_or_refused(lab, kind, rows, task):
    """Cells of every sort in the right columns; whatever was stored, all of it can be looked at."""
    body = {"task": task, "candidates": rows} if kind == "suggestions" else {"task": task, "rows": rows}
    answer = lab.post(f"{API}/campaigns/1/{kind}", json=body)
    assert answer.status_code in documented("post", f"{API}/campaigns/{{campaign_id}}/{kind}") - {400, 404, 503}
    if answer.status_code == 422:
        assert answer.json()["detail"]


@given(
    archive=st.lists(likely | sensible.map(lambda row: row | {"pump": "A"}), min_size=1, max_size=6),
    bounds=st.none() | st.lists(numbers, min_size=1, max_size=4),
    general=st.sampled_from([["pump"], ["pump", "remark"], ["speed_rpm"], ["pump", "pump"]]),
)
@settings(max_examples=60, **FIXED)
def test_a_campaign_is_created_or_refused(lab, archive, bounds, general):
    name = f"campaign {next(counter)}"
    inputs = {"speed_rpm": bounds, "angle_deg": None}
    body = {"name": name, "inputs": inputs, "general": general, "objective": "head_m", "goal": "minimize"}
    answer = lab.post(f"{API}/campaigns", json=body | {"archive": archive})
    assert answer.status_code in (201, 422)
    if answer.status_code == 201:
        assert lab.get(f"/campaigns/{answer.json()['id']}").status_code == 200


def test_all_that_came_of_it_can_be_looked_at(lab):
    """The last test of this module: whatever was stored before breaks no view of it."""
    found = lab.get(f"{API}/campaigns").json()["campaigns"]
    assert len(lab.get(f"{API}/campaigns/1/experiments").json()["experiments"]) > 10
    assert len(found) > 3
    for each in found:
        for path in ("", "/tasks", "/activity", "/experiments", "/data", "/suggestions", "/pictures/honesty"):
            assert lab.get(f"{API}/campaigns/{each['id']}{path}").status_code == 200
        for path in (
            "",
            "?all=1",
            "/pictures",
            "/trust",
            "/export/history.csv",
            "/export/history.xlsx",
            "/export/data.csv",
        ):
            assert lab.get(f"/campaigns/{each['id']}{path}").status_code == 200, path
    assert lab.get("/").status_code == 200
