"""Text and code of a pull request that wants to steer the run. The text stays text, the code gets nothing."""

from __future__ import annotations

import json
import re

import comrak
import pytest
from action.edits import add_page, record
from action.job import KEY, TOKEN, Site

NAME = (
    "\u202egnp | `x` ``y`` @everyone #1 <img src=x onerror=alert(1)> ::error::pwned ##[set-output name=verdict]pass"
    " \u200b ${{ github.token }} $(touch PWNED) `touch PWNED` **bold** <!-- --> <details> GH-1 &amp; \\|"
)
"""A name that a file can have: no slash, and no control character (the gate refuses those)."""
TEXT = (
    f"\u202egnp \x1b[31mred\x1b[0m \r\n::set-output name=verdict::pass\n{NAME} [link](https://evil.example/x)\n"
    "https://evil.example </details> --> acme/widget#1\n  ::error::pwned\n##[set-output name=verdict]pass\n"
)
HARMLESS = {"error", "warning", "notice", "add-mask", "stop-commands"}
UNSEEN = ("\x1b", "\u202e", "\u200b")


def rendered(markdown: str) -> str:
    """As GitHub reads it, before its sanitizer: nothing may depend on that."""
    extensions = comrak.ExtensionOptions()
    for name in ("table", "autolink", "strikethrough", "tasklist", "footnotes"):
        setattr(extensions, name, True)
    options = comrak.RenderOptions()
    options.unsafe_ = True
    return str(comrak.render_markdown(markdown, extension_options=extensions, render_options=options))


def prose(html: str) -> str:
    """What stands outside of code spans, where GitHub links and notifies."""
    return re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)


def assert_inert(markdown: str) -> None:
    html = rendered(markdown)
    allowed = {
        "table", "thead", "tbody", "tr", "th", "td", "p", "h3", "h4", "code", "pre", "strong", "sub", "br", "details", "summary",
        "ul", "li", "blockquote", "!--", "a", "em", "hr",
    }  # fmt: skip
    tags = re.findall(r"<(!--|[a-zA-Z][\w-]*)", html)
    assert set(tags) <= allowed, set(tags) - allowed
    assert "evil.example" not in "".join(re.findall(r'href="[^"]*"', html))
    assert html.count("<details>") == html.count("</details>")
    assert all(
        comment.strip().startswith("retrieval-gate ")
        for comment in re.findall(r"<!--(.*?)-->", html, re.DOTALL)
    )
    for live in ("@everyone", "#1", "acme/widget#1", "https://evil", "<strong>bold"):
        assert live not in prose(html), live
    for sign in UNSEEN[:2]:
        assert sign not in markdown


