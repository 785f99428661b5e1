"""Models of packages that the user has, each as a class with `embed(texts, mode)`.

This file runs in the user's interpreter, behind the bridge, and never in the gate's process: only the standard library and
the package in question, and only what Python 3.8 reads.
"""

from __future__ import annotations

from typing import Any


class SentenceTransformers:
    """A model of sentence-transformers, by its name or folder."""

    def __init__(self, model: str, **options: Any) -> None:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]

        self._model = SentenceTransformer(model, **options)

    def embed(self, texts: list[str]) -> Any:
        return self._model.encode(texts, convert_to_numpy=True, show_progress_bar=False)


class FastEmbed:
    """A model of fastembed, by its name; it knows queries from passages where the model does."""

    def __init__(self, model: str, **options: Any) -> None:
        from fastembed import TextEmbedding  # type: ignore[import-not-found, unused-ignore]

        self._model = TextEmbedding(model_name=model, **options)

    def embed(self, texts: list[str], mode: str) -> Any:
        embed = self._model.query_embed if mode == "query" else self._model.passage_embed
        return [vector.tolist() for vector in embed(texts)]


class Model2Vec:
    """A static model of model2vec, by its name or folder."""

    def __init__(self, model: str, **options: Any) -> None:
        from model2vec import StaticModel  # type: ignore[import-not-found, unused-ignore]

        self._model = StaticModel.from_pretrained(model, **options)

    def embed(self, texts: list[str]) -> Any:
        return self._model.encode(texts)
