"""The tests that keep lessons honest: every number is a model call, every question fair, every word explained."""

from __future__ import annotations

import ast
import builtins
import re

import pytest

import roofline_lessons as rl
from roofline_lessons.teaching.exercises import EXERCISES
from roofline_lessons.teaching.guesses import ChoiceGuess, SliderGuess
from roofline_lessons.teaching.lesson_map import lessons
from tests.notebooks.questions import output
from tests.notebooks.reading import (
    LESSONS,
    NOTEBOOKS,
    Claim,
    calls,
    cells,
    claims,
    glossary,
    numbers_without_claim,
    prose,
    questions,
    run,
    unit_factor,
)

each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)


@pytest.fixture(autouse=True)
def own_record(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLINE_PROGRESS", str(tmp_path / "my.progress.json"))


# -- claims ------------------------------------------------------------------------------------------------------------


@each_lesson
def test_every_number_in_the_text_has_a_claim(path):
    for cell in cells(path, "markdown"):
        bare = numbers_without_claim(cell.source)
        assert not bare, f"{path.name}, cell {cell.id}: no claim stands behind {', '.join(bare)}"


@each_lesson
def test_every_claim_holds(path):
    found = [(cell, claim) for cell in cells(path, "markdown") for claim in claims(cell.source)]
    names = run(path) if found else {}
    for cell, claim in found:
        where = f"{path.name}, cell {cell.id}"
        assert claim.stands_in(prose(cell.source)), (
            f"{where}: {claim.shown} {claim.unit} is claimed but not in the text"
        )
        value = eval(claim.expression, names)
        assert claim.holds(value), f"{where}: the text says {claim.shown} {claim.unit}, {claim.expression} is {value}"


@each_lesson
def test_every_comment_about_a_claim_is_one(path):
    for cell in cells(path, "markdown"):
        assert cell.source.count("claim:") == len(claims(cell.source)), (
            f"{path.name}, cell {cell.id}: a claim is misspelt"
        )


@pytest.mark.parametrize(
    "text, value, right",
    [
        ("17.1 GB/s", 17.07e9, True), ("17.1 GB/s", 17.2e9, False), ("53 %", 0.5306, True), ("53 %", 0.5351, False),
        ("9.00 FLOP/B", 8.998, True), ("9.00 FLOP/B", 8.99, False), ("3,504,872", 3504872, True),
        ("2.3 times", 2.26, True),
    ],
)  # fmt: skip
def test_claims_compare_at_the_digits_and_unit_shown(text, value, right):
    claim = claims(f"<!-- claim: {text} = x -->")[0]
    assert claim.holds(value) is right


@pytest.mark.parametrize(
    "text, stands",
    [
        ("It reads 17.1 GB/s.", True), ("It reads 17.1\u00a0GB/s, or", True), ("It reads 117.1 GB/s.", False),
        ("It reads 17.1 MB/s.", False), ("It reads 17.15 GB/s.", False), ("It reads nothing.", False),
    ],
)  # fmt: skip
def test_a_claim_is_about_a_whole_number_and_its_unit(text, stands):
    assert Claim("17.1", "GB/s", "x").stands_in(text) is stands


def test_bytes_and_times_may_be_written_out():
    assert Claim("4", "B", "x").stands_in("4 bytes each") and Claim("2.3", "times", "x").stands_in("2.3× as long")


def test_a_claim_with_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="a claim with the unit 'GiB'"):
        unit_factor("GiB")
    assert Claim("1", "µs", "x").holds(1e-6)


def test_the_rule_for_numbers_finds_what_it_should():
    text = "## 3 · Heading\n1. In lesson 02, MobileNetV2 has 151 kernels (`152`), see [02 · x](02_x.ipynb), since 2018."
    assert numbers_without_claim(text) == ["151"]
    assert numbers_without_claim(text + "<!-- claim: 151 = len(plan) -->") == []


# -- predictions and exercises -----------------------------------------------------------------------------------------


@each_lesson
def test_every_answer_is_a_model_call(path):
    for call in calls(path, "predict", "quiz"):
        answer = next(k.value for k in call.keywords if k.arg == "answer")
        where = f"{path.name}, {ast.literal_eval(call.args[0])}"
        assert isinstance(answer, ast.Lambda), f"{where}: the answer must be a lambda that asks the model"
        asked = {n.id for n in ast.walk(answer.body) if isinstance(n, ast.Name)} - set(dir(builtins))
        assert asked, f"{where}: the answer is a literal"


