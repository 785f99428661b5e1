"""action.yml says what the code does: every input and output is used, read, set and documented."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from action.edits import break_e101
from action.job import ACTION, READ_ONLY, STAND_INS, Site, pins
from small_project import REPOSITORY

from gate import __version__
from gate.commands.init import ACTION as NAME_OF_ACTION
from gate.github.comment import When
from gate.github.event import Mode
from gate.github.inputs import Inputs, read_inputs
from gate.model.verdict import Exit, Verdict
from gate.report import render

yaml = pytest.importorskip(
    "ruamel.yaml", reason="check-jsonschema, which brings a YAML reader, is not installed"
)
TEXT = ACTION.read_text(encoding="utf-8")
PAGES = {
    path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
    for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
}
ACTION_NOW = f"{NAME_OF_ACTION}@v{__version__}"
CODE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "gate").rglob("*.py")))
READER = (REPOSITORY / "gate" / "github" / "inputs.py").read_text(encoding="utf-8")
# In no environment: they choose which steps run.
ONLY_IN_EXPRESSIONS = {"cache", "artifact"}


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
    for key in variables:
        read_it = f'("{key.removeprefix("INPUT_")}"' in READER if key.startswith("INPUT_") else key in CODE
        assert read_it, f"{key} is read nowhere"
        assert not key.startswith("INPUT_") or key == variable(name)


def test_every_input_that_the_code_reads_is_one_of_action_yml() -> None:
    read_names = set(re.findall(r'read\.\w+\("([A-Z_]+)"', READER))
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


def test_every_output_that_the_code_sets_is_read() -> None:
    known = set(re.findall(r'outputs\.set\(\s*"([\w-]+)"', CODE))
    assert known
    read_names = set(re.findall(r"steps\.[\w-]+\.outputs\.([\w-]+)", TEXT))
    assert known - read_names == set()


@pytest.mark.parametrize("what", FILE["inputs"])
def test_every_input_is_documented_with_its_default(what: str) -> None:
    (row,) = rows_of(what, section("Inputs"))
    default = str(FILE["inputs"][what]["default"])
    if default and not default.startswith("${{"):
        assert row[1] == f"`{default}`"


@pytest.mark.parametrize("what", FILE["outputs"])
def test_every_output_is_documented(what: str) -> None:
    assert len(rows_of(what, section("Outputs"))) == 1


def test_no_input_and_no_output_is_documented_that_is_not_there() -> None:
    for title, known in (("Inputs", FILE["inputs"]), ("Outputs", FILE["outputs"])):
        assert set(re.findall(r"^\| `([^`]+)`", section(title), re.MULTILINE)) == set(known)


def test_values_and_modes_are_documented() -> None:
    ((*_, comment),) = rows_of("comment", section("Inputs"))
    assert all(f"`{when}`" in comment for when in When)
    ((*_, verdict),) = rows_of("verdict", section("Outputs"))
    assert all(f"`{one}`" in verdict for one in Verdict)
    assert set(re.findall(r"^\| `(\w+)` \|", section("Modes"), re.MULTILINE)) == set(Mode)


def section(title: str) -> str:
    return re.split(r"^## ", PAGES["docs/action.md"].partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def rows_of(name: str, text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def examples(page: str) -> list[Any]:
    """The YAML blocks of a page, parsed."""
    found = re.findall(r"^( *)```yaml\n(.*?)^\1```$", PAGES[page], re.DOTALL | re.MULTILINE)
    return [read(textwrap.dedent(text)) for _, text in found]


def uses(node: Any) -> Iterator[dict[str, Any]]:
    """Every step in a piece of a workflow that uses this action."""
    if isinstance(node, dict):
        if str(node.get("uses", "")).startswith(f"{NAME_OF_ACTION}@"):
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from uses(part)


@pytest.mark.parametrize("page", PAGES)
def test_examples_use_inputs_that_are_there(page: str) -> None:
    for example in examples(page):
        part = isinstance(example, dict) and set(example) == {"with"}
        for step in uses({"uses": ACTION_NOW, **example} if part else example):
            assert step["uses"] == ACTION_NOW
            given = step.get("with", {})
            assert set(given) <= set(FILE["inputs"]), page
            read_inputs(
                {variable(name): str(value) for name, value in given.items() if "${{" not in str(value)}
            )


def test_the_workflow_of_the_readme_is_that_of_the_set_up() -> None:
    assert examples("README.md")[0] == examples("docs/action.md")[0]


def test_the_workflow_of_the_readme_runs(site: Site) -> None:
    break_e101(site.project)
    site.push()
    number = site.open_pull()
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGES["README.md"], re.DOTALL)
    ran = site.run_pull(number, text=text)
    assert (ran.job, ran.exit_code) == ("failure", 1)
    assert "### ❌ regression" in site.comment(number)


def test_the_workflow_for_forks_comments(site: Site) -> None:
    fork = site.github.fork(site.repository, "mallory")
    break_e101(site.project)
    head = site.push(to=fork.git.path)
    number = site.open_pull("mallory:change", user="mallory")
    measured = site.run_pull(number, token=READ_ONLY, actor="mallory")
    ended = site.github.add_run(
        site.repository, head_branch="change", head_sha=head, head_repository=fork, actor="mallory"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.write(measured.artifact() / "report.json", "report.json")
    site.github.add_artifact(ended, measured.artifact().name, packed.getvalue())
    token = "ghs_the_token_for_forks"
    granted = scaffolded("gate-comment.yml", "comment")
    site.github.add_token(token, permissions={key.replace("-", "_"): value for key, value in granted.items()})
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGES["docs/forks.md"], re.DOTALL)
    told = {
        "id": ended.id, "event": ended.event, "path": ended.path, "head_sha": head, "head_branch": "change",
        "head_repository": {"full_name": fork.full_name, "owner": {"login": fork.owner}},
        "actor": {"login": ended.actor},
    }  # fmt: skip
    main = site.project.git("rev-parse", "main").strip()
    payload = {"action": "completed", "workflow_run": told, **site.repository_event()}
    ran = site.run("workflow_run", payload, ref="refs/heads/main", sha=main, token=token, text=text)
    assert (ran.job, ran.exit_code, ran.annotations) == ("success", 0, [])
    assert "measured by the fork's own run, not verified" in site.comment(number)
    assert "### ❌ regression" in site.comment(number)


@pytest.mark.parametrize("page", ["docs/action.md", "docs/forks.md"])
def test_the_permissions_in_the_docs_are_those_of_the_scaffold(page: str) -> None:
    for example in examples(page):
        for name, job in (example.get("jobs", {}) if isinstance(example, dict) else {}).items():
            said = {**example["permissions"], **job.get("permissions", {})}
            assert said == scaffolded(FILE_OF_JOB[name], name)


def test_the_table_of_permissions_is_that_of_the_scaffold() -> None:
    table: dict[tuple[str, str], dict[str, str]] = {}
    place = ("", "")
    for line in section("Permissions").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[1].startswith("`"):
            continue
        if cells[0]:
            file, job = cells[0].split(", ")
            place = (file.strip("`"), job)
        key, value = cells[1].strip("`").split(": ")
        table.setdefault(place, {})[key] = value
    files = {
        "gate.yml": ["gate"],
        "gate-comment.yml": ["comment"],
        "baseline-refresh.yml": ["measure", "propose"],
    }
    assert table == {(file, job): scaffolded(file, job) for file, jobs in files.items() for job in jobs}


FILE_OF_JOB = {"gate": "gate.yml", "comment": "gate-comment.yml"}


def scaffolded(file: str, job: str) -> dict[str, str]:
    """The permissions of a job that `gate init` writes; this repository's own workflows have the same."""
    values = {"action": NAME_OF_ACTION, "version": __version__, "branch": '"main"', "folder": ""}
    found: dict[str, str] = read(render.scaffold(f"{file}.j2", values))["jobs"][job]["permissions"]
    assert found == read((REPOSITORY / ".github" / "workflows" / file).read_text(encoding="utf-8"))["jobs"][job]["permissions"]  # fmt: skip
    return found


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
    places = [ACTION, *sorted((REPOSITORY / ".github").rglob("*.yml")), *sorted((REPOSITORY / "templates" / "init").rglob("*.yml.j2")), *map(REPOSITORY.joinpath, PAGES)]  # fmt: skip
    for place in places:
        for line in place.read_text(encoding="utf-8").splitlines():
            found = re.search(r"uses:\s*([\w.-]+/[\w.-]+)[\w./-]*@(\S+)\s*(?:#\s*(\S+))?", line)
            if found is None or "{{ action }}" in line or found[1] == NAME_OF_ACTION:
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
        "Report and candidate baselines",
    ):
        assert by_name[name]["if"].startswith("always()")
    assert STEPS[-1]["name"] == "Verdict"
    assert STEPS[-1]["if"] == "always()"


