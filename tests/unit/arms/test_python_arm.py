"""The python arm: real processes, a user's module on disk, and every way in which it can go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gate.arms import _bridge, _process, python
from gate.arms._process import ProcessError
from gate.harness import ask
from gate.model.page import Chunk, Corpus, Page
from gate.model.ranking import Arm, Hit

CHUNKS = (
    Chunk("errors#0", "errors", "E101 means jammed."),
    Chunk("errors#1", "errors", "E102 means lost."),
    Chunk("guide/paint#0", "guide/paint", "Paint it blue."),
    Chunk("7#0", "7", "Page seven."),
)
CORPUS = Corpus(
    (
        Page("errors", "Errors", "", path="docs/errors.md"),
        Page("guide/paint", "Painting", "", path="docs/guide/paint.md"),
        Page("7", "Seven", "", path="docs/7.md"),
    )
)


@dataclass
class Workshop:
    """What the arm is built from, and the arms that were built."""

    root: Path
    corpus: Corpus = CORPUS
    built: list[python.PythonArm] = field(default_factory=list)

    def chunks(self, chunker: object) -> Sequence[Chunk]:
        assert chunker is None
        return CHUNKS

    def arm(self, name: str) -> Arm:
        raise AssertionError(name)

    def secret(self, name: str, url: str) -> str | None:
        assert url == "", "it goes to a process, not to an address"
        return os.environ.get(name)

    def __call__(self, code: str, **keys: Any) -> python.PythonArm:
        """The arm over this code, written to `mine.py`."""
        (self.root / "mine.py").write_text(textwrap.dedent(code), encoding="utf-8")
        keys = {"target": "mine:search", "timeout_seconds": 20, "startup_seconds": 60, **keys}
        settings = python.Settings.model_validate_json(json.dumps({"type": "python", **keys}))
        arm = python.build(self, settings)
        self.built.append(arm)
        return arm


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    yield workshop
    for arm in workshop.built:
        arm.close()


def answering(made: Workshop, expression: str, pool: int = 5, before: str = "") -> Sequence[Hit]:
    code = f"{textwrap.dedent(before)}\ndef search(query, pool):\n    return {expression}\n"
    return made(code).search("E101", pool)


def pages(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in hits]


# --- Answers ------------------------------------------------------------------------------------------------------

SHAPES = """
class Plain:
    def __init__(self, **values):
        self.__dict__.update(values)

import uuid
from collections import namedtuple
from typing import NamedTuple
class OurHit(NamedTuple):
    chunk_id: str
    doc_id: str
    text: str
    score: float
Scored = namedtuple("Scored", "key value")
class Numpyish:
    def __init__(self, value): self.value = value
    def __float__(self): return float(self.value)
    def __index__(self): return self.value
