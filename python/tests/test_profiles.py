"""Whom response templates are for."""

import pytest

import unjinja

FOREIGN = {
    "start_anchor": "<bot>",
    "defaults": {"role": "assistant", "kind": "x"},
    "fields": {"reasoning_content": {"open": "<think>", "close": "</think>"}, "content": {"close": "<end>"}},
}


def against(template, profile):
    return [one["pointer"] for one in unjinja.lint(template, profile=profile) if one.get("for") == profile]


def test_lint_says_who_does_not_take_a_template():
    assert sorted(against(FOREIGN, "vllm")) == ["/defaults/kind", "/fields/reasoning_content"]
    assert against(FOREIGN, "trl") == []
    named = {one.get("for") for one in unjinja.lint(FOREIGN, profile=["sglang", "vllm"])}
    assert named >= {"sglang", "vllm"}
    assert all("for" not in one for one in unjinja.lint(FOREIGN))


def test_a_template_is_ported():
    ported = unjinja.port(FOREIGN, "vllm")
    assert ported.template["defaults"] == {"role": "assistant"}
    assert list(ported.template["fields"]) == ["thinking", "content"]
    assert [change["pointer"] for change in ported.changes] == ["/defaults/kind", "/fields/reasoning_content"]
    assert ported.objections == [] and against(ported.template, "vllm") == []


def test_what_is_derived_has_the_name_that_suits_all(jinja):
    for profile, name in [((), "thinking"), ("trl", "reasoning_content"), (["trl", "vllm"], "thinking")]:
        derivation = unjinja.derive(jinja, profile=profile)
        assert name in derivation.template["fields"]
        assert all(verdict["effect"] is None for verdict in derivation.report["for"])
    refused = unjinja.derive(jinja, profile="vllm", reasoning_field="reasoning")
    assert refused.report["for"] == [{"name": "vllm", "version": "0.33.0", "effect": "refused", "since": None}]


def test_whom_a_template_is_for_decides_the_parser_of_a_list_of_calls():
    jinja = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
        "{{ '<call>[' if loop.first else ', ' }}{{ c.function.name }}("
        "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ '' if loop.last else ', ' }}{% endfor %})"
        "{{ ']</call>' if loop.last }}{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    for profile, parser in [
        ((), "xml-inline"),
        ("transformers@5.24", "python-call-list"),
        (["transformers@5.24", "vllm@0.33"], "xml-inline"),
    ]:
        derivation = unjinja.derive(jinja, profile=profile)
        assert derivation.is_whole
        assert derivation.template["fields"]["tool_calls"]["content"] == parser


def test_a_profile_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="`profile`: there is no profile `vlm`: did you mean `vllm`?"):
        unjinja.lint(FOREIGN, profile="vlm")
    with pytest.raises(ValueError, match="is no version"):
        unjinja.port(FOREIGN, "vllm@new")


def test_the_library_takes_what_is_said_that_it_takes(reference):
    from transformers import __version__ as version

    if version != "5.24.0":
        pytest.skip(f"the profile was made of another version than {version}")
    for template in [FOREIGN, unjinja.port(FOREIGN, "transformers").template]:
        assert against(template, "transformers") == []
        message = reference.parse_response("<think>Why?</think>So.<end>", template, prefix="<bot>")
        assert message["reasoning_content"] == "Why?" and message["content"] == "So."