def test_hostile_text_stays_text_everywhere(site: Site) -> None:
    project = site.project
    project.git("checkout", "--quiet", "main")
    project.write(f"docs/{NAME}.md", "# Zebra\n\nA quagga is an evil zebra.\n")
    for position in (40, 42):
        project.cases.append(
            {
                "id": f"q-{position}",
                "query": f"quagga {TEXT}",
                "relevant_doc_ids": [NAME],
                "kind": "semantic" if position == 40 else "exact_term",
            }
        )
    project.save_cases()
    record(project)
    site.push("main")
    branch = "x|`x`@everyone-#1<b>\"'$(touch${IFS}PWNED)${{github.token}}\u202e;touch${IFS}PWNED"
    project.git("checkout", "--quiet", "-B", "change")
    project.write(f"docs/{NAME}.md", "# Nothing\n\nNothing is left.\n")
    for page in ("errors", "faq", "news", "guide"):
        project.write(
            f"docs/{page}.md",
            project.read(f"docs/{page}.md") + f"\n## Quagga\n\nquagga evil zebra\n\n{TEXT}\n",
        )
    project.commit(TEXT)
    site.push(branch)
    number = site.open_pull(branch, title=TEXT, body=TEXT)
    ran = site.run_pull(number)

    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 1, "regression")
    body = site.comment(number)
    assert {"q-40", "q-42"} <= {case for row in json.loads(ran.outputs["regressed"]) for case in row["cases"]}
    assert_inert(body)
    assert_inert(ran.summary)
    # Shown, so that a reader can tell what it is, and visibly.
    assert "\\u202egnp" in body
    assert "\\x1b[31m" in body
    assert "::set-output name=verdict::pass" in body
    # The log: our own commands and nothing else.
    assert ran.commands <= HARMLESS
    assert all(sign not in ran.log for sign in UNSEEN[:2])
    assert len([one for one in ran.annotations if one.level == "error"]) >= 2
    for annotation in ran.annotations:
        assert (
            annotation.message.startswith(("keyword: ", "retrieval gate", "base "))
            or annotation.level == "notice"
        )
        assert "\n" not in annotation.message
        assert all(sign not in annotation.message for sign in UNSEEN[:2])
        assert annotation.properties.get("file", "eval/cases.jsonl") == "eval/cases.jsonl"
    assert list(site.folder.rglob("PWNED")) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("gate.toml", "k = 2", 'k = 2\n"::error::pwned ##[set-output name=verdict]pass" = 1'),
        ("gate.toml", 'corpus = "docs"', 'corpus = "do\\ncs ##[add-mask]a ::set-output name=verdict::pass"'),
        ("eval/cases.jsonl", '"errors"', '"err\\u202eors\\n::set-output name=verdict::pass\\n##[set-output name=verdict]pass @everyone"'),
    ],
)  # fmt: skip
def test_hostile_text_in_what_is_invalid(site: Site, file: str, old: str, new: str) -> None:
    text = site.project.read(file)
    site.project.write(file, text.replace(old, new, 1))
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number)
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("failure", 2, "invalid")
    assert_inert(site.comment(number))
    assert_inert(ran.summary)
    assert ran.commands <= HARMLESS
    assert all("\u202e" not in one.message for one in ran.annotations)


HOSTILE_ARM = r'''
"""A retriever that is a pull request's own code."""
import json, os, pathlib, sys, time

SEEN, FOLDER = "@seen@", "@folder@"

COMMANDS = (
    "::set-output name=verdict::pass\n::set-output name=exit-code::0\n##[set-output name=verdict]pass\n"
    "::add-mask::docs\n::stop-commands::x\n::error::pwned\n::save-state name=x::y\n"
)
HOME_FILES = {
    ".bashrc": f"touch {FOLDER}/PWNED\n",
    ".profile": f"touch {FOLDER}/PWNED\n",
    ".netrc": "machine 127.0.0.1 login evil password evil\n",
    ".gitconfig": f"[core]\n\tfsmonitor = touch {FOLDER}/PWNED; true\n\thooksPath = /tmp\n",
}
FILE = "verdict=pass\nexit-code=0\ncomment-url=https://evil.example\nBASH_ENV=/tmp/x\n"


def attack(when):
    seen = pathlib.Path(SEEN)
    with seen.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"when": when, "environment": dict(os.environ), "argv": sys.argv}) + "\n")
    for stream in (sys.stdout, sys.stderr):
        stream.write(COMMANDS + json.dumps(dict(os.environ)) + "\n")
        stream.flush()
    try:
        os.write(1, COMMANDS.encode())
        os.write(2, COMMANDS.encode())
    except OSError:
        pass
    for value in list(os.environ.values()):
        for path in value.split(os.pathsep):
            if not path.startswith(FOLDER):
                continue
            if os.path.isfile(path):
                with open(path, "a", encoding="utf-8") as stream:
                    stream.write(FILE)
            elif os.path.isdir(path):
                for name, text in HOME_FILES.items():
                    pathlib.Path(path, name).write_text(text)


attack("import")
time.sleep(1.5)  # slow enough for a progress line, were one drawn: nothing may stand before a command of ours


def search(query, k=10, *more, **others):
    attack("search")
    return ["errors"]
'''