@each_lesson
def test_every_prediction_is_a_fair_question(path):
    """The answer lies inside the slider's range and not where the slider starts; every idea lies inside it, too."""
    asked = questions(path).values()
    assert len(asked) == len(calls(path, "predict", "quiz")) >= 1, f"{path.name}: a question ends its cell"
    for p in asked:
        answer, where = p.answer(), f"{path.name}, {p.name}"
        if isinstance(p.control, ChoiceGuess):
            assert answer in p.control.choices and p.guess is None, f"{where}: {answer!r} is no choice"
        elif isinstance(p.control, SliderGuess):
            low, high = (p.control.options[end][1] for end in (0, -1))
            assert low < answer < high, f"{where}: {answer} is not between {low} and {high}"
            assert max(p.guess / answer, answer / p.guess) > 1.25, f"{where}: the slider starts at its answer"
            assert all(low <= idea.value() <= high for idea in p.ideas), f"{where}: an idea lies outside the slider"


@each_lesson
def test_a_question_is_text_where_there_is_no_kernel(path):
    for name, question in questions(path).items():
        cell = next(c for c in cells(path, "code") if c.id == name)
        assert cell.outputs == output(repr(question)), (
            f"{path.name}, cell {name}: its text is old; run `python -m tests.notebooks.questions`"
        )


@each_lesson
def test_the_code_of_a_question_is_folded(path):
    """Its explanations and its answer stand in the code: they would give the answer away."""
    for cell in cells(path, "code"):
        if "rl.predict(" in cell.source or "rl.quiz(" in cell.source:
            assert cell.metadata.get("jupyter", {}).get("source_hidden"), f"{path.name}, cell {cell.id}: fold it"


def test_the_map_of_lessons_is_what_the_notebooks_hold():
    assert [entry["file"] for entry in lessons()] == [p.name for p in LESSONS]
    for entry, path in zip(lessons(), LESSONS, strict=True):
        used = [ast.literal_eval(call.args[0]) for call in calls(path, "predict", "quiz", "check")]
        assert entry["items"] == used, path.name
        assert cells(path, "markdown")[0].source.startswith(f"# {entry['title']}".replace("00 · ", "")), path.name


@each_lesson
def test_every_exercise_starts_from_its_stub_and_accepts_its_solution(path):
    for call in calls(path, "check"):
        exercise = EXERCISES[ast.literal_eval(call.args[0])]
        cell = next(c for c in cells(path, "code") if exercise.name in c.source)
        given = ast.parse(cell.source).body[0]
        assert ast.dump(given) == ast.dump(ast.parse(exercise.stub).body[0]), (
            f"{path.name}: {exercise.name} has another stub"
        )
        names = {"rl": rl}
        solved = exercise.solution + cell.source.split("\n\n\n", 1)[1].replace("rl.check(", "result = rl.check(")
        exec(solved, names)
        assert names["result"].outcome == "correct", f"{path.name}: {exercise.name}"


# -- words -------------------------------------------------------------------------------------------------------------


def uses(term: str, entry: dict, text: str) -> bool:
    words = [term, *entry.get("forms", [])]
    return any(re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", text, re.I if w.islower() else 0) for w in words)


@pytest.mark.parametrize("term", glossary())
def test_no_word_is_used_before_it_is_explained(term):
    entry = glossary()[term]
    for path in LESSONS:
        for cell in cells(path, "markdown"):
            # a heading or a link to another lesson may announce a word
            text = re.sub(r"^#.*$|\[[^\]]*\]", "", prose(cell.source), flags=re.M)
            explained = re.search(rf"\*\*{re.escape(term)}s?\*\*", text, re.I)
            if explained and path.name[:2] == entry["lesson"]:
                return
            assert not uses(term, entry, text), f"{path.name}, cell {cell.id}: “{term}” is used before it is explained"
    raise AssertionError(f"lesson {entry['lesson']} should explain **{term}** in bold")


def test_the_template_is_a_lesson_that_runs_and_keeps_the_rules():
    path = NOTEBOOKS / "_template.ipynb"
    test_every_number_in_the_text_has_a_claim(path)
    test_every_claim_holds(path)
    test_every_answer_is_a_model_call(path)
    test_every_prediction_is_a_fair_question(path)
    test_a_question_is_text_where_there_is_no_kernel(path)
    test_the_code_of_a_question_is_folded(path)
    test_every_exercise_starts_from_its_stub_and_accepts_its_solution(path)
