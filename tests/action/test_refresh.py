"""baseline-refresh.yml through act: one job measures twice and only reads, the other proposes what it left behind."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from action.edits import add_page, break_e101
from action.job import NAME, Ran, Site
from action.test_hostile import prose, rendered
from small_project import REPOSITORY

TOKEN = "ghs_the_token_of_the_refresh"
BRANCH = "retrieval-gate/baseline-docs"
BASELINE = "baselines/docs.json"
ACCEPTED = "baselines/docs.accepted.toml"
ACTION = "retrieval-gate/retrieval-gate@v1"


@pytest.fixture
def refreshed(site: Site) -> Site:
    """acme/widget with a protected main, and the token that the two jobs of the workflow have between them."""
    site.repository.protect("main")
    site.github.add_token(TOKEN, permissions={"contents": "write", "pull_requests": "write"})
    site.project.git("checkout", "--quiet", "main")
    return site


def scaffolded(site: Site) -> str:
    """The workflow that `gate init` writes."""
    project = site.project
    project.remove("gate.toml")
    assert project.gate("init").code == 0
    text = project.read(".github/workflows/baseline-refresh.yml")
    project.git("checkout", "--quiet", "HEAD", "--", ".")
    project.git("clean", "--quiet", "-d", "--force")
    return text


def ours() -> str:
    """This repository's own, in a repository that has the action elsewhere."""
    text = (REPOSITORY / ".github" / "workflows" / "baseline-refresh.yml").read_text(encoding="utf-8")
    return re.sub(r"uses: \./", f"uses: {ACTION}", text)


def to_main(site: Site) -> str:
    """Commit the work tree, as somebody whom the protection lets through."""
    sha = site.project.commit()
    site.repository.git.run("fetch", "--quiet", str(site.project.root), "+HEAD:refs/heads/main")
    return sha


def dispatch(site: Site, text: str, inputs: Mapping[str, Any], ref: str = "refs/heads/main") -> Ran:
    sha = site.repository.git.ref(ref)
    assert sha is not None
    asked = {"suite": "", "reason": "", "pull-request": "", **inputs}
    payload = {"ref": ref, "inputs": asked, **site.repository_event()}
    return site.run("workflow_dispatch", payload, ref=ref, sha=sha, token=TOKEN, text=text)


def at(site: Site, path: str, branch: str = BRANCH) -> str | None:
    entry = site.repository.git.entry(f"refs/heads/{branch}", path)
    return site.repository.git.blob(entry["sha"]).decode() if entry else None


def jobs(ran: Ran) -> dict[str, str]:
    return {record["jobID"]: record["jobResult"] for record in ran.records if "jobResult" in record}


@pytest.mark.parametrize("whose", ["scaffolded", "ours"])
def test_a_lower_baseline_is_measured_and_proposed_with_its_reason(refreshed: Site, whose: str) -> None:
    site = refreshed
    text = scaffolded(site) if whose == "scaffolded" else ours()
    break_e101(site.project)
    main = to_main(site)
    ran = dispatch(site, text, {"suite": "docs", "reason": "E101 was retired | @everyone"})
    assert jobs(ran) == {"measure": "success", "propose": "success"}, ran.log
    assert ran.artifact().name == "retrieval-gate--measure-1"
    (pull,) = [issue for issue, _ in site.repository.pulls()]
    assert pull.title == "Refresh the baseline of docs (lowers 1 case)"
    body = pull.body or ""
    assert body.startswith("<!-- retrieval-gate suite=docs key=refresh -->\n")
    assert "**It lowers 1 case**" in body
    assert "keyword: 0 won, 1 lost, 5 tied" in body
    assert "E101 was retired" in body
    assert "@everyone" not in prose(rendered(body))
    assert at(site, BASELINE) == (ran.artifact() / "docs.baseline.json").read_text(encoding="utf-8")
    (entry,) = tomllib.loads(at(site, ACCEPTED) or "")["accepted"]
    assert (entry["name"], entry["reason"]) == ("q-02", "E101 was retired | @everyone")
    assert site.repository.git.branch("main") == main
    assert f"[#{pull.number}](" in ran.summary
    assert "keyword: 0 won, 1 lost, 5 tied" in ran.summary
    # Only what belongs to the branch and its pull request was written, all of it by the second job.
    assert {re.sub(r"/[0-9a-f]{40}$", "", one.split("?")[0]) for one in ran.writes} == {
        f"POST /repos/{NAME}/git/blobs",
        f"POST /repos/{NAME}/git/trees",
        f"POST /repos/{NAME}/git/commits",
        f"POST /repos/{NAME}/git/refs",
        f"POST /repos/{NAME}/pulls",
    }
    # The proposal passes the gate that it is held against, since its losses are accepted.
    site.project.write(BASELINE, at(site, BASELINE) or "")
    site.project.write(ACCEPTED, at(site, ACCEPTED) or "")
    assert site.project.gate("run", "--base", "HEAD").code == 0

    again = dispatch(site, text, {"suite": "docs", "reason": "E101 was retired | @everyone"})
    assert jobs(again) == {"measure": "success", "propose": "success"}
    assert "up to date" in again.log
    assert not [one for one in again.writes if "/git/refs" in one or "/git/commits" in one]
    assert f"POST /repos/{NAME}/pulls" not in again.writes


