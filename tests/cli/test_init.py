"""gate init: what it writes works at once, and it writes all or nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_project import PAGES, REPOSITORY, Project

from gate import __version__
from gate.commands.init import ACTION, WORKFLOWS

ACTIONS = ".github/workflows"
WRITTEN = ["gate.toml", "eval/retrieval_queries.jsonl", *(f"{ACTIONS}/{name}" for name in WORKFLOWS)]
OWN = REPOSITORY / ACTIONS


@pytest.fixture
def fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A repository with pages and nothing of the gate's."""
    project = Project(tmp_path / "fresh", capsys)
    for name, text in PAGES.items():
        project.write(f"docs/{name}.md", text)
    project.git("init", "--quiet", "--initial-branch", "main")
    return project


def test_what_it_writes_passes_check_baseline_and_run(fresh: Project) -> None:
    pages = set(fresh.files())
    done = fresh.gate("init")
    assert (done.code, done.err) == (0, "")
    assert set(fresh.files()) - pages == set(WRITTEN)
    assert [
        line.removeprefix("wrote ") for line in done.out.splitlines() if line.startswith("wrote ")
    ] == WRITTEN
    assert fresh.gate("check").code == 0
    assert fresh.gate("baseline").code == 0
    fresh.commit("the gate")
    run = fresh.gate("run", "--base", "HEAD")
    assert run.code == 0
    assert run.out.startswith("pass")


def test_a_change_that_breaks_a_page_fails_from_the_first_day_on(fresh: Project) -> None:
    fresh.gate("init")
    fresh.gate("baseline")
    fresh.commit("the gate")
    fresh.remove("docs/api.md")
    assert fresh.gate("run", "--base", "HEAD").code == 1


def test_a_folder_of_a_monorepo_has_its_workflows_at_the_top(fresh: Project) -> None:
    fresh.write("services/search/handbook/one.md", "# One\n\nThe first page.\n")
    done = fresh.gate("init", "services/search")
    assert (done.code, done.err) == (0, "")
    files = fresh.files()
    assert {f"services/search/{name}" for name in WRITTEN[:2]} <= set(files)
    assert not [name for name in files if name.startswith("services/search/.github")]
    assert f"wrote ../../{ACTIONS}/gate.yml" in done.out
    for name in WORKFLOWS:
        text = fresh.read(f"{ACTIONS}/{name}")
        assert text.count('working-directory: "services/search"') == text.count(f"uses: {ACTION}@"), name


def test_a_folder_outside_git_is_its_own_top(fresh: Project) -> None:
    shutil.rmtree(fresh.root / ".git")
    assert fresh.gate("init").code == 0
    assert "working-directory" not in fresh.read(f"{ACTIONS}/gate.yml")


def test_the_default_branch_of_a_clone_seeds_the_cache(fresh: Project, tmp_path: Path) -> None:
    fresh.git("checkout", "--quiet", "-b", "trunk")
    fresh.commit("pages")
    fresh.git("clone", "--quiet", str(fresh.root), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone", fresh.capture)
    assert clone.gate("init").code == 0
    assert 'branches: ["trunk"]' in clone.read(f"{ACTIONS}/gate.yml")


ABOVE = [*((str(Path(name).parent), name) for name in WRITTEN[1:]), (".github", WRITTEN[2])]


@pytest.mark.parametrize(
    ("place", "how", "name"),
    [
        *((name, how, name) for name in WRITTEN for how in ("file", "folder", "dangling link")),
        *((place, how, name) for place, name in ABOVE for how in ("file", "dangling link")),
    ],
)
def test_nothing_is_written_where_anything_is_in_the_way(
    place: str, how: str, name: str, fresh: Project
) -> None:
    _in_the_way(fresh.root / place, how)
    before = fresh.files()
    done = fresh.gate("init")
    assert done.code == 2
    assert "nothing was written" in done.err
    assert name in done.err
    assert fresh.files() == before


def _in_the_way(place: Path, how: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if how == "folder":
        place.mkdir()
    elif how == "dangling link":
        place.symlink_to("nowhere")
    else:
        place.write_text("mine\n", encoding="utf-8")


def test_a_second_init_names_every_file_and_changes_none(fresh: Project) -> None:
    fresh.gate("init")
    before = fresh.files()
    done = fresh.gate("init")
    assert done.code == 2
    assert [name for name in WRITTEN if f"{name}: is there already" in done.err] == WRITTEN
    assert fresh.files() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere: is no folder"),
        (("--corpus", "absent"), "absent"),
        (("--suite", "two words"), "--suite 'two words'"),
        (("--suite", "a.b"), "--suite 'a.b'"),
        (("--suite", "x]\n[suite.y"), "cannot name a suite"),
    ],
)
def test_nothing_is_written_for_wrong_arguments(
    arguments: tuple[str, ...], said: str, fresh: Project
) -> None:
    before = fresh.files()
    done = fresh.gate("init", *arguments)
    assert done.code == 2
    assert said in done.err
    assert fresh.files() == before


# -- the workflows


@pytest.fixture(params=[".", "services/search"])
def scaffolded(request: pytest.FixtureRequest, fresh: Project) -> Project:
    fresh.write("services/search/docs/one.md", "# One\n\nThe first page.\n")
    assert fresh.gate("init", request.param).code == 0
    return fresh


