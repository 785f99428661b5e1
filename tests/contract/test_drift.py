"""Settings, schemas, docs and commands say the same thing."""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_project import REPOSITORY

from gate import cli, registry
from gate.arms.bm25 import Settings as Bm25
from gate.commands import _flags
from gate.commands._typed import typed_arm, typed_policy
from gate.corpus.read import read_corpus
from gate.corpus.readers import chunks, jsonl
from gate.model.measurement import Measurement
from gate.model.report import Report
from gate.model.settings import ArmSettings, PolicySettings, SuiteSettings
from gate.model.verdict import Verdict
from gate.report import loading
from gate.store import accepted, config
from gate.store import cases as cases_store
from gate.store import qa as qa_store
from gate.store.cases import load_cases
from gate.store.qa import load_qa

PAGES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in [
        REPOSITORY / "README.md",
        REPOSITORY / "CONTRIBUTING.md",
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    ]
}
CONFIGURATION = PAGES["docs/configuration.md"]
README = PAGES["README.md"]


@pytest.mark.parametrize("model", [SuiteSettings, ArmSettings, PolicySettings, Bm25])
def test_every_key_of_gate_toml_is_documented(model: type[SuiteSettings]) -> None:
    for key in model.model_fields:
        if key not in ("arms", "policy"):
            assert f"`{key}`" in CONFIGURATION, key


@pytest.mark.parametrize("folder", ["arms", "chunkers", "policies", "readers"])
def test_every_entry_of_a_registry_is_documented(folder: str) -> None:
    for name in registry.names(folder):
        assert f"`{name}`" in CONFIGURATION, name


@pytest.mark.parametrize("name", registry.names("embedders"))
def test_every_embedder_and_every_key_of_it_is_documented(name: str) -> None:
    page = PAGES["docs/embedders.md"]
    assert f"`{name}`" in page
    for key in registry.load("embedders", name, "test").Settings.model_fields:
        assert key == "type" or f"`{key}`" in page, key


def test_a_lock_is_installed_as_it_is() -> None:
    """It is whole; what requirements/not-needed.txt leaves out would be missed, and not found, without --no-deps."""
    files = [REPOSITORY / "action.yml", REPOSITORY / "Makefile", *REPOSITORY.glob(".github/workflows/*.yml")]
    found = [
        line
        for file in files
        for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        if "--require-hashes" in line
    ]
    assert len(found) >= 3
    assert all("--no-deps" in line for line in found), found


def test_policy_options_are_documented() -> None:
    for rule in registry.names("policies"):
        settings = registry.load("policies", rule, "test").Settings
        for key in settings.model_fields:
            assert f"`{key}`" in CONFIGURATION, key


@pytest.mark.parametrize(("name", "model"), [("report-1", Report), ("baseline-1", Measurement)])
def test_the_committed_schemas_are_those_of_the_models(
    name: str, model: type[Report], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["schema", name.removesuffix("-1")]) == 0
    committed = (REPOSITORY / f"docs/schemas/{name}.json").read_text(encoding="utf-8")
    assert json.loads(capsys.readouterr().out) == json.loads(committed), "run 'make schemas'"


