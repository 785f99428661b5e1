"""Settings, schemas, docs and commands say the same thing."""

from __future__ import annotations

import json
import re

import pytest
from small_project import REPOSITORY

from gate import cli, registry
from gate.arms.bm25 import Settings as Bm25
from gate.model.measurement import Measurement
from gate.model.report import Report
from gate.model.settings import ArmSettings, PolicySettings, SuiteSettings

CONFIGURATION = (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [SuiteSettings, ArmSettings, PolicySettings, Bm25])
def test_every_key_of_gate_toml_is_documented(model: type[SuiteSettings]) -> None:
    for key in model.model_fields:
        if key not in ("arms", "policy"):
            assert f"`{key}`" in CONFIGURATION, key


@pytest.mark.parametrize("folder", ["arms", "chunkers", "policies", "readers"])
def test_every_entry_of_a_registry_is_documented(folder: str) -> None:
    for name in registry.names(folder):
        assert f"`{name}`" in CONFIGURATION, name


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


def test_every_verb_has_help_with_examples_and_the_readme_names_only_real_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for verb in cli.verbs():
        with pytest.raises(SystemExit) as stop:
            cli.main([verb, "--help"])
        assert stop.value.code == 0
        assert f"gate {verb}" in capsys.readouterr().out.partition("examples:")[2], verb
    shell = "".join(re.findall(r"```bash\n(.*?)```", README, re.DOTALL))
    named = set(re.findall(r"^gate ([a-z]+)", shell, re.MULTILINE)) | set(
        re.findall(r"`gate ([a-z]+)", README)
    )
    assert named <= set(cli.verbs())


@pytest.mark.parametrize(
    "page",
    [
        p.relative_to(REPOSITORY).as_posix()
        for p in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert ((REPOSITORY / page).parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_is_printed_for_a_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--print-completion", shell]) == 0
    assert "baseline" in capsys.readouterr().out
