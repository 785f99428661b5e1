"""Which cases are unstable, who may say so, and what a second measurement excuses: the pure part."""

from __future__ import annotations

import pytest
from golden.build import World, measurement, metrics, settings

from gate.compare import unreproduced
from gate.model.cost import Spent, summed, summed_by_arm
from gate.model.measurement import Measurement
from gate.model.run import Run, Side
from gate.noise import (
    carried,
    claimed,
    doubted,
    marked,
    moved,
    unconfirmed,
    with_again,
    with_seen,
    with_unstable,
)
from gate.situation import Situation, resolve

LOST = ("install", "limits", "queue", "paint")
BASE = World()
LOW = BASE.answers("vector", rq_012=LOST)


def known(*cases: str) -> Measurement:
    """The base's baseline, in which these cases of `vector` are unstable."""
    return measurement(BASE.but(unstable={"vector": cases} if cases else {}))


def run(now: World, trusted: Measurement, brought: Measurement | None = None) -> Run:
    measured = measurement(now)
    own = settings(now)
    return Run(
        suite="orbit",
        head=Side(own, brought or trusted),
        now=measured,
        on_base=measured,
        base=Side(own, trusted),
    )


def situation(one: Run) -> Situation:
    return resolve(one, metrics())


def test_what_moved_in_any_measurement_is_unstable_and_the_first_one_counts() -> None:
    first, same = measurement(BASE), measurement(BASE)
    assert with_unstable(first, [same, same]) == first
    found = with_unstable(first, [same, measurement(LOW)])
    assert found.arms["vector"].unstable == ("rq-012",)
    assert found.arms["keyword"].unstable == ()
    assert found.arms["vector"].rows == first.arms["vector"].rows


def test_a_case_that_fails_in_one_of_two_measurements_has_moved() -> None:
    row = measurement(BASE).arms["vector"].rows["rq-012"]
    assert moved(row, None)
    assert moved(None, row)
    assert not moved(None, None)
    assert not moved(row, row)
    failed = measurement(BASE.but(failed={"vector": {"rq-004": "OSError: gone"}}))
    assert with_unstable(measurement(BASE), [failed]).arms["vector"].unstable == ("rq-004",)


def test_dust_is_no_move() -> None:
    row = measurement(BASE).arms["vector"].rows["rq-012"]
    dusty = row.model_copy(update={"recall": row.scores["recall"] - 1e-12})
    assert not moved(row, dusty)


def test_what_is_known_is_carried_over_one_measurement() -> None:
    now = measurement(BASE)
    assert carried(now, known("rq-012")).arms["vector"].unstable == ("rq-012",)
    relabelled = BASE.but(
        cases=tuple((*case[:3], ("polish",)) if case[0] == "rq-012" else case for case in BASE.cases)
    )
    assert carried(measurement(relabelled), known("rq-012")).arms["vector"].unstable == ()
    other = measurement(BASE.but(settings={"vector": {"model": "another"}}))
    assert carried(other, known("rq-012")).arms["vector"].unstable == ()
    assert carried(measurement(BASE.but(arms=("keyword",))), known("rq-012")).arms.keys() == {"keyword"}


def test_only_what_is_there_can_be_marked() -> None:
    now = measurement(BASE)
    assert marked(now, [("nobody", "rq-012"), ("vector", "rq-999")]) is now


def test_only_arms_that_the_base_knows_as_noisy_are_doubted() -> None:
    one = run(LOW, known("rq-002"))
    arms = situation(one).arms
    assert doubted(known("rq-002"), [arms]) == {"vector": ("rq-012",)}
    assert doubted(known(), [arms]) == {}


def test_an_excused_loss_is_not_measured_again() -> None:
    one = run(LOW, known("rq-012"))
    arms = dict(situation(one).arms)
    lost = arms["vector"].lost[0].model_copy(update={"weighs": False})
    assert doubted(known("rq-012"), [{"vector": arms["vector"].model_copy(update={"lost": (lost,)})}]) == {}


@pytest.mark.parametrize(("again", "flaky"), [(BASE, True), (LOW, False)])
def test_a_loss_is_flaky_when_the_second_measurement_is_not_lower(again: World, flaky: bool) -> None:
    pair = ("vector", "rq-012")
    rows = {pair: measurement(again).arms["vector"].rows["rq-012"]}
    assert (pair in unconfirmed(known("rq-002"), rows, ("recall",))) is flaky
    assert unconfirmed(known(), rows, ("recall",)) == frozenset(), "not on an arm that is known as stable"
    [move] = situation(with_again(run(LOW, known("rq-002")), rows)).arms["vector"].lost
    assert (move.flaky, move.weighs) == (flaky, not flaky)


