"""The example plugin of LLM: its fragments, and its tools as a model calls them."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lpisearch

llm = pytest.importorskip("llm", reason="needs `make test-integrations`")
_PLUGIN = Path(__file__).parents[2] / "docs/examples/llm-lpisearch/llm_lpisearch.py"


@pytest.fixture
def plugin(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Register the plugin over the sample corpus, as LLM does when it starts."""
    monkeypatch.setenv("LPISEARCH_DB", str(indexed))
    spec = importlib.util.spec_from_file_location("llm_lpisearch", _PLUGIN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    llm.plugins.pm.register(module, "lpisearch")
    yield module
    llm.plugins.pm.unregister(module)


class _Model(llm.Model):  # type: ignore[misc, name-defined]
    """A model that searches, reads the first result, and then repeats it."""

    model_id = "scripted"
    supports_tools = True

    def execute(self, prompt: Any, stream: Any, response: Any, conversation: Any) -> Any:  # noqa: ARG002
        results = [json.loads(one.output) for one in prompt.tool_results]
        if not results:
            call = llm.ToolCall("LpiSearch_search", {"query": prompt.prompt, "k": 2})
            response.add_tool_call(call)
        elif isinstance(results[0], list):
            call = llm.ToolCall("LpiSearch_read", {"id": results[0][0]["id"], "length": 200})
            response.add_tool_call(call)
        else:
            yield results[0]["text"]


@pytest.mark.usefixtures("plugin")
def test_fragments(indexed: Path) -> None:
    found = llm.get_fragment_loaders()["lpisearch"]("sourdough bread")
    with lpisearch.open(indexed) as library:
        best = library.search("sourdough bread", k=5)
        assert [one.source for one in found] == [f"lpisearch:{hit.id}" for hit in best]
        assert str(found[0]) in library.document(best[0].id).text


@pytest.mark.usefixtures("plugin")
def test_tools(indexed: Path) -> None:
    """A model finds a document and reads it."""
    toolbox = llm.get_tools()["LpiSearch"](str(indexed))
    answer = _Model().chain("sourdough bread", tools=[toolbox]).text()
    with lpisearch.open(indexed) as library:
        text = library.document(library.search("sourdough bread")[0].id).text
    assert text.startswith(answer)
    assert 0 < len(answer) <= 200
    assert json.loads(toolbox.read("nothing"))["error"].startswith("No document has")