def test_lowering_without_a_reason_proposes_nothing(refreshed: Site) -> None:
    site = refreshed
    text = scaffolded(site)
    break_e101(site.project)
    to_main(site)
    ran = dispatch(site, text, {})
    assert jobs(ran)["measure"] == "failure"
    assert jobs(ran).get("propose", "skipped") == "skipped"
    assert ran.writes == []
    assert "### ⛔ invalid: no baseline was made" in ran.summary
    assert "1 case would be lowered: q-02" in ran.summary
    assert list(site.repository.pulls()) == []


def test_nothing_new_proposes_nothing(refreshed: Site) -> None:
    ran = dispatch(refreshed, ours(), {"reason": "just in case"})
    assert jobs(ran) == {"measure": "success", "propose": "success"}
    assert ran.writes == []
    assert "nothing changed, main has this baseline already" in ran.log


def test_a_pull_requests_baseline_goes_to_its_own_branch(refreshed: Site) -> None:
    site = refreshed
    text = scaffolded(site)
    site.project.git("checkout", "--quiet", "-B", "change")
    site.project.cases.append(
        {"id": "q-14", "query": "green", "relevant_doc_ids": ["news"], "kind": "semantic"}
    )
    site.project.save_cases()
    site.push()
    number = site.open_pull()
    ran = dispatch(site, text, {"reason": "a new case", "pull-request": str(number)})
    assert jobs(ran) == {"measure": "success", "propose": "success"}, ran.log
    branch = f"{BRANCH}-for-{number}"
    assert '"q-14"' in (at(site, BASELINE, branch) or "")
    assert '"q-14"' not in (at(site, BASELINE, "main") or "")
    (proposal,) = [pull for _, pull in site.repository.pulls() if pull.head_ref == branch]
    assert proposal.base_ref == "change"
    # Code of a pull request leaves nothing behind for other runs.
    kept = site.folder / "caches" / "log"
    assert not kept.exists() or "retrieval-gate-cache" not in kept.read_text(encoding="utf-8")


FLAKY = '''
"""A retriever that answers one query otherwise the second time."""
import os, pathlib

COUNT = pathlib.Path("@count@")
started = int(COUNT.read_text()) if COUNT.exists() else 0
COUNT.write_text(str(started + 1))


def search(query, k=10, *more, **others):
    again = "GATE_NO_CACHE" in os.environ
    return ["config" if query == "max_size" and not again else "errors"]
'''


def test_the_second_measurement_restarts_the_arms_and_finds_what_moves(refreshed: Site) -> None:
    site = refreshed
    count = site.folder / "starts"
    site.project.write("own_search.py", FLAKY.replace("@count@", str(count)))
    arm = '\n[suite.docs.arms.own]\ntype = "python"\ntarget = "own_search:search"\ngate = false\n'
    site.project.write("gate.toml", site.project.read("gate.toml") + arm)
    to_main(site)
    ran = dispatch(site, ours(), {"reason": "a new arm"})
    assert jobs(ran) == {"measure": "success", "propose": "success"}, ran.log
    assert int(count.read_text()) >= 2
    (pull,) = [issue for issue, _ in site.repository.pulls()]
    assert "Unstable under `own`, scored differently the second time: `q-04`." in (pull.body or "")
    assert json.loads(at(site, BASELINE) or "")["arms"]["own"]["unstable"] == ["q-04"]


def test_an_artifact_that_is_not_there_ends_the_second_job(refreshed: Site) -> None:
    site = refreshed
    add_page(site.project)
    to_main(site)
    text = ours().replace("artifact: retrieval-gate--measure-", "artifact: retrieval-gate--other-")
    ran = dispatch(site, text, {"reason": "why not"})
    assert jobs(ran) == {"measure": "success", "propose": "failure"}
    assert ran.writes == []