def test_every_metric_that_decides_has_to_recover() -> None:
    """The page is back in the top 3, but not where it was: recall is confirmed as whole, MRR is still lower."""
    pair = ("vector", "rq-012")
    rows = {
        pair: measurement(BASE.answers("vector", rq_012=("install", "paint"))).arms["vector"].rows["rq-012"]
    }
    assert pair in unconfirmed(known("rq-012"), rows, ("recall",))
    assert pair not in unconfirmed(known("rq-012"), rows, ("recall", "rr"))


def test_under_the_bases_own_settings_a_flaky_loss_is_flaky_too() -> None:
    """A change that raises k: what is lost under the base's k is measured again, and scored under that k."""
    trusted = known("rq-012")
    now = LOW.but(meaning=BASE.meaning.model_copy(update={"k": 5}))
    one = run(now, trusted, brought=measurement(now))
    [move] = situation(one).under_base["vector"].lost
    assert move.weighs
    answers = measurement(BASE.but(meaning=now.meaning)).arms["vector"].rows["rq-012"]
    settled = situation(with_again(one, {("vector", "rq-012"): answers}))
    [move] = settled.under_base["vector"].lost
    assert (move.flaky, move.weighs) == (True, False)


def test_what_a_second_measurement_shows_is_recorded() -> None:
    rows = {("vector", "rq-012"): measurement(BASE).arms["vector"].rows["rq-012"]}
    settled = with_again(run(LOW, known("rq-002")), rows)
    assert settled.now.arms["vector"].unstable == ("rq-012",)
    assert settled.on_base is settled.now


# -- claims of a brought baseline


def test_a_claim_is_open_until_the_case_is_seen_to_move() -> None:
    brought = measurement(LOW.but(unstable={"vector": ("rq-012",)}))
    one = run(BASE, known(), brought)
    assert claimed(one) == {"vector": ("rq-012",)}
    same = measurement(BASE).arms["vector"].rows["rq-012"]
    one = with_seen(one, {("vector", "rq-012"): same})
    assert claimed(one) == {"vector": ("rq-012",)}, "it did not move"
    one = with_seen(one, {("vector", "rq-012"): brought.arms["vector"].rows["rq-012"]})
    assert claimed(one) == {}
    assert one.now.arms["vector"].unstable == ("rq-012",)


def test_a_case_that_moves_elsewhere_is_no_proof_of_a_row_below_all() -> None:
    """Seen at two scores, it is unstable; but recorded lower than either, it is not reproduced."""
    halves = BASE.answers("vector", rq_010=("errors", "install", "limits", "shake"))
    nothing = BASE.answers("vector", rq_010=("install", "limits", "paint")).but(
        unstable={"vector": ("rq-010",)}
    )
    one = run(BASE, known(), measurement(nothing))
    one = with_seen(one, {("vector", "rq-010"): measurement(halves).arms["vector"].rows["rq-010"]})
    assert one.now.arms["vector"].unstable == ("rq-010",)
    assert claimed(one) == {"vector": ("rq-010",)}


def test_what_is_not_called_unstable_is_not_measured_again() -> None:
    assert claimed(run(BASE, known(), measurement(LOW))) == {}
    assert claimed(run(BASE, known())) == {}


def test_a_case_that_the_base_knows_may_be_recorded_down_to_what_was_seen() -> None:
    trusted, now = known("rq-012"), measurement(BASE)
    lower = measurement(LOW)
    assert unreproduced(now, lower, trusted) == {"vector": ("rq-012",)}
    seen = {("vector", "rq-012"): (lower.arms["vector"].rows["rq-012"],)}
    assert unreproduced(now, lower, trusted, seen) == {}
    assert unreproduced(measurement(LOW), measurement(BASE), trusted) == {}, "higher is what the base holds"


def test_a_row_that_is_left_out_is_not_reproduced_however_unstable() -> None:
    now = measurement(BASE)
    vector = now.arms["vector"]
    rows = {name: row for name, row in vector.rows.items() if name != "rq-012"}
    lacking = now.model_copy(
        update={"arms": {**now.arms, "vector": vector.model_copy(update={"rows": rows})}}
    )
    assert unreproduced(now, lacking, known("rq-012")) == {"vector": ("rq-012",)}


# -- what it cost


def test_costs_add_up_and_an_unknown_one_stays_unknown() -> None:
    one = Spent(requests=1, texts=2, cached=3, tokens=4, cost_usd=0.25, price="p")
    other = Spent(requests=10, texts=20, cached=30, tokens=40, cost_usd=0.5, price="p")
    assert summed([one, other]) == Spent(
        requests=11, texts=22, cached=33, tokens=44, cost_usd=0.75, price="p"
    )
    assert summed([one, Spent(requests=1, cost_usd=None)]).cost_usd is None
    assert summed([]) == Spent()
    assert summed_by_arm([{"a": one}, {"a": one, "b": other}]) == {"a": summed([one, one]), "b": other}
