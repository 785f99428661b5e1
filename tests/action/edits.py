"""What people do to the small project in the scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from small_project import Project

if TYPE_CHECKING:
    from action.job import Site

TWO_ARMS = '[suite.docs.arms.second]\ntype = "bm25"\nk1 = 1.2\n\n[suite.docs.arms.keyword]'


def add_page(project: Project) -> None:
    project.write("docs/extra.md", "# Extra\n\nNothing.\n")


def break_e101(project: Project) -> None:
    """Rewrite the section that answers q-02, so that it no longer does."""
    project.edit("docs/errors.md", "## E101 WidgetJam\n\nE101 means", "## A jam\n\nIt means")
    project.edit("docs/faq.md", "See the errors page.", "See the WidgetJam page on E101.")
    project.edit("docs/news.md", "grew.", "grew. E101 WidgetJam went.")


def mend_e101(project: Project) -> None:
    project.git("checkout", "--quiet", "origin/main", "--", "docs")


def record(project: Project, *arguments: str) -> None:
    """`gate baseline`, and no accepted losses beside it."""
    done = project.gate("baseline", "--reason", "it is only a demo", *arguments)
    assert done.code == 0, done.err
    (project.root / "baselines" / "docs.accepted.toml").unlink(missing_ok=True)


def lower_own_baseline(project: Project) -> None:
    record(project)


def remove_case(project: Project) -> None:
    project.cases.remove(project.case("q-02"))
    project.save_cases()
    record(project)


def rekind_case(project: Project) -> None:
    project.case("q-02")["kind"] = "semantic"
    project.save_cases()
    record(project)


def weaken_policy(project: Project) -> None:
    policy = '\n[suite.docs.policy]\nrule = "max-drop"\nmax_drop = 1.0\n'
    project.write("gate.toml", project.read("gate.toml") + policy)


def repoint_baseline(project: Project) -> None:
    project.edit("gate.toml", "k = 2", 'baseline = "elsewhere/mine.json"\nk = 2')
    record(project)


def stop_gating(project: Project) -> None:
    """The arm is no longer gated, and another one is, so that the file stays valid."""
    project.edit(
        "gate.toml", 'type = "bm25"', 'type = "bm25"\ngate = false\n\n[suite.docs.arms.other]\ntype = "bm25"'
    )


def losing_2000_cases(site: Site) -> int:
    """A pull request that empties the 50 pages which answer 2,000 cases on main; its number."""
    project = site.project
    project.git("checkout", "--quiet", "main")
    words = [f"word{position:04}" for position in range(2000)]
    for page in range(50):
        project.write(f"docs/page{page}.md", f"# Page\n\n{' '.join(words[page::50])}\n")
    project.cases.extend(
        {
            "id": f"n-{position:04}",
            "query": word,
            "relevant_doc_ids": [f"page{position % 50}"],
            "kind": "exact_term",
            "split": "test",
        }
        for position, word in enumerate(words)
    )
    project.save_cases()
    record(project)
    site.push("main")
    project.git("checkout", "--quiet", "-B", "change")
    for page in range(50):
        project.write(f"docs/page{page}.md", "# Page\n\nNothing stands here.\n")
    site.push()
    return site.open_pull()


Edit = Callable[[Project], None]