def test_the_committed_baseline_fits_its_schema() -> None:
    import jsonschema

    schema = json.loads((REPOSITORY / "docs/schemas/baseline-1.json").read_text(encoding="utf-8"))
    baseline = json.loads((REPOSITORY / "baselines/orbit.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(baseline)


def test_every_verb_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in cli.verbs():
        with pytest.raises(SystemExit) as stop:
            cli.main([verb, "--help"])
        assert stop.value.code == 0
        assert f"gate {verb}" in capsys.readouterr().out.partition("examples:")[2], verb


# -- what the docs say, read by what they speak of


def fences(page: str, language: str) -> list[str]:
    """The fenced blocks of one language, without the indent of the list that a block may stand in."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", PAGES[page], re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(text) for _, text in found]


def blocks(*languages: str) -> list[Any]:
    return [
        pytest.param(text, id=f"{page}-{language}-{number}")
        for page in PAGES
        for language in languages
        for number, text in enumerate(fences(page, language), 1)
    ]


def flags_of_verbs() -> dict[str, set[str]]:
    top = next(action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {verb: set(_flags_of(parser)) for verb, parser in top.choices.items()}


def _flags_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Its own, and those of the steps that it has."""
    yield from parser._option_string_actions
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for step in action.choices.values():
                yield from _flags_of(step)


FLAGS = flags_of_verbs()
CALLED = r"(?:^\s*(?:- )?|[;&|(] *)gate "


def commands(page: str) -> Iterator[str]:
    """Every piece of code on a page, line by line: fenced blocks, comments cut off, and code in running text."""
    text = PAGES[page]
    for language in ("bash", "yaml"):
        for block in fences(page, language):
            yield from (line.partition(" # ")[0] for line in block.splitlines())
    running = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", running))


@pytest.mark.parametrize("page", PAGES)
def test_every_verb_and_flag_on_a_page_exists(page: str) -> None:
    for code in commands(page):
        for verb, rest in re.findall(rf"{CALLED}([a-z]\w*)([^;&|#]*)", code):
            assert verb in FLAGS, f"{page}: {code}"
            for flag in re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.sub(r"\$\([^)]*\)", "", rest)):
                assert flag in FLAGS[verb], f"{page}: {code}"
        if re.match("--[a-z]", code):
            flag = re.split(r"[ =]", code)[0]
            assert flag in {"--help", "--print-completion"}.union(*FLAGS.values()), f"{page}: {code}"


def test_every_verb_and_every_shared_flag_is_documented() -> None:
    shared = argparse.ArgumentParser(add_help=False)
    _flags.add_measuring(shared)
    spoken = [code for page in PAGES for code in commands(page)]
    for verb in cli.verbs():
        if verb != "action":  # action.yml calls it, nobody else does
            assert any(re.search(rf"{CALLED}{verb}\b", code) for code in spoken), verb
    for flag in shared._option_string_actions:
        assert any(re.search(rf"(?<![\w-]){flag}(?![\w-])", code) for code in spoken), flag


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", PAGES[page]):
        if "://" in target:
            continue
        path = ((REPOSITORY / page).parent / target).resolve() if target else REPOSITORY / page
        assert path.exists(), f"{page}: {target}"
        if anchor:
            name = path.relative_to(REPOSITORY).as_posix()
            assert anchor.removeprefix("#") in anchors(PAGES[name]), f"{page}: {target}{anchor}"


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    bare = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#{1,6} (.+)$", bare, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_every_page_is_linked_from_the_readme() -> None:
    for page in PAGES:
        assert page == "README.md" or f"]({page}" in README, page


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_toml_block_is_read_by_the_gate(text: str) -> None:
    table = config.parse_toml(text, "gate.toml")
    if "accepted" in table:
        assert accepted.parse(text, "docs.accepted.toml")
        return
    for suite in table["suite"].values():  # a part of a file stands beside what the rest of it needs
        for key, value in (
            ("corpus", "docs"),
            ("cases", "eval/cases.jsonl"),
            ("arms", {"k": {"type": "bm25"}}),
        ):
            suite.setdefault(key, value)
    for name, suite in config.check(table, "gate.toml").suite.items():
        for arm in suite.arms.values():
            typed_arm(arm, f"[suite.{name}.arms]", None)
        typed_policy(suite.policy, f"[suite.{name}]", None)


@pytest.mark.parametrize("text", blocks("json", "jsonl"))
def test_every_row_is_read_by_the_gate(text: str, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in text.splitlines()]
    file = tmp_path / "rows.jsonl"
    file.write_text(text, encoding="utf-8")
    keys = {key for row in rows for key in row}
    if "query" in keys:
        pages = {page for row in rows for page in row.get("relevant_doc_ids", ())}
        read = load_cases([(file, file.name)], "all", pages, {})
        assert len(read.all_cases) + len(read.headers) == len(rows)
    elif "question" in keys:
        pages = {page for row in rows for page in row["citations"]}
        assert len(load_qa(file, file.name, pages)) == len(rows)
    else:
        assert sum(len(page.chunks or (page,)) for page in read_corpus(file, file.name).pages) == len(rows)


@pytest.mark.parametrize("text", blocks("json", "jsonl"))
def test_a_row_of_orbit_stands_as_it_is_in_orbit(text: str) -> None:
    cases = (REPOSITORY / "datasets/orbit/eval/retrieval_queries.jsonl").read_text(encoding="utf-8")
    real = {row["id"]: row for row in map(json.loads, cases.splitlines())}
    for row in map(json.loads, text.splitlines()):
        if str(row.get("id", "")).startswith("rq-"):
            assert row == real[row["id"]]


@pytest.mark.parametrize("keys", [cases_store.KEYS, qa_store.KEYS, jsonl.KEYS, chunks.KEYS])
def test_every_key_of_a_row_is_documented(keys: tuple[str, ...]) -> None:
    for key in keys:
        assert f"`{key}`" in PAGES["docs/cases.md"], key


def test_every_block_of_a_template_is_documented() -> None:
    for template in loading.PUBLIC:
        assert f"`{template}`" in PAGES["docs/templates.md"], template
        for block in loading.block_names(template):
            assert f"`{block}`" in PAGES["docs/templates.md"], block
    for name in loading.RESERVED:
        assert f"`{name}`" in PAGES["docs/templates.md"], name


@pytest.mark.parametrize("text", blocks("jinja"))
def test_every_template_in_the_docs_can_be_an_override(text: str, tmp_path: Path) -> None:
    name = re.findall(r'extends "gate/([\w.]+)"', text)[0]
    (tmp_path / name).write_text(text, encoding="utf-8")
    made = loading.environment(tmp_path).get_template(name)
    assert made.filename == str(tmp_path / name)


@pytest.mark.parametrize("page", ["README.md", "docs/action.md"])
def test_every_exit_code_of_a_verdict_is_documented(page: str) -> None:
    rows = [line.split("|")[1:3] for line in PAGES[page].splitlines() if line.startswith("|")]
    for verdict in Verdict:
        name, code = verdict.value.replace("_", " "), str(int(verdict.exit_code))
        assert any(
            code in {cell.strip() for cell in row} and re.search(rf"\b{name}\b", " ".join(row))
            for row in rows
        ), f"{page}: {name}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_is_printed_for_a_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--print-completion", shell]) == 0
    assert "baseline" in capsys.readouterr().out
