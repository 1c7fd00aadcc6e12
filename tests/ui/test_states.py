"""What the pages keep belongs to one state of one store: nothing that was worked out for another is shown."""

from __future__ import annotations

from atlas.storage.maintenance.backup import backup, restore
from tests.support.dashboard import Dashboard, assert_no_problem, counted_on, domain_numbers, drawn_by, tasks
from tests.support.records import attempt, attempts, kinds
from tests.support.stores import make_store, opened_store, remove_store


def test_a_store_that_was_put_back_is_shown_as_it_is_at_the_same_revision(dashboard: Dashboard, tmp_path):
    store, copy = tmp_path / "store", tmp_path / "copy"
    make_store(store, attempts(3))
    with opened_store(store) as memory:
        backup(memory.storage, copy)
        memory.experience.store_many([attempt("Mend a shoe"), attempt("Mend a sock")])
        revision = memory.revision()
    app = dashboard(store, "experiences")
    assert {"Mend a shoe", "Mend a sock"} <= set(tasks(app))
    with opened_store(store) as memory:
        restore(memory.storage, copy)
        memory.experience.store_many([attempt("Water a rose"), attempt("Water a fern")])
        assert memory.revision() == revision
    app.run()
    shown = set(tasks(app))
    assert {"Water a rose", "Water a fern"} <= shown
    assert not {"Mend a shoe", "Mend a sock"} & shown
    assert_no_problem(app)


def test_a_store_that_was_deleted_and_made_anew_is_opened_anew(dashboard: Dashboard, tmp_path):
    store = tmp_path / "store"
    make_store(store, attempts(3))
    app = dashboard(store, "overview")
    assert counted_on(app) == 3
    remove_store(store)
    make_store(store, attempts(5))
    app.run()
    assert counted_on(app) == 5
    assert_no_problem(app)


def test_a_renamed_domain_has_its_new_name_on_every_page(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, kinds(60))
    overview = dashboard(tmp_path, "overview")
    app = dashboard(tmp_path, "map")
    overview.run()
    assert "Databases" not in domains_of(overview)
    app.session_state["map_domain"] = domain_numbers(app)[0]
    app.run()
    (name,) = (box for box in app.text_input if str(box.key).startswith("map_name_"))
    name.set_value("Databases").run()
    overview.run()
    assert "Databases" in domains_of(overview)


def test_what_is_similar_is_looked_for_once_somebody_looks_at_it(dashboard: Dashboard, tmp_path):
    first, *_ = make_store(tmp_path, attempts(4))
    app = dashboard(tmp_path, "experiences", id=first)
    said = "The nearest in meaning. Click one to open it."
    assert said not in [element.value for element in app.caption]
    app.session_state["experience_tabs"] = "Similar"
    app.run()
    assert said in [element.value for element in app.caption]
    assert_no_problem(app)


def domains_of(app) -> set[str]:
    """The names of the domains that the overview lists."""
    return {row["name"] for table in drawn_by(app, "records") for row in table["rows"] if "name" in row}