class Node(Plain):
    def get_content(self): return self.text
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("['errors', '7']", [("errors", 2.0), ("7", 1.0)]),
        ("('errors',)", [("errors", 1.0)]),
        ("iter(['errors'])", [("errors", 1.0)]),
        ("[7, Numpyish(7)]", [("7", 2.0), ("7", 1.0)]),
        ("[('errors#1', 0.5), ['7#0', 0]]", [("errors", 0.5), ("7", 0.0)]),
        ("[('errors', Numpyish(3)), Scored('7', -1)]", [("errors", 3.0), ("7", -1.0)]),
        ("[OurHit('errors#1', 'errors', 'x', 0.25)]", [("errors", 0.25)]),
        ("[Plain(chunk_id='errors#1', doc_id='errors', text='', score=0.25)]", [("errors", 0.25)]),
        ("[{'id': 'errors', 'score': 2}, {'doc_id': '7', 'score': 1}]", [("errors", 2.0), ("7", 1.0)]),
        ("[{'chunk_id': 'guide/paint#0'}, {'page': 'errors'}]", [("guide/paint", 2.0), ("errors", 1.0)]),
        ("[{'id': 0, 'metadata': {'id': 7}}]", [("7", 1.0)]),
        ("[{'id': 'x1', 'metadata': {'source': 'errors'}, 'content': 'c'}]", [("errors", 1.0)]),
        ("[{'content': 'c', 'metadata': {'page': 3, 'doc_id': 'errors'}}]", [("errors", 1.0)]),
        # LangChain, with a path as its loaders give it, and with the score beside it
        ("[Plain(page_content='c', id=None, metadata={'source': 'docs/errors.md', 'page': 0})]", [("errors", 1.0)]),
        ("[(Plain(page_content='c', metadata={'source': './docs/errors.md'}), 0.75)]", [("errors", 0.75)]),
        # LlamaIndex
        (
            "[Plain(node=Node(id_='8c', node_id='8c', ref_doc_id='guide/paint', metadata={}, text='t'), score=0.5)]",
            [("guide/paint", 0.5)],
        ),
        (
            "[Plain(node=Node(id_='8c', ref_doc_id='9d', metadata={'file_path': __file__[:-7] + 'docs/7.md'}), score=None)]",
            [("7", 1.0)],
        ),
        # Haystack
        ("[Plain(id='ab12', content='c', meta={'source': 'errors#1'}, score=0.5)]", [("errors", 0.5)]),
        ("{'documents': [Plain(id='errors', content='c', meta={}, score=0.5)]}", [("errors", 0.5)]),
        # One hit without a score: the order is all there is.
        ("[('errors', 0.1), '7']", [("errors", 2.0), ("7", 1.0)]),
        ("[('errors', 0.1), ('7', 9.0)]", [("errors", 0.1), ("7", 9.0)]),
        ("[]", []),
        ("['errors', 'errors', 'errors#0']", [("errors", 3.0), ("errors", 2.0), ("errors", 1.0)]),
    ],
)  # fmt: skip
def test_what_counts_as_a_list_of_hits(
    made: Workshop, expression: str, expected: list[tuple[str, float]]
) -> None:
    assert pages(answering(made, expression, before=SHAPES)) == expected


def test_a_hit_keeps_its_chunk_and_text_and_is_completed_from_the_corpus(made: Workshop) -> None:
    hits = answering(made, "[{'id': 'errors#1'}, {'id': 'c9', 'doc_id': '7', 'text': 'mine'}, '7']")
    assert [(hit.chunk_id, hit.doc_id, hit.text) for hit in hits] == [
        ("errors#1", "errors", "E102 means lost."),
        ("c9", "7", "mine"),
        ("7", "7", ""),
    ]


def test_unknown_pages_are_kept_and_counted(made: Workshop) -> None:
    arm = made("def search(query): return ['ghost#3', 'errors', {'doc_id': 'nowhere', 'id': 'errors#0'}]")
    assert [hit.doc_id for hit in arm.search("x", 5)] == ["ghost#3", "errors", "nowhere"]
    arm.search("y", 1)
    assert arm.unknown == {"ghost#3": 2, "nowhere": 1}


def test_ten_thousand_hits_are_cut_to_the_pool_and_never_all_read(made: Workshop) -> None:
    assert len(answering(made, "['errors'] * 4 + ['x' * 100_000] * 10_000", pool=4)) == 4
    assert len(answering(made, "(name for name in __import__('itertools').repeat('errors'))", pool=4)) == 4


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("None", "search returned None, not a list of hits"),
        ("3", "search returned int, not a list of hits"),
        ("'errors'", "search returned str, not a list of hits"),
        ("{'errors': 1.0}", "search returned dict, not a list of hits"),
        ("{'errors'}", "search returned set, not a list of hits"),
        ("['7', ('errors', float('nan'))]", "hit 2 ('errors') has the score nan"),
        ("[('errors', float('inf'))]", "hit 1 ('errors') has the score inf"),
        ("[('errors', '0.9')]", "hit 1 ('errors') has a score that is no number ('0.9')"),
        ("[('errors', True)]", "hit 1 ('errors') has a score that is no number (True)"),
        ("[(0.9, 'errors')]", "hit 1 is no (id, score) pair ((0.9, 'errors'))"),
        ("[('errors', 1, 'text')]", "hit 1 is no (id, score) pair (('errors', 1, 'text'))"),
        ("[{'text': 'x'}]", "hit 1 has no id (dict); looked for doc_id, page, chunk_id, id or metadata"),
        ("[None]", "hit 1 has no id (NoneType)"),
        ("['']", "hit 1: the id of its page is empty"),
        ("['a\\n::error::b']", "hit 1: the id of its page has a control character"),
        ("['\\ud800']", "hit 1: the id of its page has a control character"),
        ("['x' * 2000]", "hit 1: the id of its page has 2000 characters, over 1000"),
        ("1 / 0", "ZeroDivisionError: division by zero (mine.py:3)"),
        ("exit(0)", "SystemExit: 0"),
        ("[object()].missing", "AttributeError: 'list' object has no attribute 'missing' (mine.py:3)"),
    ],
)
def test_what_does_not_fails_that_case_alone(made: Workshop, expression: str, message: str) -> None:
    arm = made(f"\ndef search(query, pool):\n    return {expression} if query == 'bad' else ['errors']\n")
    said = ask(arm, "bad", 5)
    assert isinstance(said, str)
    assert message in said
    assert "\n" not in said
    assert [hit.doc_id for hit in arm.search("good", 5)] == ["errors"]
    assert arm._bridge._talk.starts == 1


