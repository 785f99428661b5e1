"""action.yml says what the code does: every input and output is used, read, set and documented."""

from __future__ import annotations

import re
from typing import Any

import pytest
from action.job import ACTION, STAND_INS, pins
from small_project import REPOSITORY

from gate.github.comment import When
from gate.github.event import Mode
from gate.github.inputs import Inputs
from gate.model.verdict import Exit, Verdict

yaml = pytest.importorskip(
    "ruamel.yaml", reason="check-jsonschema, which brings a YAML reader, is not installed"
)
TEXT = ACTION.read_text(encoding="utf-8")
DOCS = REPOSITORY / "docs" / "action.md"
CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "gate").rglob("*.py")))
READER = (REPOSITORY / "gate" / "github" / "inputs.py").read_text(encoding="utf-8")
# In no environment: it chooses what is installed.
ONLY_IN_EXPRESSIONS = {"cache", "artifact", "extras"}

UNTIL = {"openai-base-url": "gate/embedders/openai.py", "allowed-header-env": "gate/arms/http.py"}


def read(text: str) -> dict[str, Any]:
    return yaml.YAML(typ="safe", pure=True).load(text)


FILE = read(TEXT)
STEPS: list[dict[str, Any]] = FILE["runs"]["steps"]
RUNS = [step for step in STEPS if "run" in step]


def variable(name: str) -> str:
    return f"INPUT_{name.upper().replace('-', '_')}"


def bound(name: str) -> dict[str, list[dict[str, Any]]]:
    """Variable -> the steps that bind it to this input."""
    found: dict[str, list[dict[str, Any]]] = {}
    for step in RUNS:
        for key, value in step.get("env", {}).items():
            if re.search(rf"inputs\.{re.escape(name)}(?![\w-])", str(value)):
                found.setdefault(key, []).append(step)
    return found


@pytest.mark.parametrize("name", FILE["inputs"])
def test_every_input_is_used_and_read(name: str) -> None:
    assert re.search(rf"inputs\.{re.escape(name)}(?![\w-])", TEXT), "used nowhere in action.yml"
    variables = bound(name)
    if name in ONLY_IN_EXPRESSIONS:
        assert not variables
        return
    assert variables, "reaches no step"
    if name in UNTIL and not (REPOSITORY / UNTIL[name]).exists():
        pytest.skip(f"{UNTIL[name]}, which reads it, is not there yet")
    for key in variables:
        plain = f'text("{key.removeprefix("INPUT_")}")'
        typed = re.search(rf'(?:one_of|number|whole)\("{key.removeprefix("INPUT_")}"', READER)
        assert (plain in READER or typed) if key.startswith("INPUT_") else key in CODE, (
            f"{key} is read nowhere"
        )
        assert not key.startswith("INPUT_") or key == variable(name)


def test_every_input_that_the_code_reads_is_one_of_action_yml() -> None:
    read_names = set(re.findall(r'(?:text|one_of|number|whole)\("([A-Z_]+)"', READER))
    assert {f"INPUT_{name}" for name in read_names} <= {variable(name) for name in FILE["inputs"]}
    assert len(Inputs.model_fields) == len(read_names)


@pytest.mark.parametrize("name", FILE["outputs"])
def test_every_output_is_set_by_a_step_that_has_it(name: str) -> None:
    sources = re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", FILE["outputs"][name]["value"])
    assert sources
    known = {step.get("id") for step in STEPS}
    for step, output in sources:
        assert step in known
        assert f'outputs.set("{output}"' in CODE
    assert {output for _, output in sources} == {name}


def test_every_step_output_that_action_yml_reads_is_set() -> None:
    third_party = {step["id"] for step in STEPS if "uses" in step and "id" in step}
    for step, output in re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", TEXT):
        if step in third_party:
            continue
        script = next(one["run"] for one in STEPS if one.get("id") == step)
        assert f'outputs.set("{output}"' in CODE or f"{output}=" in script, (step, output)


@pytest.mark.parametrize("what", [*FILE["inputs"], *FILE["outputs"]])
def test_every_input_and_output_is_documented(what: str) -> None:
    if not DOCS.exists():
        pytest.skip("docs/action.md is not there yet")
    assert f"`{what}`" in DOCS.read_text(encoding="utf-8")


