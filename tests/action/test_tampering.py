"""Each tampering of DESIGN section 6, through act: the verdict of the table, and a banner that the reviewer sees."""

from __future__ import annotations

import pytest
from action.edits import (
    TWO_ARMS,
    Edit,
    break_e101,
    lower_own_baseline,
    record,
    rekind_case,
    remove_case,
    repoint_baseline,
    stop_gating,
    weaken_policy,
)
from action.job import Site

BANNER = "This change touches what decides about it"


@pytest.mark.parametrize(
    ("tampering", "banners"),
    [
        (lower_own_baseline, {"baseline-edited"}),
        (remove_case, {"cases-and-baseline-changed"}),
        (rekind_case, {"cases-and-baseline-changed"}),
        (weaken_policy, {"policy-changed"}),
        (repoint_baseline, {"baseline-moved", "baseline-edited"}),
        (stop_gating, {"arm-rules-changed"}),
    ],
)
def test_tampering_does_not_hide_a_loss(site: Site, tampering: Edit, banners: set[str]) -> None:
    break_e101(site.project)
    tampering(site.project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 1, "regression")
    assert banners <= ran.findings("banner")
    body = site.comment(number)
    assert "### ❌ regression" in body
    assert BANNER in body
    assert BANNER in ran.summary
    assert "q-02" in body


def test_a_dropped_arm_is_invalid(site: Site) -> None:
    project = site.project
    project.git("checkout", "--quiet", "main")
    project.edit("gate.toml", "[suite.docs.arms.keyword]", TWO_ARMS)
    record(project)
    site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    project.edit("gate.toml", TWO_ARMS, "[suite.docs.arms.keyword]")
    record(project)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 2, "invalid")
    assert "arm-absent" in ran.findings("invalid")
    assert "the arm 'second' of the base is absent here" in site.comment(number).replace("`", "'")
    assert BANNER in site.comment(number)


def test_a_gate_that_is_deleted_is_not_green(site: Site) -> None:
    site.project.remove("gate.toml")
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 2, "invalid")
    assert "invalid" in site.comment(number)
