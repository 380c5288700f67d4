"""What the measurements make of their figures: goals, plots, and locks of rivals that name no registry."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.measuring import Case, interleave, quantile, show_tail
from bench.parts import PARTS
from bench.results import Plot

from bench import goals, plots, results, smoke

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "bench" / "locks"


def test_a_percentile_needs_ten_samples_above_it() -> None:
    values = [float(number) for number in range(200)]
    assert [show_tail(values, share) for share in (0.5, 0.95, 0.99)] == ["100", "189", "–"]
    assert [quantile(values, share) for share in (0.0, 1.0)] == [0.0, 199.0]


def test_a_goal_says_by_how_much_it_is_missed() -> None:
    most = goals.Goal("start", "start", "start/bare", 1.5)
    least = goals.Goal("get", "load", "http/SDK", 5, is_least=True)
    none = goals.Goal("lost writes", "writers", "lost writes", 0)
    assert (most.judge(1.5), most.judge(3.0)) == ("met", "missed: 100% too much")
    assert (least.judge(5.0), least.judge(4.0)) == ("met", "missed: 20% too little")
    assert (none.judge(0), none.judge(3)) == ("met", "missed: 100% too much")


def test_cases_take_turns_and_one_that_fails_is_left_out() -> None:
    order: list[str] = []

    def run(name: str, round: int) -> float:
        order.append(name)
        if name == "b" and round == 1:
            raise RuntimeError("it has ended")
        return round

    cases = [Case(name, lambda round, name=name: run(name, round)) for name in "abc"]  # type: ignore[misc]
    interleave(cases, 2)
    assert "".join(order) == "abc" + "bca" + "ca"
    assert [(case.values, case.failure) for case in cases] == [([1, 2], ""), ([], "it has ended"), ([1, 2], "")]


@pytest.mark.parametrize(
    "plot",
    [
        Plot("a", "Bars & more", "ms", {"satchel": 1.0, "<other>": 20.0}),
        Plot("b", "Bars", "ms", {"satchel": 0.01, "other": 2000.0}, is_log=True),
        Plot("c", "Lines", "ms", lines={"one": [(100, 0.5), (1000, 0.0)], "two": [(100, 30.0)]}, across="items"),
        Plot("d", "One point", "ms", lines={"one": [(10, 10)]}, across="items"),
    ],
)
def test_a_plot_is_xml_with_all_its_names(plot: Plot) -> None:
    root = ElementTree.fromstring(plots.draw(plot))
    words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert words >= set(plot.bars or plot.lines)
    assert "prefers-color-scheme: dark" in ElementTree.tostring(root, encoding="unicode")


def test_the_kept_results_and_figures_can_be_read() -> None:
    kept = results.load_all()
    assert set(kept) <= set(PARTS) and all(result.share for result in kept.values())
    assert smoke.find_worse({"x": 2.1}, {"x": 1.0}) == ["x"] and smoke.find_worse({"x": 1.9}, {"x": 1.0}) == []
    assert all(value > 0 for value in json.loads(smoke.KEPT.read_text()).values())


def test_locks_of_rivals_have_hashes_and_no_addresses() -> None:
    for lock in LOCKS.glob("*/package-lock.json"):
        packages = json.loads(lock.read_text())["packages"]
        assert "://" not in lock.read_text(), "npm writes where to give money: take that out"
        assert not [name for name, package in packages.items() if name and not _is_pinned(package)]
    for lock in LOCKS.glob("*.txt"):
        text = lock.read_text()
        assert "http" not in text.replace("httpx", "").replace("httptools", "") or "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")


def _is_pinned(package: dict[str, object]) -> bool:
    return bool(package.get("integrity") or package.get("link") or package.get("inBundle"))
