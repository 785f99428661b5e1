"""A real HTTP server that speaks chat completions and responses, and answers by rules that a test writes.

A rule is a function from (question, passages) to a reply: a table (the answer), a text (sent as it is), or None (a refusal).
`structured` False answers a request for a schema with 400, as servers do that do not know it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from search_site import Request, search_site
from search_site import Site as Plain

Rule = Callable[[str, dict[str, str]], Any]
_PASSAGE = re.compile(
    r"^\[(?P<id>[^\]\n]+)\]\n(?P<text>.*?)(?=\n\n\[|\n\nQuestion: )", re.DOTALL | re.MULTILINE
)


@dataclass
class Model:
    """The server's behaviour, and what it was asked."""

    site: Plain
    rule: Rule
    structured: bool = True
    usage: bool = True
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    repairs: int = 0

    @property
    def url(self) -> str:
        return f"{self.site.url}/v1"

    def answer(self, request: Request) -> Any:
        body = request.body
        chat = request.path.endswith("/chat/completions")
        turns = body["messages"][1:] if chat else body["input"]
        wants_schema = "response_format" in body or "text" in body
        user = turns[0]["content"]
        question = user.rpartition("Question: ")[2]
        passages = {found["id"]: found["text"] for found in _PASSAGE.finditer(user)}
        if wants_schema and not self.structured:
            return (400, {}, {"error": {"message": "response_format json_schema is not supported"}})
        repair = len(turns) > 1
        self.repairs += repair
        self.asked.append((question, passages))
        reply = self.rule(question if not repair else f"repair: {question}", passages)
        if isinstance(reply, tuple):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        tokens = (len(user.split()), len(text.split()))
        return (200, {}, self._chat(reply, text, tokens) if chat else self._response(reply, text, tokens))

    def _chat(self, reply: Any, text: str, tokens: tuple[int, int]) -> Any:
        message = {"role": "assistant", "content": None if reply is None else text}
        if reply is None:
            message["refusal"] = "I cannot help with that."
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        return {
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            **({"usage": usage} if self.usage else {}),
        }  # fmt: skip

    def _response(self, reply: Any, text: str, tokens: tuple[int, int]) -> Any:
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        if reply is None:
            part = {"type": "refusal", "refusal": "I cannot help with that."}
        usage = {
            "input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens),
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        return {
            "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "tools": [],
            "tool_choice": "auto", "parallel_tool_calls": False,
            "output": [{"id": "o", "type": "message", "role": "assistant", "status": "completed", "content": [part]}],
            **({"usage": usage} if self.usage else {}),
        }  # fmt: skip


@contextmanager
def generation_site(rule: Rule) -> Iterator[Model]:
    """A server on loopback until the test is done with it."""
    with search_site() as site:
        model = Model(site, rule)
        site.answer = model.answer
        yield model


def cites(passage: str, quote: str = "", answer: str = "So it is.") -> dict[str, Any]:
    """A reply that cites one passage."""
    return {"answered": True, "answer": answer, "citations": [{"passage": passage, "quote": quote}]}


REFUSAL = {"answered": False, "answer": "It does not say.", "citations": []}
