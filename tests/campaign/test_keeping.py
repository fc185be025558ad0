"""What is kept for those who look again: the same for all of them, and never older than the campaign."""

import threading
import time

import pytest
from campaign.conftest import NEW

import headstart as hs
from headstart.campaign import Store
from headstart.campaign.keeping import Kept
from headstart.campaign.records import Prediction


def test_of_many_who_ask_at_once_one_computes():
    kept, made = Kept(most=2), []

    def make():
        made.append(threading.get_ident())
        time.sleep(0.2)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(kept.get("a", "1", make))) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 1
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_another_state_and_what_was_not_used_for_long_are_made_anew():
    kept, numbers = Kept(most=2), iter(range(10))
    look = [("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "2"), ("b", "1")]
    assert [kept.get(key, state, lambda: next(numbers)) for key, state in look] == [0, 0, 1, 2, 1, 3, 1, 4]


def test_what_fails_is_tried_again():
    kept = Kept(most=2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", "1", lambda: 1 / 0)
    assert kept.get("a", "1", lambda: 5) == 5


def test_every_change_of_a_campaign_is_noticed(campaign, where):
    """Each step changes the marker, so that nothing that was kept before it is shown after it."""
    store, other = Store(where, author="bob"), hs.Campaign.open("sines", store=where)
    worker = "elsewhere:1"

    def tell() -> None:
        campaign.observe({"task": "new", "x": 0.5, "y": 1.0})

    def last() -> int:
        return campaign.observations()[-1].id

    steps = {
        "told": tell,
        "judged": lambda: store.add_predictions({last(): Prediction(1.0, 0.1, 0.9, 1.1)}),
        "retracted": lambda: other.retract(last()),
        "asked": lambda: campaign.suggest(NEW, n=2),
        "accepted": lambda: other.accept(1),
        "withdrawn": lambda: other.withdraw(1),
        "answered": lambda: campaign.observe(1.5, suggestion=2),
        "queued": lambda: store.jobs.add(campaign.id, "refresh", {}),
        "pictures": lambda: store.beliefs.put(campaign.id, NEW, last(), {"maps": []}),
        "more pictures of the same": lambda: store.beliefs.put(campaign.id, NEW, last(), {"maps": [], "slices": {}}),
        "done": lambda: store.jobs.finish(store.jobs.claim(worker).id, worker, {}),
    }
    seen = {store.marker(campaign.id)}
    assert store.marker(campaign.id) in seen
    for name, step in steps.items():
        step()
        marker = store.marker(campaign.id)
        assert marker not in seen, name
        seen.add(marker)
    assert store.beliefs.latest(campaign.id, NEW).content == {"maps": [], "slices": {}}


def test_what_is_kept_is_made_anew_after_a_change_by_anyone(campaign, where):
    store = Store(where)

    def count() -> int:
        return store.kept(campaign.id, "count", lambda: len(store.snapshot(campaign.id).observations))

    first = count()
    assert store.by("bob").kept(campaign.id, "count", lambda: -1) == first  # the same for every author
    hs.Campaign.open("sines", store=where).observe({"task": "new", "x": 0.5, "y": 1.0})
    assert count() == first + 1
