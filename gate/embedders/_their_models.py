"""Loads models with the user's own packages: sentence-transformers, fastembed, model2vec. It runs in the user's interpreter.

Only the standard library, and only what Python 3.8 reads, until a package of the user's is asked for. Each class
takes the same arguments, and has `embed(texts, mode)`. A prefix of None leaves it to the model how a query or a
passage is marked; any other, an empty one too, is put in front of each text.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

# These packages, or what they run on, report their use to their makers by default. A gate is not to be the reason.
for name in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ.setdefault(name, "1")


class AbsentError(Exception):
    """A package is not there. The bridge tells this as it stands, without where it was raised."""

    plain = True


def package(module: str, name: str) -> Any:
    """The package of the user's, imported."""
    if importlib.util.find_spec(module) is None:
        raise AbsentError(
            f"the package {name} is not installed for {sys.executable}. Install it there with 'pip install "
            f'{name}\', or name the interpreter that has it with python = "...".'
        )
    return importlib.import_module(module)


class Model:
    """What all three have in common."""

    def __init__(
        self,
        model: str,
        revision: str,
        query_prefix: str | None,
        passage_prefix: str | None,
        batch_size: int,
        options: Mapping[str, Any],
    ) -> None:
        self.prefixes = {"query": query_prefix, "passage": passage_prefix}
        self.batch_size = batch_size
        self.model = self.load(model, revision, dict(options))

    def load(self, model: str, revision: str, options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def embed(self, texts: Sequence[str], mode: str) -> Any:
        """One vector for each text."""
        prefix = self.prefixes[mode]
        if prefix is None:
            return self.as_the_model_does(list(texts), mode)
        return self.behind(prefix, list(texts))

    def as_the_model_does(self, texts: list[str], mode: str) -> Any:  # noqa: ARG002 - for models that tell them apart
        return self.behind("", texts)

    def behind(self, prefix: str, texts: list[str]) -> Any:
        raise NotImplementedError


class SentenceTransformers(Model):
    def load(self, model: str, revision: str, options: dict[str, Any]) -> Any:
        found = package("sentence_transformers", "sentence-transformers")
        if len(revision) == 40 and set(revision) <= set("0123456789abcdef"):  # a commit on the hub
            options.setdefault("revision", revision)
        return found.SentenceTransformer(model, **options)

    def as_the_model_does(self, texts: list[str], mode: str) -> Any:
        named = getattr(self.model, "encode_query" if mode == "query" else "encode_document", None)
        encode = named or self.model.encode  # releases before 5 have `encode` only
        return encode(texts, batch_size=self.batch_size, show_progress_bar=False)

    def behind(self, prefix: str, texts: list[str]) -> Any:
        # As a prompt, since the model may have one by default, which this takes the place of.
        return self.model.encode(texts, prompt=prefix, batch_size=self.batch_size, show_progress_bar=False)


class FastEmbed(Model):
    def load(self, model: str, revision: str, options: dict[str, Any]) -> Any:  # noqa: ARG002 - it knows no revisions
        return package("fastembed", "fastembed").TextEmbedding(model_name=model, **options)

    def as_the_model_does(self, texts: list[str], mode: str) -> Any:
        if mode == "query":
            return self.model.query_embed(texts)
        return self.model.passage_embed(texts, batch_size=self.batch_size)

    def behind(self, prefix: str, texts: list[str]) -> Any:
        return self.model.embed([prefix + text for text in texts], batch_size=self.batch_size)


class Model2Vec(Model):
    def load(self, model: str, revision: str, options: dict[str, Any]) -> Any:  # noqa: ARG002 - it knows no revisions
        return package("model2vec", "model2vec").StaticModel.from_pretrained(model, **options)

    def behind(self, prefix: str, texts: list[str]) -> Any:
        texts = [prefix + text for text in texts]
        return self.model.encode(texts, batch_size=self.batch_size, show_progress_bar=False)