# --- Functions and classes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "def search(query): return ['errors']",
        "def search(query, pool): return ['errors'] * pool",
        "def search(query, top_k=10): return ['errors'] * top_k",
        "def search(query, *, top_k=3): return ['errors'] * top_k",
        "def search(*arguments): return ['errors'] * arguments[1]",
        "search = lambda query: ['errors'] * 3",
        "async def search(query, pool): return ['errors'] * pool",
        "async def search(query):\n    for _ in range(100): yield 'errors'",
        "import asyncio\nlocked = asyncio.Lock\nasync def search(query, pool):\n    global locked\n    if not isinstance(locked, asyncio.Lock): locked = locked()\n    async with locked: await asyncio.sleep(0)\n    return ['errors'] * pool",
        "class search:\n    def search(self, query, pool): return ['errors'] * pool",
        "class search:\n    async def search(self, query): return ['errors']",
        "class search:\n    def __call__(self, query, pool): return ['errors'] * pool",
        "class Own:\n    def search(self, query, pool): return ['errors'] * pool\nsearch = Own()",
        "import functools\nsearch = functools.partial(lambda index, query, pool: ['errors'] * pool, {})",
    ],
)
def test_how_it_may_be_written(made: Workshop, code: str) -> None:
    arm = made(code)
    assert {hit.doc_id for hit in arm.search("one", 3)} == {"errors"}
    assert len(arm.search("two", 3)) in (1, 3)


def test_a_class_gets_the_options_and_is_closed(made: Workshop) -> None:
    arm = made(
        """
        from pathlib import Path
        class Search:
            def __init__(self, names, *, boost):
                self.names, self.boost = names, boost
            def search(self, query):
                return [(name, self.boost) for name in self.names]
            def close(self):
                Path("closed").write_text("yes")
        """,
        target="mine:Search",
        options={"names": ["errors", "7"], "boost": 2.5},
    )
    assert pages(arm.search("x", 5)) == [("errors", 2.5), ("7", 2.5)]
    arm.close()
    arm.close()
    assert (made.root / "closed").read_text() == "yes"