def linter(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


LINTERS = {
    "zizmor": ["--offline", "--no-progress", "--collect=all", "--strict-collection", "--persona=auditor"],
    "actionlint": [],
    "check-jsonschema": ["--builtin-schema", "vendor.github-workflows"],
}


@pytest.mark.parametrize("name", LINTERS)
def test_linters_find_nothing_in_the_scaffold(name: str, scaffolded: Project) -> None:
    lint(name, scaffolded.root)


@pytest.mark.parametrize("name", LINTERS)
def test_linters_find_nothing_in_our_own_workflows(name: str) -> None:
    lint(name, REPOSITORY)


def lint(name: str, root: Path) -> None:
    files = [str(path) for path in sorted((root / ACTIONS).glob("*.yml"))]
    done = subprocess.run(
        [linter(name), *LINTERS[name], *files], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_dependabot_is_configured_by_its_schema() -> None:
    command = [linter("check-jsonschema"), "--builtin-schema", "vendor.dependabot"]
    done = subprocess.run(
        [*command, str(REPOSITORY / ".github/dependabot.yml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_action_is_named_at_this_version(scaffolded: Project) -> None:
    for name in WORKFLOWS:
        used = re.findall(rf"uses: {ACTION}@(\S+)", scaffolded.read(f"{ACTIONS}/{name}"))
        assert set(used) == {f"v{__version__}"}, name


def test_third_party_actions_are_pinned_as_in_our_own_workflows(scaffolded: Project) -> None:
    own = "".join(path.read_text(encoding="utf-8") for path in OWN.glob("*.yml"))
    own += (REPOSITORY / "action.yml").read_text(encoding="utf-8")
    for name in WORKFLOWS:
        for line in scaffolded.read(f"{ACTIONS}/{name}").splitlines():
            _, uses, what = line.partition("uses: ")
            if uses and not what.startswith(ACTION):
                assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[0-9.]+", what), line
                assert what in own, line


@pytest.mark.parametrize("name", ["gate.yml", "gate-comment.yml"])
def test_what_we_run_is_what_we_scaffold(name: str, fresh: Project) -> None:
    fresh.gate("init")
    ours = re.sub(r"\n +- uses: \./", f"\n      - uses: {ACTION}@v{__version__}", own(name))
    theirs = fresh.read(f"{ACTIONS}/{name}").replace('["main"]', "[main]")
    assert bare(theirs) == bare(ours)


def own(name: str) -> str:
    return (OWN / name).read_text(encoding="utf-8")


def bare(text: str) -> list[str]:
    """The lines without comments."""
    return [
        line
        for raw in text.splitlines()
        if (line := raw.partition(" #")[0].rstrip()) and not line.startswith("#")
    ]


@pytest.mark.parametrize(
    "path", [*sorted(OWN.glob("*.yml")), REPOSITORY / "action.yml"], ids=lambda path: path.name
)
def test_no_expression_stands_in_a_script(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    scripts = re.findall(r"^( +)(?:- )?run: (.*(?:\n(?:\1 .*)?)*)", text, re.MULTILINE)
    assert not [script for _, script in scripts if "${{" in script]


def test_the_required_check_can_be_neither_filtered_nor_skipped(scaffolded: Project) -> None:
    for text in (own("gate.yml"), scaffolded.read(f"{ACTIONS}/gate.yml")):
        keys = {line.split(":")[0].strip(" -") for line in bare(text)}
        assert {"pull_request", "merge_group", "push", "fetch-depth", "persist-credentials"} <= keys
        assert not keys & {"paths", "paths-ignore", "if", "continue-on-error"}


# -- a second project, and a branch that is not called main


def test_a_second_folder_of_a_monorepo_keeps_the_workflows_and_says_what_to_add(fresh: Project) -> None:
    for folder in ("search", "support"):
        fresh.write(f"services/{folder}/docs/one.md", "# One\n\nThe first page.\n")
    assert fresh.gate("init", "services/search").code == 0
    before = fresh.files()
    done = fresh.gate("init", "services/support")
    assert (done.code, done.err) == (0, "")
    after = fresh.files()
    assert set(after) - set(before) == {f"services/support/{name}" for name in WRITTEN[:2]}
    assert {name: after[name] for name in before} == before
    for name in WORKFLOWS:
        assert f"kept ../../{ACTIONS}/{name}, which is there already" in done.out
    assert "working-directory: services/support\n" in done.out
    assert "comment-key: support\n" in done.out
    assert "docs/monorepo.md" in done.out
    assert fresh.gate("check", "--config", "services/support").code == 0
    again = fresh.gate("init", "services/support")
    assert again.code == 2, "gate.toml of that project itself is there"
    assert "gate.toml: is there already" in again.err
    assert fresh.files() == after


def test_workflows_that_name_the_folder_already_need_nothing_added(fresh: Project) -> None:
    fresh.write("services/search/docs/one.md", "# One\n\nThe first page.\n")
    assert fresh.gate("init", "services/search").code == 0
    for name in WRITTEN[:2]:
        fresh.remove(f"services/search/{name}")
    done = fresh.gate("init", "services/search")
    assert done.code == 0
    assert "to do" not in done.out
    assert "to do: gate.yml, gate-comment.yml, baseline-refresh.yml do not know" in fresh.gate("init").out


def test_a_workflow_of_somebody_else_is_in_the_way_of_a_folder_too(fresh: Project) -> None:
    fresh.write("services/search/docs/one.md", "# One\n\nThe first page.\n")
    fresh.write(f"{ACTIONS}/gate.yml", "name: the gate of the car park\n")
    before = fresh.files()
    done = fresh.gate("init", "services/search")
    assert done.code == 2
    assert "gate.yml: is there already" in done.err
    assert fresh.files() == before


def test_where_no_clone_tells_the_default_branch_the_current_one_is_taken_and_said(fresh: Project) -> None:
    fresh.git("checkout", "--quiet", "-b", "release/next")
    done = fresh.gate("init")
    assert 'branches: ["release/next"]' in fresh.read(f"{ACTIONS}/gate.yml")
    assert 'gate.yml has branches: ["release/next"]' in done.out
    assert "the branch that is checked out" in done.out
