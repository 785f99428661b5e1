"""The base tree: what is there is read as it was committed, and what cannot be read never looks like absent."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import Project

from gate.errors import InputError
from gate.store import git


def base(project: Project, folder: str = ".") -> git.Base:
    return git.open_base(project.root / folder, "HEAD")


def test_a_file_of_the_commit(project: Project) -> None:
    project.write("gate.toml", "changed")
    assert (base(project).read("gate.toml") or "").startswith("[suite.docs]")


@pytest.mark.parametrize(
    "path",
    ["nowhere.json", "docs", "gate.toml/x", "../outside", "/etc/hostname", "*.toml", ":(top)gate.toml"],
)
def test_what_the_commit_has_not_as_a_file_is_none(project: Project, path: str) -> None:
    assert base(project).read(path) is None


def test_names_that_look_like_patterns_or_like_parents_are_names(project: Project) -> None:
    project.write("..odd/[a]*.json", "odd")
    project.commit()
    assert base(project).read("..odd/[a]*.json") == "odd"


def test_paths_are_relative_to_the_folder_of_the_config(project: Project) -> None:
    below = base(project, "docs")
    assert below.read("../gate.toml") == project.read("gate.toml")
    assert below.read("faq.md") == project.read("docs/faq.md")
    assert below.read("../../gate.toml") is None


def test_a_file_that_is_there_and_cannot_be_read_is_an_error(project: Project) -> None:
    """As in a partial clone without network: its tree is here, its content is not."""
    sha = project.git("rev-parse", "HEAD:baselines/docs.json").strip()
    lost = project.root / ".git" / "objects" / sha[:2] / sha[2:]
    lost.chmod(0o600)
    lost.unlink()
    with pytest.raises(InputError, match="'git cat-file' failed"):
        base(project).read("baselines/docs.json")


def test_a_bom_and_crlf_are_read_as_in_the_work_tree(project: Project) -> None:
    project.write("odd.toml", b"\xef\xbb\xbfa = 1\r\n")
    project.commit()
    assert base(project).read("odd.toml") == "a = 1\n"


def test_broken_utf8_is_an_error(project: Project) -> None:
    project.write("odd.toml", b"a = '\xff'\n")
    project.commit()
    with pytest.raises(InputError, match=r"odd\.toml at .*is not UTF-8"):
        base(project).read("odd.toml")


def test_a_tree_is_extracted_whole_whatever_gitattributes_say(project: Project, tmp_path: Path) -> None:
    project.write(".gitattributes", "docs/faq.md export-ignore\ndocs/api.md export-subst\n")
    project.write("docs/odd.md", b"\xff$Format:%H$\r\n\n")
    project.write("docs/empty.md", b"")
    project.commit()
    found = base(project).extract("docs", tmp_path / "into")
    assert found == tmp_path / "into" / "docs"
    assert {path.name: path.read_bytes() for path in found.iterdir()} == {
        path.name: path.read_bytes() for path in (project.root / "docs").iterdir()
    }


def test_one_file_and_the_whole_tree_are_extracted(project: Project, tmp_path: Path) -> None:
    assert base(project).extract("docs/faq.md", tmp_path / "one") == tmp_path / "one" / "docs" / "faq.md"
    assert (tmp_path / "one" / "docs" / "faq.md").is_file()
    base(project).extract(".", tmp_path / "all")
    assert (tmp_path / "all" / "gate.toml").is_file()
    assert base(project).extract("nowhere", tmp_path / "none") is None


def test_links_stay_only_inside(project: Project, tmp_path: Path) -> None:
    (project.root / "docs" / "inside.md").symlink_to("faq.md")
    (project.root / "docs" / "outside.md").symlink_to("../../../etc/hostname")
    (project.root / "docs" / "root.md").symlink_to("/etc/hostname")
    project.commit()
    found = base(project).extract("docs", tmp_path / "into")
    assert found is not None
    assert (found / "inside.md").read_text() == project.read("docs/faq.md")
    assert not (found / "outside.md").is_symlink()
    assert not (found / "root.md").is_symlink()


def test_renames_show_before_they_are_committed_and_leave_the_index_alone(project: Project) -> None:
    (project.root / "docs" / "faq.md").rename(project.root / "docs" / "questions.md")
    before = (project.root / ".git" / "index").read_bytes()
    assert base(project).renames("docs") == {"faq.md": "questions.md"}
    assert (project.root / ".git" / "index").read_bytes() == before


def test_no_repository_and_one_that_git_refuses_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this folder is in no git repository"):
        git.open_base(tmp_path, "main")
    assert "does not trust" in str(
        git._no_repository("x", "detected dubious ownership in repository at '/x'")
    )
    assert "cannot read" in str(git._no_repository("x", "bad config line 1"))