def test_descriptions_name_every_value() -> None:
    inputs, outputs = FILE["inputs"], FILE["outputs"]
    for values, said in (
        (list(Mode), inputs["mode"]["description"]),
        (list(When), inputs["comment"]["description"]),
        (["suite", "combined"], inputs["comment-layout"]["description"]),
        (list(Verdict), outputs["verdict"]["description"]),
        ([str(int(code)) for code in Exit if code != 130], outputs["exit-code"]["description"]),
    ):
        for value in values:
            assert re.search(rf"\b{value}\b", said), f"{value!r} is missing in {said!r}"


def test_defaults_are_those_of_the_code() -> None:
    plain = Inputs()
    for field, value in plain.model_dump().items():
        name = {"expected_workflow": "workflow"}.get(field, field).replace("_", "-")
        default = str(FILE["inputs"][name]["default"])
        if name == "workflow":
            assert f'"{default}"' in READER
        elif value in ((), 0, 0.0, ""):
            assert default in ("", "0"), name
        else:
            assert default == str(value), name


# -- what keeps it safe


def test_secrets_reach_only_the_step_that_needs_them() -> None:
    assert {step["id"] for step in bound("token")["GATE_TOKEN"]} == {"comment"}
    assert set(bound("token")) == {"GATE_TOKEN"}
    assert {key: [step["id"] for step in steps] for key, steps in bound("openai-api-key").items()} == {
        "OPENAI_API_KEY": ["measure"]
    }
    assert TEXT.count("inputs.token") == TEXT.count("inputs.openai-api-key") == 1
    assert TEXT.count("github.token") == 1, "the default of the input, and nowhere else"
    assert "secrets." not in TEXT


def test_no_expression_stands_in_a_script() -> None:
    for step in RUNS:
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


def test_the_gate_starts_isolated() -> None:
    starts = [line for step in RUNS for line in step["run"].splitlines() if "__main__.py" in line]
    assert len(starts) >= 5
    for line in starts:
        assert line.strip().startswith(
            '"$GATE_ENV/bin/python" -I "$GITHUB_ACTION_PATH/gate/__main__.py" action '
        )


def test_every_step_that_runs_the_gate_binds_what_it_reads() -> None:
    """act sets `INPUT_*` for a composite action's steps by itself; GitHub does not."""
    for step in RUNS:
        if "__main__.py" in step["run"]:
            assert "GATE_ENV" in step["env"]
            if "publish" not in step["run"] and "finish" not in step["run"]:
                assert "INPUT_MODE" in step["env"], step["name"]
            for name in re.findall(r"\$\{?([A-Z][A-Z_]+)", step["run"]):
                assert name in step["env"] or name.startswith("GITHUB_"), name


def test_third_party_actions_are_pinned_alike_everywhere_and_have_a_stand_in() -> None:
    seen: dict[str, set[tuple[str, str]]] = {}
    places = [ACTION, *sorted((REPOSITORY / ".github").rglob("*.yml")), *sorted((REPOSITORY / "templates" / "init").rglob("*.yml.j2"))]  # fmt: skip
    for place in places:
        for line in place.read_text(encoding="utf-8").splitlines():
            found = re.search(r"uses:\s*([\w.-]+/[\w.-]+)[\w./-]*@(\S+)\s*(?:#\s*(\S+))?", line)
            if found is None or "{{ action }}" in line:
                continue
            name, ref, version = found.groups()
            assert re.fullmatch(r"[0-9a-f]{40}", ref), f"{place.name}: {line.strip()}"
            assert version, f"{place.name}: no version beside {name}"
            seen.setdefault(name, set()).add((ref, version))
    assert {name: pin for name, pin in seen.items() if len(pin) > 1} == {}
    for name in pins(TEXT).values():
        assert (STAND_INS / name).is_dir(), name


def test_what_is_kept_is_kept_though_the_gate_fails() -> None:
    by_name = {step["name"]: step for step in STEPS}
    for name in (
        "Keep what was computed",
        "Summary and annotations",
        "Report, comments and candidate baselines",
    ):
        assert by_name[name]["if"].startswith("always()")
    assert STEPS[-1]["name"] == "Verdict"
    assert STEPS[-1]["if"] == "always()"