def test_a_name_inside_a_package_and_in_a_namespace(made: Workshop) -> None:
    (made.root / "deep/er").mkdir(parents=True)
    (made.root / "deep/er/part.py").write_text(
        "class Index:\n  @staticmethod\n  def find(query): return ['7']\n"
    )
    assert pages(made("", target="deep.er.part:Index.find").search("x", 2)) == [("7", 1.0)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch' (mine.py:1)"),
        ("def broken(:\n", "SyntaxError: "),
        (
            "def deep(): raise OSError('no index here')\n\ndeep()\n",
            "OSError: no index here (mine.py:1 < mine.py:3)",
        ),
        ("import sys\nsys.exit('no licence')", "SystemExit: no licence (mine.py:2)"),
        (
            "import os\nprint('going')\nos._exit(4)",
            "the process ended with exit code 4; its last output: going",
        ),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "was ended by signal 11 (SIGSEGV)"),
        ("search = 3", "TypeError: 'mine:search' is int: no function, and without a 'search'"),
        ("def serch(query): ...", "AttributeError: no 'search' in 'mine' ("),
        (
            "def search(): ...",
            "TypeError: 'mine:search' cannot be called with (query): too many positional arguments",
        ),
        ("def search(a, b, c): ...", "cannot be called with (query, pool): missing a required argument: 'c'"),
        (
            "class search:\n  def __init__(self, index): ...",
            "missing 1 required positional argument: 'index'",
        ),
        ("class search: ...", "TypeError: 'mine:search' is search: no function"),
    ],
)
def test_code_that_cannot_be_loaded_says_why(made: Workshop, code: str, message: str) -> None:
    with pytest.raises((python.UserCodeError, ProcessError)) as fault:
        made(code)
    assert "loading 'mine:search'" in str(fault.value) or "cannot load 'mine:search'" in str(fault.value)
    assert message in str(fault.value)


def test_a_slow_import_is_ended(made: Workshop) -> None:
    with pytest.raises(
        TimeoutError, match=r"loading 'mine:search' took over 1 s; its last output: loading 3 GB"
    ):
        made("import time\nprint('loading 3 GB')\ntime.sleep(60)", startup_seconds=1)


# --- Processes that misbehave -------------------------------------------------------------------------------------


def test_a_query_that_hangs_is_not_measured_and_the_next_one_is(made: Workshop) -> None:
    arm = made(
        """
        import time
        def search(query, pool):
            if query == "hang":
                print("waiting for the index")
                time.sleep(600)
            return ["errors"]
        """,
        timeout_seconds=1,
    )
    assert ask(arm, "hang", 5) == "TimeoutError: no answer within 1 s; its last output: waiting for the index"
    assert pages(arm.search("fine", 5)) == [("errors", 1.0)]


