"""What the map shows: points, colours, marks and domains, and the bytes in which they travel."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from atlas.maps.map import UNCLUSTERED, Domain, MapRecipe, MemoryMap
from atlas.views.charts.palette import PALETTE
from atlas.views.curate.case_view import case_view
from atlas.views.curate.cases import Case
from atlas.views.curate.health import FAILING, domain_lines
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.lists.listing import similar_rows
from atlas.views.map.colours import (
    AGE,
    COLOURED_BY,
    DOMAIN,
    ENTRIES,
    GREY,
    NEUTRAL,
    OUTCOME,
    RED,
    SOURCE,
    USE,
    WEAK_DOMAINS,
    by_value,
    domain_colours,
)
from atlas.views.map.domains import (
    domain_rows,
    domain_sentence,
    domain_tasks,
    domains_caption,
    members_to_show,
    no_domains_sentence,
    rank_lines,
    sizes_offered,
    success_rate,
    weak_sentence,
)
from atlas.views.map.figure import map_figure
from atlas.views.map.packets import component_script, layer_script, mask_bits, mask_text, pack, renderer_script
from atlas.views.map.page import (
    Hits,
    Marks,
    colouring_of,
    colours_packet,
    hits_of,
    marks_packet,
    members_text,
    neighbours_of,
    quality_help,
    quality_text,
    query_place,
    selected_after,
    shown_text,
)
from atlas.views.map.points import points_of
from atlas.views.map.sheet import Sheet, colours_of, map_fingerprint, sheet_of
from atlas.views.map.tooltips import TITLES, tooltip_packet
from atlas.views.shared.scope import WORDS, Scope
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store

N = 12


def make_map(
    ids=None, labels=(0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, UNCLUSTERED), names=("tax", "soup", "web")
) -> MemoryMap:
    """A map made by hand: points on a line, the first domain at its left."""
    ids = tuple(ids or (f"id{i}" for i in range(N)))
    n, labels = len(ids), np.array(labels, np.int32)
    xy = np.stack([np.linspace(-1, 1, n), np.zeros(n)], axis=1).astype(np.float32)
    domains = []
    for number, name in enumerate(names):
        rows = np.flatnonzero(labels == number)
        centre = tuple(float(part) for part in np.median(xy[rows], axis=0))
        typical = tuple(ids[row] for row in rows[:2])
        domains.append(
            Domain(
                number=number,
                name=name,
                is_named_by_person=False,
                terms=(name,),
                n=len(rows),
                centre=centre,
                typical=typical,
            )
        )
    recipe = MapRecipe(model="m", engine="umap", seed=42, n_neighbours=15, min_domain_size=5, versions="")
    return MemoryMap(
        ids=ids,
        coordinates=xy,
        is_placed=np.zeros(n, np.bool_),
        labels=labels,
        strengths=np.ones(n, np.float32),
        domains=tuple(domains),
        recipe=recipe,
        trustworthiness=0.984,
        revision=1,
    )


COLUMNS = {
    "outcome": {**{f"id{i}": "succeeded" for i in range(9)}, "id9": "failed", "id10": "failed"},
    "created_at": {f"id{i}": f"2026-03-{i + 1:02}T10:00:00+00:00" for i in range(N)},
}


@pytest.fixture
def points():
    return points_of(make_map(), COLUMNS)


def unpacked(packet: bytes) -> dict:
    """A layer as the browser reads it."""
    (length,) = struct.unpack_from("<I", packet)
    layer = json.loads(packet[4 : 4 + length])
    kinds = {"f4": np.float32, "u2": np.uint16, "u1": np.uint8}
    arrays = {name: np.frombuffer(packet, kinds[kind], n, start) for name, kind, start, n in layer.pop("arrays")}
    return layer | arrays


def test_a_layer_comes_back_as_it_was_packed():
    xy, days = np.arange(6, dtype=np.float32), np.array([1, 65535, 3], np.uint16)
    layer = unpacked(pack({"title": "日本 <b>"}, xy=xy, days=days, kind=np.array([7], np.uint8)))
    assert layer["title"] == "日本 <b>"
    assert layer["xy"].tolist() == xy.tolist()
    assert layer["days"].tolist() == [1, 65535, 3]
    assert layer["kind"].tolist() == [7]


@pytest.mark.parametrize("n_blobs", range(8))
def test_arrays_begin_at_a_multiple_of_four(n_blobs):
    packet = pack({"x" * n_blobs: 1}, **{f"a{i}": np.zeros(i + 1, np.uint8) for i in range(n_blobs)})
    (length,) = struct.unpack_from("<I", packet)
    starts = [start for _, _, start, _ in json.loads(packet[4 : 4 + length])["arrays"]]
    assert [start % 4 for start in starts] == [0] * n_blobs


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_a_mask_comes_back_as_it_was_sent(n):
    bits = np.random.default_rng(n).random(n) < 0.5
    assert mask_bits(mask_text(bits), n).tolist() == bits.tolist()


@pytest.mark.parametrize("text", ["", "not base64!", "ÿ", "AAAA" * 100, "A"])
def test_whatever_a_browser_sends_as_a_mask_has_one_bit_a_point(text):
    assert len(mask_bits(text, 9)) == 9


def test_a_mask_of_a_hundred_thousand_points_takes_17_kilobytes():
    assert len(mask_text(np.ones(100_000, np.bool_))) < 17_000


def test_points_have_a_place_an_outcome_and_a_day(points):
    layer = unpacked(points.packet)
    assert (layer["n"], layer["first_day"], layer["n_days"]) == (12, "2026-03-01", 12)
    assert layer["xy"].reshape(-1, 2)[[0, -1]].tolist() == [[-1, 0], [1, 0]]
    assert layer["outcome"].tolist() == [0] * 9 + [1, 1, 2]
    assert layer["day"].tolist() == list(range(12))
    assert layer["label"] == "Map of 12 experiences in 3 domains."


def test_points_without_a_date_count_as_of_the_first_day():
    columns = {"outcome": {}, "created_at": {"id3": "2026-05-05T00:00:00", "id4": "nonsense", "id5": "2026-05-06"}}
    layer = unpacked(points_of(make_map(), columns).packet)
    assert layer["day"].tolist() == [0, 0, 0, 0, 0, 1, *[0] * 6]


def test_the_key_of_points_changes_with_an_outcome_and_not_with_a_name(points):
    assert points_of(make_map(names=("a", "b", "c")), COLUMNS).key == points.key
    changed = {**COLUMNS, "outcome": {**COLUMNS["outcome"], "id0": "failed"}}
    assert points_of(make_map(), changed).key != points.key


def test_a_point_that_is_none_has_no_id(points):
    assert points.id_of(3) == "id3"
    assert [points.id_of(other) for other in (-1, 12, "3", None, 2.0, True)] == [None] * 5 + ["id1"]


def test_a_mask_becomes_ids(points):
    assert points.ids_of(mask_text(points.bits_of(["id3", "id11", "gone"]))) == ["id3", "id11"]


def test_domains_come_worst_first_with_their_interval(points):
    rows = domain_rows(make_map(), points.outcomes)
    assert [row.name for row in rows] == ["web", "tax", "soup"]
    assert domain_sentence(rows[0], success_rate(points.outcomes)) == (
        "2 of 2 experiences with a known outcome · likely 0–71% · average 82% · automatic name"
    )
    assert [row.as_label()["note"] for row in rows] == ["0% succeeded", "100%", "100%"]
    assert (rows[0].as_line().id, rows[0].as_line().name) == (str(rows[0].number), "web")
    assert rows[0].as_line().rate == {"share": 0.0, "text": "0% of 2\nlikely 0–71%", "weak": True, "tick": 9 / 11}


def test_a_domain_clearly_below_average_comes_before_a_lower_one_with_few_outcomes():
    ids = [f"id{i}" for i in range(60)]
    memory_map = make_map(ids, labels=[0] * 38 + [1] * 20 + [2] * 2)
    outcome = dict.fromkeys(ids, "succeeded") | dict.fromkeys([*ids[38:48], ids[58], ids[59]], "failed")
    del outcome["id59"]
    rows = domain_rows(memory_map, points_of(memory_map, {**COLUMNS, "outcome": outcome}).outcomes)
    assert [(row.name, row.rate.share, row.is_weak) for row in rows] == [
        ("soup", 0.5, True), ("web", 0.0, False), ("tax", 1.0, False),
    ]  # fmt: skip


def test_the_radius_of_a_domain_in_two_parts_reaches_both():
    memory_map = make_map(
        [f"id{i}" for i in range(60)], labels=[0] * 30 + [1] * 20 + [0] * 10, names=("parted", "between")
    )
    parted = next(
        row for row in domain_rows(memory_map, points_of(memory_map, COLUMNS).outcomes) if row.name == "parted"
    )
    far_end = memory_map.coordinates[57]
    assert np.linalg.norm(far_end - np.array(parted.centre)) <= parted.radius


def test_a_domain_of_which_no_outcome_is_known_comes_last():
    memory_map = make_map()
    columns = {**COLUMNS, "outcome": {f"id{i}": "succeeded" for i in range(5)}}
    rows = domain_rows(memory_map, points_of(memory_map, columns).outcomes)
    assert [row.name for row in rows] == ["tax", "soup", "web"]
    assert domain_sentence(rows[1], rows[0].rate) == "4 experiences of unknown outcome · automatic name"
    assert rows[1].note == ""


def test_what_waits_for_an_outcome_counts_in_no_rate_of_a_domain():
    columns = {**COLUMNS, "outcome": {"id0": "succeeded", "id1": "failed", "id5": "unknown"}}
    row = next(row for row in domain_rows(make_map(), points_of(make_map(), columns).outcomes) if row.name == "tax")
    assert (row.n, row.rate.n_known, row.rate.n_unknown) == (5, 2, 3)
    assert domain_sentence(row, row.rate) == (
        "2 of 5 experiences with a known outcome · likely 9–91% · average 50% · automatic name"
    )
    assert row.note == "50%"
    assert row.as_line().rate["text"] == "50% of 2\nlikely 9–91%"


def test_a_domain_is_weak_where_its_rate_is_below_the_average_by_more_than_chance():
    labels, n = [0] * 20 + [1] * 20, 40
    outcomes = {f"id{i}": "failed" if i < 18 else "succeeded" for i in range(n)}
    memory_map = make_map([f"id{i}" for i in range(n)], labels, ("poor", "good"))
    rows = domain_rows(memory_map, points_of(memory_map, {**COLUMNS, "outcome": outcomes}).outcomes)
    assert [(row.name, row.is_weak) for row in rows] == [("poor", True), ("good", False)]
    assert rows[0].as_label()["weak"]
    assert weak_sentence(rows, rows[1].rate) == "1 of 2 domains is clearly below the average of 100%."
    assert weak_sentence(rows[1:], rows[1].rate) == "None of 1 domain is clearly below the average of 100%."


def test_the_caption_counts_domains_and_what_is_in_none():
    assert domains_caption(make_map()) == "3 domains · 8% in no domain"


def test_a_sketch_does_not_say_that_there_are_no_domains():
    fitted = make_map(labels=[UNCLUSTERED] * N, names=())
    sketch = replace(fitted, recipe=replace(fitted.recipe, engine="pca"))
    assert domains_caption(fitted) == "0 domains · 100% in no domain"
    assert domains_caption(sketch) == "not found yet"
    assert "as soon as the map is made" in no_domains_sentence(sketch)
    assert "No domains stand out" in no_domains_sentence(fitted)


def test_tasks_of_a_domain_that_fail_come_first_and_what_is_gone_is_left_out(points):
    titles = {"id0": "Run 1", "id1": "Run 2", "id10": "Fix <b>it</b>", "id3": "Paint"}
    of_domain = domain_tasks(["id3", "id0", "gone", "id1", "id10"], points, titles)
    assert [line.task for line in (*of_domain.failing, *of_domain.typical)].count("Fix <b>it</b>") == 1
    assert "id10" in [line.id for line in of_domain.failing]
    assert not [line for line in of_domain.typical if line.outcomes == ("✗ failed",)]
    assert len([line for line in (*of_domain.failing, *of_domain.typical) if line.task.startswith("Run")]) == 1


def test_members_are_read_the_typical_first():
    row = domain_rows(make_map(), points_of(make_map(), COLUMNS).outcomes)[0]
    ids = members_to_show(make_map(), row)
    assert set(ids) >= set(row.typical)
    assert ids[: len(row.typical)] == list(row.typical)


def test_what_was_found_keeps_its_rank(points):
    first, last = rank_lines(["id10", "gone", "id3"], points, {"id10": "Fix it", "id3": "x" * 300})
    assert (first.rank, first.id, first.task) == (1, "id10", "Fix it")
    assert (last.rank, last.id, last.task) == (3, "id3", "x" * 300)


def test_sizes_offered_hold_the_maps_own_and_end_where_no_two_domains_fit():
    sizes = sizes_offered(make_map())
    assert 5 in sizes
    assert sizes == sorted(sizes)
    assert max(sizes) <= 5


def test_points_are_coloured_by_domain(points):
    colouring = colouring_of(make_map(), points, DOMAIN, {})
    assert [(entry.name, entry.n, entry.colour) for entry in colouring.entries] == [
        ("tax", 5, 0),
        ("soup", 4, 1),
        ("web", 2, 2),
        ("In no domain", 1, GREY),
    ]
    assert colouring.category.tolist() == [0] * 5 + [1] * 4 + [2, 2, 3]


def test_weak_domains_are_red_all_others_alike_and_what_is_in_none_hollow(points):
    colouring = colouring_of(make_map(), points, WEAK_DOMAINS, {}, weak=[2])
    assert [(entry.name, entry.n, entry.colour, entry.is_hollow) for entry in colouring.entries] == [
        ("Weak domains", 2, RED, False),
        ("Other domains", 9, NEUTRAL, False),
        ("In no domain", 1, GREY, True),
    ]
    assert colouring.category.tolist() == [1] * 9 + [0, 0, 2]


def test_a_map_without_domains_has_one_colour_and_nothing_hollow(points):
    memory_map = make_map(labels=[UNCLUSTERED] * N, names=())
    for by in (WEAK_DOMAINS, DOMAIN):
        entries = colouring_of(memory_map, points, by, {}).entries
        assert [(entry.n, entry.is_hollow) for entry in entries] == [(N, False)]


def test_a_failing_domain_names_the_tasks_that_its_attempts_were_made_at(tmp_path):
    ids = make_store(tmp_path, [attempt(f"Mend {n}", n >= 5, task_id=f"t{n % 2 if n < 5 else n}") for n in range(N)])
    with opened_store(tmp_path) as memory:
        line = domain_lines(memory, make_map(ids))[0]
        case = Case(queue=FAILING, noun="experience", collection="", ids=(), domain=line)
        assert (line.n_known, line.n_tasks, line.is_failing) == (5, 2, True)
        assert "0% of its 5 attempts at 2 tasks succeeded" in case_view(memory, case).reason


def test_domains_close_to_each_other_differ_in_hue():
    places = [(0.0, 0.0), (5.0, 0.0), (5.0, 5.0), (0.0, 5.0), (9.0, 9.0), (9.0, -9.0), (-9.0, 9.0), (-9.0, -9.0)]
    domains = [_domain(number, place) for number, place in enumerate([*places, (0.1, 0.0)])]
    colours = domain_colours(domains)
    assert sorted(colours.values()) == list(range(9)), "each has its own"
    assert colours[0] % len(PALETTE) != colours[8] % len(PALETTE), "the last had the hue of the first, beside it"
    assert {colours[0], colours[8]} != {0, 5}, "blue and slate look alike"


def _domain(number, centre):
    return Domain(number=number, name=f"d{number}", is_named_by_person=False, terms=(), n=5, centre=centre, typical=())


def test_more_domains_than_a_legend_holds_share_its_last_entry():
    n = ENTRIES + 20
    memory_map = make_map([f"id{i}" for i in range(n)], range(n), [f"d{i}" for i in range(n)])
    colouring = colouring_of(memory_map, points_of(memory_map, COLUMNS), DOMAIN, {})
    assert len(colouring.entries) == ENTRIES
    assert (colouring.entries[-1].name, colouring.entries[-1].n) == ("In no domain or a smaller one", 21)
    assert colouring.category.max() == ENTRIES - 1


def test_outcomes_have_shapes_of_their_own(points):
    colouring = colouring_of(make_map(), points, OUTCOME, {})
    assert [(entry.name, entry.n) for entry in colouring.entries] == [("succeeded", 9), ("failed", 2), ("unknown", 1)]
    assert colouring.has_shapes


def test_age_counts_back_from_the_newest(points):
    colouring = colouring_of(make_map(), points, AGE, {**COLUMNS["created_at"], "id0": "2020-01-01T00:00:00+00:00"})
    assert [(entry.name, entry.n) for entry in colouring.entries] == [
        ("last day", 2),
        ("last week", 6),
        ("last month", 3),
        ("older", 1),
    ]
    shades = [entry.shade for entry in colouring.entries]
    assert shades == sorted(shades, reverse=True)
    assert colouring.category.tolist() == [3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0]


def test_use_tells_what_was_never_retrieved(points):
    colouring = colouring_of(make_map(), points, USE, {"id0": 1, "id1": 3, "id2": 500})
    assert [(entry.name, entry.n) for entry in colouring.entries] == [
        ("never retrieved", 9),
        ("once", 1),
        ("2–4 times", 1),
        ("20 times or more", 1),
    ]


def test_values_beyond_the_most_frequent_go_together():
    values = [*[f"v{i}" for i in range(ENTRIES + 5)], "v0", None, ""]
    colouring = by_value(SOURCE, values)
    named = {entry.name: entry.n for entry in colouring.entries}
    assert (named["v0"], named["(all others)"], named["(not said)"]) == (2, 7, 2)
    assert colouring.entries[int(colouring.category[-1])].name == "(not said)"
    assert sum(named.values()) == len(values)


def test_time_runs_by_rank_where_one_day_brought_more_than_half():
    times = {f"id{i}": f"2026-05-05T10:{59 - i:02}:00" for i in range(11)} | {"id11": "2026-01-01T00:00:00"}
    layer = unpacked(points_of(make_map(), {"outcome": {}, "created_at": times}).packet)
    assert layer["day"].tolist() == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert layer["n_days"] == 12
    assert (layer["moments"][0], layer["moments"][-1]) == ("1 Jan 2026, 00:00", "5 May 2026, 10:59")


def test_the_packet_of_colours_lists_legend_and_labels(points):
    memory_map = make_map()
    colouring = colouring_of(memory_map, points, DOMAIN, {})
    layer = unpacked(colours_packet(memory_map, points, colouring, domain_rows(memory_map, points.outcomes)))
    assert [entry["name"] for entry in layer["entries"]] == ["tax", "soup", "web", "In no domain"]
    assert [label["name"] for label in layer["labels"]] == ["web", "tax", "soup"]  # the worst first
    assert [entry["label"] for entry in layer["entries"]] == [1, 2, 0, None]
    assert [label["colour"] for label in layer["labels"]] == [2, 0, 1]
    assert layer["labels"][1]["x"] == pytest.approx(-7 / 11, abs=1e-6)


def test_only_the_names_of_weak_domains_are_red(points):
    memory_map = make_map()
    rows = domain_rows(memory_map, points.outcomes)
    colouring = colouring_of(memory_map, points, WEAK_DOMAINS, {}, weak=[2])
    layer = unpacked(colours_packet(memory_map, points, colouring, rows))
    assert [(label["name"], label["colour"]) for label in layer["labels"]] == [
        ("web", RED),
        ("tax", None),
        ("soup", None),
    ]


def test_marks_speak_of_points_by_number(points):
    memory_map = make_map()
    domain = domain_rows(memory_map, points.outcomes)[0]
    marks = Marks(
        inside=["id1", "id2"],
        chosen=["id2", "elsewhere"],
        hits=Hits(ids=("id5", "elsewhere", "id4"), similarities=(0.9, 0.8, 0.7)),
        opened="id7",
        neighbours=("id8", "elsewhere"),
        focus=(domain, 3),
        start={"x": 1},
    )
    layer = unpacked(marks_packet(memory_map, points, marks))
    assert np.flatnonzero(mask_bits(layer["shown"], N)).tolist() == [1, 2]
    assert np.flatnonzero(mask_bits(layer["chosen"], N)).tolist() == [2]
    assert (layer["hits"], layer["opened"], layer["neighbours"]) == ([5, 4], 7, [8])
    assert (layer["focus"]["name"], layer["focus"]["turn"], layer["start"]) == ("web", 3, {"x": 1})


def test_nothing_marked_hides_nothing(points):
    layer = unpacked(marks_packet(make_map(), points, Marks()))
    assert [layer[name] for name in ("shown", "chosen", "query", "opened", "focus")] == [None] * 5


def test_a_question_lies_nearest_to_its_nearest_hits(points):
    memory_map = make_map()
    x, y = query_place(memory_map, points, Hits(ids=("id0", "id1", "id11"), similarities=(0.9, 0.89, 0.2)))
    assert -1 < x < -0.8
    assert y == 0
    assert query_place(memory_map, points, Hits(ids=("id0",))) is None


@pytest.mark.parametrize(
    ("mode", "after"), [("replace", ["b", "c"]), ("add", ["a", "b", "c"]), ("remove", ["a"]), ("", ["b", "c"])]
)
def test_what_is_drawn_takes_the_place_of_is_added_to_or_taken_from_the_selection(mode, after):
    assert selected_after(["a", "b"], ["b", "c"], mode) == after


def test_quality_says_what_made_the_map_and_how_much_came_since():
    memory_map = make_map()
    assert quality_text(memory_map) == "12 experiences · UMAP (built in)"
    assert members_text(memory_map) == "1 of 12 in no domain"
    assert quality_help(memory_map).startswith("98% of neighbours are true, and the seed is 42.")
    memory_map.is_placed[:3] = True
    assert shown_text(memory_map) == "12 experiences · 3 placed since the map was made"


def test_a_map_has_another_name_once_a_domain_is_renamed_or_a_point_moves():
    one = map_fingerprint(make_map())
    assert map_fingerprint(make_map()) == one
    assert map_fingerprint(make_map(names=("tax", "soup", "lone\ud800"))) != one
    moved = make_map()
    moved.coordinates[0, 0] = 0.5
    assert map_fingerprint(moved) != one


@pytest.fixture
def memory(tmp_path):
    import atlas
    from atlas.testing import HashEmbedder

    make_store(tmp_path, [*attempts(N - 1), attempt("Peel <b>the</b> turnip", success=False)])
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(384, "all-MiniLM-L6-v2")) as opened:
        yield opened


@pytest.fixture
def sheet(memory) -> Sheet:
    return sheet_of(memory.experience.column, make_map(memory.experience.ids()))


@pytest.mark.parametrize("by", COLOURED_BY)
def test_a_store_is_coloured_by_everything_on_offer(memory, sheet, by):
    colouring = colours_of(memory.experience.column, sheet, by).colouring
    assert colouring.title == by
    assert sum(entry.n for entry in colouring.entries) == N
    assert int(colouring.category.max()) < len(colouring.entries)


def test_a_hover_tells_title_outcome_and_domain(memory, sheet):
    assert talk(memory, sheet, N - 1, None) == {
        "points": sheet.points.key,
        "point": N - 1,
        "lines": ["Peel <b>the</b> turnip", "✗ failed", "in no domain"],
        "titles": [],
    }


@pytest.mark.parametrize("point", [None, 99, -1, "0", [0]])
def test_a_hover_over_nothing_tells_nothing(memory, sheet, point):
    told = talk(memory, sheet, point, None)
    assert (told["point"], told["lines"]) == (None, [])


def test_titles_are_told_of_the_points_that_are_asked_for(memory, sheet):
    told = talk(memory, sheet, None, [N - 1, 99, "0", None, [0], 1])
    assert [point for point, _ in told["titles"]] == [N - 1, 1]
    assert told["titles"][0] == [N - 1, "Peel <b>the</b> turnip"]
    assert len(talk(memory, sheet, None, [0] * 500)["titles"]) == TITLES
    for nonsense in (None, 7, "0", {"0": 1}):
        assert talk(memory, sheet, None, nonsense)["titles"] == []


def test_words_are_found_among_what_is_in_scope(memory):
    assert len(hits_of(memory, Scope(text="turnip", by=WORDS), {}).ids) == 1
    assert hits_of(memory, Scope(text="turnip", by=WORDS), {"outcome": "succeeded"}).ids == ()
    assert hits_of(memory, Scope(), {}) == Hits()


def test_a_question_ranks_by_meaning_and_counts_as_no_use(memory):
    hits = hits_of(memory, Scope(text="Peel <b>the</b> turnip"), {})
    assert hits.ids[0] == memory.experience.ids()[-1]
    assert hits.similarities[0] == pytest.approx(1, abs=1e-3)
    assert memory.experience.column("usage.n_retrieved") == {}


def test_an_experience_has_eight_neighbours_and_is_none_of_them(memory):
    first = memory.experience.ids()[0]
    assert len(neighbours_of(memory, first)) == 8
    assert first not in neighbours_of(memory, first)


def test_what_is_buried_is_found_and_is_a_neighbour_for_the_person_who_buried_it(memory):
    *_, buried, first = memory.experience.ids()
    memory.experience.change_marks([buried], buried=True)
    text = memory.experience.get(buried).task.description
    assert buried in hits_of(memory, Scope(text=text), {}).ids
    assert buried in hits_of(memory, Scope(text=text, by=WORDS), {}).ids
    memory.experience.change_marks(memory.experience.ids(), buried=True)
    assert len(neighbours_of(memory, first)) == 8
    assert len(similar_rows(memory, EXPERIENCES, first)) == 8


def test_the_figure_holds_all_points_in_one_trace_and_escapes_names(memory, sheet):
    hostile = sheet_of(memory.experience.column, make_map(memory.experience.ids(), names=("<b>x</b>", "soup", "web")))
    marks = Marks(inside=hostile.points.ids[2:], chosen=hostile.points.ids[2:4], hits=Hits(ids=hostile.points.ids[:1]))
    figure = map_figure(hostile, colours_of(memory.experience.column, hostile, OUTCOME), marks, height=400)
    assert figure.data[0].customdata.tolist() == list(range(2, N))
    assert list(figure.data[0].selectedpoints) == [0, 1]
    assert list(figure.data[1].x) == [pytest.approx(hostile.map.coordinates[0, 0])]
    assert figure.layout.annotations[0].text == "&lt;b&gt;x&lt;/b&gt;"


def test_the_scripts_need_nothing_from_elsewhere():
    for script in (component_script(), layer_script()):
        assert "import " not in script
        assert "innerHTML" not in script
        assert "http" not in script.replace("http://www.w3.org/2000/svg", "")
    assert "export" not in renderer_script()


def talk(memory, sheet, hovered, wanted):
    """What the renderer is told of what it asked."""
    return unpacked(tooltip_packet(memory, sheet, hovered, wanted))
