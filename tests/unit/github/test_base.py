"""Which commit decides: over real clones of a real repository, with GitHub's own merge commits behind them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from github_site import Site
from hypothesis import given
from hypothesis import strategies as st

from gate.commands._step_plan import Checkout
from gate.errors import InputError
from gate.github.base import Found, find_base
from gate.github.event import Event, Pull


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def event_of(site: Site, **more: object) -> Event:
    pull = site.client().pull(1)
    event = Event(
        name="pull_request",
        repository="acme/widget",
        sha=pull.merge_sha,
        api_url=site.github.api,
        pull=Pull(
            number=1,
            head_sha=pull.head_sha,
            head_ref=pull.head_ref,
            head_repo="acme/widget",
            base_sha=pull.base_sha,
            base_ref="main",
            fork=False,
        ),
    )
    return event.model_copy(update=more)


@pytest.fixture
def checkout(site: Site, tmp_path: Path) -> Callable[..., Path]:
    """What actions/checkout leaves: one ref at some depth (0: all of it)."""

    def make(ref: str = "refs/pull/1/merge", depth: int = 2) -> Path:
        folder = tmp_path / f"{ref.replace('/', '-')}-{depth}"
        folder.mkdir()
        git(folder, "init", "--quiet")
        git(folder, "remote", "add", "origin", f"file://{site.repository.git.path}")
        git(folder, "config", "gc.auto", "0")
        how = [f"--depth={depth}"] if depth else ["+refs/heads/*:refs/remotes/origin/*"]
        git(folder, "fetch", "--quiet", "origin", *how, f"+{ref}:refs/gate")
        git(folder, "checkout", "--quiet", "refs/gate")
        return folder

    return make


def found(site: Site, folder: Path, event: Event | None = None) -> Found:
    event = event or event_of(site)
    site.github.clear_log()
    return find_base(event, Checkout(folder))


def tip(site: Site, branch: str = "main") -> str:
    return site.repository.git.branch(branch) or ""


def main_moves_on(site: Site) -> str:
    return site.repository.git.commit_files("main", {"docs/later.md": "# Later\n"})


@pytest.mark.parametrize("depth", [1, 2, 3, 0])
def test_a_merge_checkout_knows_its_first_parent(
    site: Site, checkout: Callable[..., Path], depth: int
) -> None:
    base = main_moves_on(site)
    site.client().pull(1)
    assert found(site, checkout(depth=depth)) == Found(base, "first parent of the merge commit")
    assert site.github.log == []


def test_main_may_move_between_the_event_and_the_run(site: Site, checkout: Callable[..., Path]) -> None:
    base = tip(site)
    event = event_of(site)
    folder = checkout(depth=2)
    main_moves_on(site)
    assert found(site, folder, event).commit == base


@pytest.mark.parametrize("depth", [1, 2, 0])
def test_a_checkout_of_the_head_is_held_against_the_merge_base(
    site: Site, checkout: Callable[..., Path], depth: int
) -> None:
    fork_point = tip(site)
    main_moves_on(site)
    site.client().pull(1)
    assert found(site, checkout("refs/pull/1/head", depth)) == Found(
        fork_point, "merge base of head and base"
    )


@pytest.mark.parametrize("depth", [1, 2, 0])
def test_a_head_that_merged_main_is_no_merge_of_github_s(
    site: Site, checkout: Callable[..., Path], depth: int
) -> None:
    merged = main_moves_on(site)
    # A person merges main into the branch: the branch's own commit comes first.
    tree = site.repository.git.commit(site.repository.git.merge(merged, site.head, "x") or "").tree
    own = site.repository.git.write_commit(tree, [site.head, merged], "Merge main into change")
    site.repository.git.set_ref("refs/heads/change", own)
    later = main_moves_on_again(site)
    site.client().pull(1)
    event = event_of(site, sha=own)
    assert found(site, checkout("refs/pull/1/head", depth), event) == Found(
        merged, "merge base of head and base"
    )
    assert found(site, checkout("refs/pull/1/merge", 2)).commit == later


def main_moves_on_again(site: Site) -> str:
    return site.repository.git.commit_files("main", {"docs/even-later.md": "# Later\n"})


def test_without_git_the_event_s_base_is_taken_with_a_warning(site: Site, tmp_path: Path) -> None:
    made = found(site, tmp_path)
    assert (made.commit, made.how) == (tip(site), "the event's base commit")
    assert "fetch-depth: 2" in made.warning


def test_without_a_git_program_it_says_so(
    site: Site, checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, event = checkout(depth=2), event_of(site)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="git: could not be run"):
        find_base(event, Checkout(folder))


def test_a_merge_group_names_its_base(site: Site, tmp_path: Path) -> None:
    event = Event(name="merge_group", sha="a" * 40, merge_base_sha="b" * 40)
    assert find_base(event, Checkout(tmp_path)) == Found("b" * 40, "the merge group's base")


@pytest.mark.parametrize("name", ["push", "schedule", "workflow_dispatch", "merge_group", "workflow_run", ""])
def test_everything_else_has_no_base(site: Site, tmp_path: Path, name: str) -> None:
    event = event_of(site, name=name)
    assert find_base(event, Checkout(tmp_path)).commit is None


class Known:
    """A history that says what it was told."""

    def __init__(self, parents: list[str], base: str | None) -> None:
        self._parents, self._base = parents, base

    def parents(self, commit: str) -> list[str]:
        return self._parents

    def merge_base(self, one: str, other: str) -> str | None:
        return self._base


SHAS = st.sampled_from(["head", "main", "other"])


@given(st.lists(SHAS, max_size=3), st.none() | st.just("fork point"))
def test_a_base_is_a_first_parent_only_of_a_merge_of_this_head(parents: list[str], base: str | None) -> None:
    pull = Pull(
        number=1, head_sha="head", head_ref="c", head_repo=None, base_sha="base", base_ref="main", fork=True
    )
    event = Event(name="pull_request", sha="merge", pull=pull)
    made = find_base(event, Known(parents, base))
    fits = len(parents) == 2 and parents[1] == "head"
    assert made.commit == (parents[0] if fits else base or "base")
    assert bool(made.warning) == (not fits and base is None)