def test_a_loop_that_never_lets_go_is_ended_with_its_children(made: Workshop) -> None:
    arm = made(
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open("child", "w").write(str(child.pid))
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        def search(query):
            while True: pass
        """,
        timeout_seconds=1,
    )
    assert "no answer within 1 s" in str(ask(arm, "x", 5))
    assert gone(int((made.root / "child").read_text()))


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether this process ends within so many seconds (a zombie that nobody reaps has ended)."""
    for _ in range(int(seconds / 0.05)):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_crash_on_the_third_query_loses_that_case_only(made: Workshop) -> None:
    arm = made(
        """
        import os
        asked = 0
        def search(query):
            global asked
            asked += 1
            if asked == 3:
                print("\\x1b[31mout of luck")
                os._exit(9)
            return ["errors"]
        """
    )
    answers = [ask(arm, f"q{number}", 5) for number in range(5)]
    assert [isinstance(answer, str) for answer in answers] == [False, False, True, False, False]
    assert answers[2] == ("the process ended with exit code 9; its last output: \\x1b[31mout of luck")


def test_it_is_started_again_three_times_and_no_more(made: Workshop) -> None:
    arm = made(
        """
        import os
        open("starts", "a").write("x")
        def search(query): os._exit(1)
        """
    )
    answers = [str(ask(arm, f"q{number}", 5)) for number in range(8)]
    assert (made.root / "starts").read_text() == "xxxx"
    assert ["not asked" in answer for answer in answers] == [False] * 4 + [True] * 4
    assert (
        "started again 3 times, and failed each time (last: the process ended with exit code 1)"
        in answers[-1]
    )


def test_a_restart_that_fails_is_told(made: Workshop) -> None:
    arm = made(
        """
        import os, pathlib
        if pathlib.Path("once").exists(): raise OSError("the index is locked")
        pathlib.Path("once").touch()
        def search(query): os._exit(1)
        """
    )
    answers = [str(ask(arm, f"q{number}", 5)) for number in range(6)]
    assert answers[1].endswith("cannot load 'mine:search': OSError: the index is locked (mine.py:3)")
    assert "last: cannot load 'mine:search'" in answers[5]


def test_what_is_printed_does_not_disturb_the_protocol_nor_reach_ours(
    made: Workshop, capfd: pytest.CaptureFixture[str]
) -> None:
    arm = made(
        """
        import os, subprocess, sys
        print('{"protocol": 99}')
        os.write(1, b'{"ready": false}\\n')
        def search(query):
            print("::error::owned"); sys.stderr.write("::set-output name=x::y\\n"); sys.stdout.flush()
            os.write(1, b'{"id": 1, "hits": []}\\n')
            subprocess.run(["echo", "::add-mask::a"])
            sys.__stdout__.write("junk" * 50_000 + "\\n")
            assert sys.stdin.read() == ""
            if query == "end":
                print("##[error]x ::error::y a::b")
                os._exit(1)
            return ["errors"]
        """
    )
    for _ in range(3):
        assert pages(arm.search("x", 5)) == [("errors", 1.0)]
    said = str(ask(arm, "end", 5))
    arm.close()
    assert "## [error]x : :error::y a::b" in said
    assert "| : :error::owned |" in said
    assert "##[" not in said
    assert not any(line.startswith("::") for line in said.splitlines())
    assert len(said) < 3000
    assert capfd.readouterr() == ("", "")


def test_junk_on_the_protocol_itself_ends_the_process(made: Workshop) -> None:
    arm = made(
        """
        import os
        def search(query):
            if query == "junk":
                for descriptor in range(3, 30):
                    try: os.write(descriptor, b'::error::pwned\\n')
                    except OSError: pass
            if query == "forged":
                for descriptor in range(3, 30):
                    try: os.write(descriptor, b'{"id": 999, "hits": []}\\n')
                    except OSError: pass
            if query == "shape":
                for descriptor in range(3, 30):
                    try: os.write(descriptor, b'{"id": 3, "hits": [{"ids": [], "score": NaN}]}\\n')
                    except OSError: pass
            return ["errors"]
        """
    )
    said = str(ask(arm, "junk", 5))
    assert "does not keep to the protocol: it wrote ': :error::pwned'" in said
    assert "it answered a query that was not asked" in str(ask(arm, "forged", 5))
    assert "does not keep to the protocol" in str(ask(arm, "shape", 5))
    assert pages(arm.search("fine", 5)) == [("errors", 1.0)]


def test_an_endless_answer_is_bounded(made: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_process, "MESSAGE_BYTES", 100_000)
    said = answering_with_text(made, 10)
    assert not isinstance(said, str)
    assert "does not keep to the protocol: it wrote 'a line over 100000 bytes'" in str(
        answering_with_text(made, 1_000_000)
    )


def answering_with_text(made: Workshop, characters: int) -> object:
    return ask(
        made(f"def search(query): return [{{'id': '7', 'text': 'x' * {characters}}}]"),
        "x",
        5,
    )


def test_a_forked_child_that_lives_on_does_not_hide_a_crash(made: Workshop) -> None:
    arm = made(
        """
        import os, time
        def search(query):
            if os.fork() == 0:
                os.setsid()
                time.sleep(3)
                os._exit(0)
            os._exit(5)
        """
    )
    started = time.monotonic()
    assert "ended with exit code 5" in str(ask(arm, "x", 5))
    assert time.monotonic() - started < 10


def test_close_ends_a_process_that_does_not_want_to(made: Workshop) -> None:
    arm = made(
        """
        import os, signal, threading, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(600,)).start()
        open("pid", "w").write(str(os.getpid()))
        def search(query): return []
        """
    )
    started = time.monotonic()
    arm.close()
    assert gone(int((made.root / "pid").read_text()))
    assert time.monotonic() - started < 8


def test_an_interrupted_query_is_not_answered_later(made: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = made("def search(query): return [query]")
    real = _process.Process.receive

    def interrupted(self: _process.Process, deadline: float) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(_process.Process, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        arm.search("7", 5)
    monkeypatch.setattr(_process.Process, "receive", real)
    assert pages(arm.search("errors", 5)) == [("errors", 1.0)]


def test_a_killed_gate_leaves_no_process_behind(made: Workshop) -> None:
    (made.root / "mine.py").write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ndef search(query): time.sleep(600)\n"
    )
    code = (
        "import os, sys, threading, time, pathlib\n"
        f"sys.path[:0] = {[str(Path(__file__).parents[3]), str(Path(__file__).parents[2])]!r}\n"
        "from unit.arms.test_python_arm import Workshop, python\n"
        f"made = Workshop(pathlib.Path({str(made.root)!r}))\n"
        "arm = python.build(made, python.Settings(type='python', target='mine:search'))\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), 9)).start()\n"
        "arm.search('x', 5)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert gone(int((made.root / "pid").read_text()), 10.0)


# --- The environment ----------------------------------------------------------------------------------------------

SECRETS = {
    "GITHUB_TOKEN": "ghs_secret",
    "GITHUB_OUTPUT": "/tmp/output",
    "GITHUB_ENV": "/tmp/env",
    "ACTIONS_RUNTIME_TOKEN": "actions_secret",
    "ACTIONS_ID_TOKEN_REQUEST_URL": "https://secret.example",
    "INPUT_X": "input_secret",
    "RUNNER_TEMP": "/tmp/runner_secret",
    "GATE_TOKEN": "gate_secret",
    "OPENAI_API_KEY": "sk-secret",
    "AWS_SECRET_ACCESS_KEY": "aws_secret",
    "HF_TOKEN": "hf_secret",
    "npm_token": "npm_secret",
    "PYTHONPATH": "/nowhere/secret",
    "LC_TOKEN": "lc_secret",
    "SEARCH_URL": "search_secret",
}
ENVIRON = "import os\ndef search(query): return [f'{k}={v}' for k, v in os.environ.items()]"


def test_the_environment_is_an_allowlist(made: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp"}.items():
        monkeypatch.setenv(name, value)
    seen = {hit.doc_id for hit in made(ENVIRON).search("x", 500)}
    assert {name.partition("=")[0] for name in seen} <= {
        "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR",
    }  # fmt: skip
    assert "LC_ALL=C.UTF-8" in seen
    assert not any("secret" in entry for entry in seen)


def test_env_names_what_else_is_passed_and_messages_do_not_show_it(
    made: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_URL", "http://me:pass@host")
    arm = made(
        """
        import os
        def search(query):
            if query == "raise": raise OSError(os.environ["SEARCH_URL"])
            if query == "die":
                print(os.environ["SEARCH_URL"])
                os._exit(1)
            return [os.environ["SEARCH_URL"], os.environ.get("UNSET", "unset")]
        """,
        env=["SEARCH_URL", "UNSET"],
    )
    assert [hit.doc_id for hit in arm.search("x", 5)] == ["http://me:pass@host", "unset"]
    for query in ("raise", "die"):
        said = str(ask(arm, query, 5))
        assert "***" in said
        assert "pass" not in said


@pytest.mark.parametrize(
    "name", [name for name in SECRETS if name not in ("SEARCH_URL", "PYTHONPATH", "AWS_SECRET_ACCESS_KEY")]
)
def test_env_cannot_name_a_token(name: str) -> None:
    with pytest.raises(ValidationError, match="is never passed on"):
        python.Settings(type="python", target="a:b", env=(name,))


def test_no_open_file_of_ours_is_inherited(made: Workshop, tmp_path: Path) -> None:
    path = tmp_path / "ours"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        os.set_inheritable(descriptor, True)
        hits = answering(made, "[os.readlink(f'/proc/self/fd/{n}') for n in range(3, 64) if os.path.exists(f'/proc/self/fd/{n}')] or ['none']", 60, "import os")  # fmt: skip
    finally:
        os.close(descriptor)
    assert not any("ours" in hit.doc_id for hit in hits)


def test_the_working_folder_is_that_of_gate_toml_and_files_there_do_not_break_the_bridge(
    made: Workshop,
) -> None:
    for name in ("json", "os", "queue", "asyncio", "traceback", "python", "bm25", "typing"):
        (made.root / f"{name}.py").write_text("raise SystemError('shadowed')\n")
    (made.root / "gate").mkdir()
    (made.root / "gate/__init__.py").write_text("NAME = 'errors'\n")
    arm = made(
        """
        import os
        import gate
        def search(query):
            if query == "raise": raise OSError("told")
            return [gate.NAME, os.getcwd()]
        """
    )
    assert [hit.doc_id for hit in arm.search("x", 5)] == ["errors", str(made.root)]
    assert ask(arm, "raise", 5) == "OSError: told (mine.py:5)"


# --- The interpreter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interpreter", "message"),
    [
        ("bin/nosuch", "python = 'bin/nosuch': no such interpreter. Make it, or name another one."),
        ("no-such-python", "python = 'no-such-python': no such interpreter."),
        (".", "python = '.': no such interpreter."),
        ("plain.txt", "no such interpreter"),
        ("/bin/cat", "starting /bin/cat: does not keep to the protocol: it wrote "),
        ("/bin/true", "starting /bin/true: the process ended with exit code 0"),
        ("not-elf", "cannot start '"),
    ],
)
def test_an_interpreter_that_is_none(made: Workshop, interpreter: str, message: str) -> None:
    (made.root / "plain.txt").write_text("")
    (made.root / "not-elf").write_bytes(b"\0\1\2")
    (made.root / "not-elf").chmod(0o755)
    if interpreter == "not-elf":
        interpreter = "./not-elf"
    with pytest.raises(ProcessError) as fault:
        made("", python=interpreter, startup_seconds=10)
    assert message in str(fault.value)


def test_which_interpreter_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "project"
    for path in (tmp_path / "bin/python", tmp_path / "mine", project / ".venv/bin/python"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(sys.executable)
    ours = {"PATH": str(tmp_path / "bin")}
    find = _bridge.find_interpreter
    assert find(None, ours, project) == sys.executable
    assert find(None, {**ours, "GATE_PYTHON": ""}, project) == sys.executable
    assert find(None, {**ours, "GITHUB_ACTIONS": "true"}, project) == str(tmp_path / "bin/python")
    assert (
        find(None, {**ours, "GITHUB_ACTIONS": "true", "GATE_PYTHON": "./mine"}, project)
        == f"{tmp_path}/./mine"
    )
    assert find(".venv/bin/python", {**ours, "GATE_PYTHON": "./mine"}, project) == str(
        project / ".venv/bin/python"
    )
    assert find("python", ours, project) == str(tmp_path / "bin/python")
    assert find(str(tmp_path / "mine"), ours, project) == str(tmp_path / "mine")
    with pytest.raises(ProcessError, match=r"GATE_PYTHON = '\./nosuch': no such interpreter"):
        find(None, {**ours, "GATE_PYTHON": "./nosuch"}, project)
    with pytest.raises(ProcessError, match="no 'python' is set, and none is on the path"):
        find(None, {"PATH": "/nowhere", "GITHUB_ACTIONS": "true"}, project)


def test_a_virtual_environment_with_packages_of_its_own(made: Workshop) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made.root / "own")], check=True)
    site = next((made.root / "own").glob("lib/python*/site-packages"))
    (site / "numpy.py").write_text("__version__ = '0.9'\n")
    arm = made("import numpy\ndef search(query): return [numpy.__version__]", python="own/bin/python")
    assert [hit.doc_id for hit in arm.search("x", 5)] == ["0.9"]


# --- Settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"target": "mine"},
        {"target": "mine:"},
        {"target": "mine.py:search"},
        {"target": "a b:c"},
        {"target": "a:b()"},
        {"target": "a:b", "timeout_seconds": 0},
        {"target": "a:b", "startup_seconds": -1.0},
        {"target": "a:b", "env": ("A B",)},
        {"target": "a:b", "env": ("A=B",)},
        {"target": "a:b", "nosuch": 1},
    ],
)
def test_settings_that_are_refused(keys: dict[str, Any]) -> None:
    if keys.get("target") == "mine.py:search":  # a module called 'py' in a package 'mine' may well be
        assert python.Settings(type="python", **keys)
        return
    with pytest.raises(ValidationError):
        python.Settings(type="python", **keys)