HOSTILE_UV = """
[project]
name = "theirs"
version = "1"
[tool.uv]
required-version = "==0.0.1"
exclude-newer = "2000-01-01T00:00:00Z"
exclude-dependencies = ["numpy"]
[tool.uv.pip]
target = "theirs"
"""


def test_the_checkouts_own_settings_of_uv_say_nothing_about_our_environment(tmp_path: Path) -> None:
    """With the real uv: it would obey them in the checkout, and action.yml keeps it from that."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not installed beside this interpreter")
    (step,) = (one for one in RUNS if one["name"] == "The gate's environment, from hash-locked wheels")
    assert step["working-directory"] == "${{ runner.temp }}"
    (setup,) = (one for one in STEPS if one.get("uses", "").startswith("astral-sh/setup-uv@"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", setup["with"]["version"])
    (tmp_path / "pyproject.toml").write_text(HOSTILE_UV, encoding="utf-8")
    lock = tmp_path / "requirements" / "run.txt"
    lock.parent.mkdir()
    wheel = tmp_path / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("tiny.py", "")
        made.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        made.writestr(
            "tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    lock.write_text(f"tiny==1 --hash=sha256:{digest}\n", encoding="utf-8")
    ours = {key: value for key, value in step["env"].items() if "${{" not in str(value)}
    environment = {
        "PATH": f"{uv.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(tmp_path),
        "GATE_ENV": str(tmp_path / "env"),
        "GATE_PYTHON_PATH": sys.executable,
        "GATE_LOCK": "run.txt",
        "GITHUB_ACTION_PATH": str(tmp_path),
    }

    def installed(more: dict[str, str]) -> bool:
        shutil.rmtree(tmp_path / "env", ignore_errors=True)
        # In the checkout, which is worse than where the step runs.
        done = subprocess.run(["bash", "-ec", step["run"]], cwd=tmp_path, env={**environment, **more}, check=False, capture_output=True)  # fmt: skip
        return done.returncode == 0 and bool(list((tmp_path / "env").glob("lib/*/site-packages/tiny.py")))

    assert not installed({})
    assert installed(ours)
