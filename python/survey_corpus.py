"""Chat templates by the thousand, to measure `unjinja survey` on.

    python survey_corpus.py FOLDER [--count 10000]

All are made of the gallery, `chat_templates/`, and no two of their texts are the same: in every second one the words of the
format's markers are others, in the rest only a comment is. Among them are one that is broken, one that loops without end, and
one of some hundred megabytes.
"""

import argparse
import pathlib
import re

GALLERY = pathlib.Path(__file__).resolve().parent.parent / "chat_templates"

# What is left as it is: roles and keys, which templates ask for, and words of Jinja.
KEPT = {"assistant", "user", "system", "tool", "tools", "name", "arguments", "function", "content", "type", "string", "role"}
MARKER = re.compile(r"(<[|/]*|\[/?)([A-Za-z_]{3,})(?=[|>=\]])")


def renamed(text, number):
    """The same with other words in its markers."""

    def other(found):
        start, word = found.groups()
        return found.group() if word.lower() in KEPT else f"{start}{word}_{number}"

    return MARKER.sub(other, text)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--count", type=int, default=10_000)
    given = arguments.parse_args()
    gallery = [path.read_text(encoding="utf-8") for path in sorted(GALLERY.glob("*.jinja"))]
    for number in range(given.count):
        text = gallery[number % len(gallery)]
        text = renamed(text, number) if number // len(gallery) % 2 else f"{{# version {number} #}}{text}"
        folder = given.folder / f"{number // 1000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:06}.jinja").write_text(text, encoding="utf-8")
    odd = given.folder / "odd"
    odd.mkdir(exist_ok=True)
    (odd / "broken.jinja").write_text("{% for m in messages %}")
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{{ a * b }}{% endfor %}{% endfor %}"
    (odd / "hostile.jinja").write_text(loop)
    with open(odd / "huge.jinja", "w") as file:
        for _ in range(300):
            file.write("{{ messages }}\n" * 70_000)


if __name__ == "__main__":
    main()