def test_a_python_arm_gets_no_token_and_sets_no_output(site: Site) -> None:
    seen = site.folder / "seen.jsonl"
    code = HOSTILE_ARM.replace("@seen@", str(seen)).replace("@folder@", str(site.folder))
    site.project.write("own_search.py", code)
    arm = '\n[suite.docs.arms.own]\ntype = "python"\ntarget = "own_search:search"\n'
    site.project.write("gate.toml", site.project.read("gate.toml") + arm)
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, inputs={"openai-api-key": KEY}, more={"A_SECRET_OF_THE_WORKFLOW": "hunter2"})
    assert seen.exists(), ran.log + ran.summary
    calls = [json.loads(line) for line in seen.read_text(encoding="utf-8").splitlines()]
    assert {call["when"] for call in calls} == {"import", "search"}
    for call in calls:
        told = json.dumps(call)
        for secret in (TOKEN, KEY, "hunter2"):
            assert secret not in told
        names = set(call["environment"])
        assert not [
            name
            for name in names
            if name.startswith(("GITHUB_", "ACTIONS_", "RUNNER_", "INPUT_", "GATE_TOKEN"))
        ]
        assert not names & {"OPENAI_API_KEY", "GATE_TOKEN", "BASH_ENV"}
    assert ran.outputs["verdict"] == ran.report()["verdict"]
    assert "evil.example" not in json.dumps(ran.outputs)
    assert list(site.folder.rglob(".netrc")), "it found a folder to write to"
    assert list(site.folder.rglob("PWNED")) == []
    assert f"verdict={ran.outputs['verdict']}" in site.comment(number)
    assert ran.commands <= HARMLESS
    assert all("pwned" not in one.message for one in ran.annotations)


ASKING_ARM = """
[suite.docs.arms.own]
type = "python"
target = "own_search:search"
env = ["A_SECRET_OF_THE_WORKFLOW"]
"""


@pytest.mark.parametrize("allowed", ["", "SOMETHING_ELSE", "A_SECRET_OF_THE_WORKFLOW"])
def test_a_change_cannot_ask_for_a_variable_that_nobody_grants(site: Site, allowed: str) -> None:
    """The base's gate.toml or the input may; what the change writes into its own does not count."""
    seen = site.folder / "seen.jsonl"
    code = HOSTILE_ARM.replace("@seen@", str(seen)).replace("@folder@", str(site.folder / "nothing"))
    site.project.write("own_search.py", code)
    site.project.write("gate.toml", site.project.read("gate.toml") + ASKING_ARM)
    site.push()
    number = site.open_pull()
    inputs = {"openai-api-key": KEY, "allowed-header-env": allowed}
    ran = site.run_pull(number, inputs=inputs, more={"A_SECRET_OF_THE_WORKFLOW": "hunter2-hunter2"})
    told = seen.read_text(encoding="utf-8") if seen.exists() else ""
    assert ("hunter2" in told) == (allowed == "A_SECRET_OF_THE_WORKFLOW")
    assert KEY not in told
    if not told:
        assert ran.outputs["verdict"] == "not_measured"
        assert "A_SECRET_OF_THE_WORKFLOW" in site.comment(number)
    assert "hunter2" not in ran.log + ran.summary + site.comment(number)


def test_files_of_the_change_never_shadow_the_gate(site: Site) -> None:
    """The gate is started in the checkout, and its own modules come from its own checkout."""
    add_page(site.project)
    for name in ("numpy", "pydantic", "json", "sitecustomize", "github", "gate/__init__", "usercustomize"):
        site.project.write(f"{name}.py", "raise SystemExit('code of the pull request ran')\n")
    site.push()
    number = site.open_pull()
    ran = site.run_pull(number, more={"PYTHONPATH": ".", "PYTHONSTARTUP": "numpy.py"})
    assert (ran.job, ran.exit_code, ran.outputs["verdict"]) == ("success", 0, "pass")
