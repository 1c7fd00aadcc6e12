"""The settings page: facts, checks, copies of the store, models and primitives, as they are seen."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

import atlas.cli
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity, People
from atlas.infra.actor import Actor, Role
from atlas.llm.client import KEY
from atlas.storage.store import LEDGER
from atlas.views.shared.language_model import language_model
from tests.support.dashboard import (
    Dashboard,
    assert_no_problem,
    counted_on,
    said,
    table,
    tasks,
    texts,
    touch_table,
    undo_button,
)
from tests.support.messages_server import completion, message, no_such_path, serving, text
from tests.support.records import attempt, attempts, concept
from tests.support.stores import make_library, make_store
from tests.support.visitors import visiting

COPIES, MODELS, PRIMITIVES = "Export and backup", "Models", "Ready-made functions"
SECRET = "sk-ant-typed-here-0123456789"


def test_the_store_is_described(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(4))
    make_library(tmp_path, concept(1))
    app = dashboard(tmp_path, "settings")
    assert str(tmp_path) in texts(app)
    assert any(re.fullmatch(r"[\d.]+ MB, [\d,.]+ [MG]B free", text) for text in texts(app))
    assert not app.metric  # Overview counts what it holds
    assert_no_problem(app)


def test_the_status_counts_records_names_the_last_agents_and_tells_how_to_connect(dashboard: Dashboard, tmp_path):
    make_store(tmp_path / "mine", [*attempts(2), attempt("Rotate the logs", agent="**scout**")])
    app = dashboard(tmp_path / "mine", "settings")
    assert "3 experiences" in [caption.value for caption in app.caption]
    [agent] = table(app).to_dict("records")
    assert (agent["name"], agent["n_attempts"], agent["rate"]["text"]) == ("**scout**", "1", "100% of 1")
    assert (agent["rate"]["share"], agent["interval"]) == (1.0, "16–100%")
    shown = [text.value for text in app.text]
    assert "not made yet" in shown  # a check
    assert {"off (it would write names and summaries)", "looked for when Curate is opened"} < {*shown}
    assert "exact search of every record" in shown
    claude, python = (code.value for code in app.code)
    assert claude.startswith("claude mcp add atlas -- ")
    assert claude.endswith(f" --store {tmp_path / 'mine'} mcp")
    assert python == f"import atlas\nmemory = atlas.open_memory({str(tmp_path / 'mine')!r})"
    app.button(key="settings_back_up").click().run()
    app.button(key="settings_doctor").click().run()
    shown = [text.value for text in app.text]
    assert any(text.endswith(" UTC") for text in shown)
    assert any(text.endswith("UTC: All 11 checks are fine.") for text in shown)
    assert_no_problem(app)


def test_an_agent_on_the_status_leads_to_its_attempts(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, [attempt("Bake", agent="cook"), attempt("Rotate the logs", agent="scout")])
    app = dashboard(tmp_path, "settings")
    touch_table(app, "opened", "scout")
    assert app.title[0].value == "Experiences"
    assert tasks(app) == ["Rotate the logs"]
    assert_no_problem(app)


def test_the_doctor_shows_each_check_and_mends_what_it_can(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(4))
    app = dashboard(tmp_path, "settings")
    app.button(key="settings_doctor").click().run()
    assert app.success[0].value == "All 11 checks are fine."
    assert set(app.dataframe[0].value["verdict"]) == {"ok"}
    with closing(sqlite3.connect(tmp_path / LEDGER)) as ledger, ledger:
        ledger.execute("DELETE FROM attributes WHERE seq = 2")
    app.button(key="settings_doctor").click().run()
    assert app.warning[-1].value == "1 check found a problem."
    assert app.subheader[0].value.endswith("1 check found a problem: repair the store.")
    make_store(tmp_path, [attempt("Bake")])
    app.run()
    assert "found a problem" not in app.subheader[0].value, "it is of an earlier state"
    app.button(key="settings_doctor_fix").click().run()
    assert app.success[0].value == "All 11 checks are fine."
    assert any("(repaired)" in verdict for verdict in app.dataframe[0].value["verdict"])
    assert_no_problem(app)


def test_a_backup_is_made_previewed_restored_and_the_restore_undone(dashboard: Dashboard, tmp_path):
    store = tmp_path / "mine"
    make_store(store, attempts(3))
    app = dashboard(store, "settings", settings_tab=COPIES)
    app.button(key="settings_backup").click().run()
    (made,) = (tmp_path / "mine-backups").glob("mine-backup-*.zip")
    assert any(text.startswith(f"Backed up 3 records into {made}") for text in texts(app))
    make_store(store, attempts(2))
    app.selectbox(key="settings_restore_path").select(str(made)).run()
    app.button(key="settings_restore_preview").click().run()
    row = app.dataframe[-1].value.iloc[0]
    assert (row["kind"], row["now"], row["after"]) == ("Experiences", 5, 3)
    assert counted_on(app) == 5
    app.button(key="settings_restore_apply").click().run()
    assert counted_on(app) == 3
    assert any(text.startswith("Restored 3 records") for text in texts(app))
    undo_button(app).click().run()
    assert counted_on(app) == 5
    assert len(list((tmp_path / "mine-backups").glob("mine-before-*.zip"))) == 2
    assert_no_problem(app)


def test_a_backup_of_a_store_in_the_working_directory_goes_into_a_directory_of_its_own(
    dashboard: Dashboard, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    make_store(tmp_path / ".atlas", attempts(1))
    app = dashboard(Path(".atlas"), "settings", settings_tab=COPIES)
    own = tmp_path.resolve() / ".atlas-backups"
    assert app.text_input(key="settings_backup_directory").value == str(own)
    app.button(key="settings_backup").click().run()
    assert [*tmp_path.glob("*.zip")] == []
    assert len([*own.glob("atlas-backup-*.zip")]) == 1
    assert_no_problem(app)


def test_the_page_of_the_models_does_not_send_a_person_to_itself(dashboard: Dashboard, tmp_path, monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings", settings_tab=MODELS)
    here = [text.value for text in app.main.text]
    assert any(text.startswith("To use one, type a key below.") for text in here)
    assert not [text for text in here if "Settings → Models" in text]


def test_an_uploaded_backup_is_restored(dashboard: Dashboard, tmp_path):
    store = tmp_path / "mine"
    make_store(store, attempts(3))
    atlas_command(store, "backup", str(tmp_path / "old.zip"))
    make_store(store, attempts(1))
    app = dashboard(store, "settings", settings_tab=COPIES)
    app.file_uploader[0].upload("old.zip", (tmp_path / "old.zip").read_bytes()).run()
    app.button(key="settings_restore_preview").click().run()
    assert "old.zip" in texts(app)
    app.button(key="settings_restore_apply").click().run()
    assert counted_on(app) == 3
    assert_no_problem(app)


def test_a_file_that_is_no_backup_is_refused_and_changes_nothing(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(3))
    app = dashboard(tmp_path, "settings", settings_tab=COPIES)
    app.file_uploader[0].upload("holiday.jpg", b"not a zip").run()
    app.button(key="settings_restore_preview").click().run()
    assert any("Restore a file that `atlas backup` wrote" in text for text in texts(app))
    assert "settings_restore_apply" not in [button.key for button in app.button]
    assert counted_on(app) == 3


@pytest.mark.parametrize("place", ["nowhere", "~no-such-user/backups"])
def test_a_backup_into_a_directory_that_is_not_there_says_what_to_do(dashboard: Dashboard, tmp_path, place):
    make_store(tmp_path / "mine", attempts(1))
    app = dashboard(tmp_path / "mine", "settings", settings_tab=COPIES)
    typed = place if place.startswith("~") else str(tmp_path / place)
    app.text_input(key="settings_backup_directory").set_value(typed).run()
    app.button(key="settings_backup").click().run()
    assert any("a backup needs a directory that exists" in text for text in texts(app))


@pytest.mark.parametrize("part", [COPIES, MODELS, PRIMITIVES])
def test_a_read_only_store_offers_nothing_that_writes_into_it(dashboard: Dashboard, tmp_path, part):
    make_store(tmp_path / "mine", attempts(2))
    app = dashboard(tmp_path / "mine", "settings", read_only=True, settings_tab=part)
    writing = {"settings_restore_preview", "settings_embedding_start", "settings_primitives_load"}
    found = [button for button in app.button if button.key in writing]
    assert len(found) == 1
    assert all(button.disabled for button in found)
    assert_no_problem(app)


def test_primitives_are_listed_loaded_and_taken_back(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings", settings_tab=PRIMITIVES)
    assert set(app.dataframe[0].value["state"]) == {"new"}
    app.button(key="settings_primitives_load").click().run()
    assert set(app.dataframe[0].value["state"]) == {"loaded"}
    assert "The store has all of them." in texts(app)
    undo_button(app).click().run()
    assert set(app.dataframe[0].value["state"]) == {"new"}
    assert_no_problem(app)


def test_a_typed_key_is_used_and_forgotten_and_written_nowhere(dashboard: Dashboard, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    store = tmp_path / "mine"
    make_store(store, attempts(2))
    os.environ.pop(KEY, None)
    with serving(message(text("yes"))) as server:
        os.environ.update(ATLAS_LLM_BASE_URL=server.url, ATLAS_LLM_FORBIDDEN="0")
        app = dashboard(store, "settings", settings_tab=MODELS)
        app.text_input(key="settings_llm_model").set_value("small").run()
        app.text_input(key="settings_llm_key").set_value(SECRET).run()
        app.button(key="settings_llm_use").click().run()
        assert "The language model is small until this dashboard stops" in texts(app)
        assert os.environ[KEY] == SECRET
        assert app.text_input(key="settings_llm_key").value == ""
        ask_once()
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    atlas_command(store, "backup", str(tmp_path / "all.zip"))
    atlas_command(store, "export", str(tmp_path / "all.jsonl"))
    app.button(key="settings_llm_forget").click().run()
    assert KEY not in os.environ
    with zipfile.ZipFile(tmp_path / "all.zip") as packed:
        packed.extractall(tmp_path / "unpacked")
    written = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert written == []
    assert SECRET not in caplog.text
    assert SECRET not in said(app)


def test_the_language_model_is_checked_with_one_small_question(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    with serving(no_such_path(), completion('{"colour": "red", "numbers": [1, 2, 3]}')) as server:
        os.environ.update(ATLAS_LLM_BASE_URL=server.url, ATLAS_LLM_FORBIDDEN="0")
        app = dashboard(tmp_path, "settings", settings_tab=MODELS)
        app.button(key="settings_llm_check").click().run()
        assert "OpenAI's chat completions" in said(app)
        assert "Holds a schema" in said(app)
        assert len(server.requests) == 2
    assert_no_problem(app)


def test_a_text_that_is_no_key_is_refused_without_being_repeated(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    os.environ.pop(KEY, None)
    os.environ["ATLAS_LLM_FORBIDDEN"] = "0"
    app = dashboard(tmp_path, "settings", settings_tab=MODELS)
    app.text_input(key="settings_llm_key").set_value("my secret key").run()
    app.button(key="settings_llm_use").click().run()
    assert any(text.startswith("A key should be one word") for text in texts(app))
    assert not any("my secret key" in text for text in texts(app))
    assert KEY not in os.environ


def ask_once() -> None:
    """Ask the language model that the environment of this process names."""
    client = language_model(atlas.Settings.from_environment()).client
    assert client is not None
    assert asyncio.run(client.complete("", "Is this heard?")) == "yes"
    client.close()


def atlas_command(store: Path, *words: str) -> None:
    """Run a command on a store, without the key."""
    assert atlas.cli.main(["--store", str(store), *words]) == 0


@pytest.mark.parametrize("revoke_grants", [True, False])
def test_removing_a_person_revokes_the_keys_that_they_made_unless_one_says_no(
    dashboard: Dashboard, tmp_path, revoke_grants: bool
):
    make_store(tmp_path, attempts(1))
    people, api_keys = People(tmp_path, {"*": Role.ADMIN}), ApiKeys(tmp_path)
    for name in ("Eve", "Zoe"):
        people.sign_in(Identity(issuer="https://id.example", subject=name, name=name))
    api_keys.add("crawler", Role.WRITER, created_by="Eve")
    with visiting(Actor("ada", Role.ADMIN)):
        app = dashboard(tmp_path, "settings", settings_tab="People")
        assert "crawler" not in said(app)
        app.selectbox(key="settings_person").select(people.all()[1].id).run()
        assert "They made 1 key that is in use: crawler." in texts(app)
        [asked] = [box for box in app.checkbox if box.label == "Also revoke these when removing them"]
        assert asked.value
        if not revoke_grants:
            asked.uncheck()
        app.button(key="settings_person_remove").click().run()
    assert people.all()[1].removed_at is not None
    assert [key.name for key in api_keys.active_keys()] == ([] if revoke_grants else ["crawler"])
    assert_no_problem(app)


def test_who_may_enter_is_shown_only_where_a_server_has_the_store(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))

    def parts() -> list[str]:
        (bar,) = [group for group in dashboard(tmp_path, "settings").segmented_control if group.key == "settings_tab"]
        return list(bar.options)

    assert parts() == ["Status", "Import", "Export and backup", "Models", "Ready-made functions"]
    with visiting(Actor("ada", Role.ADMIN)):
        assert parts()[-4:] == ["Keys", "People", "Links", "Audit"]
    app = dashboard(tmp_path, "settings", settings_tab="Keys")
    assert_no_problem(app)
    assert "settings_new_key" not in str([button.key for button in app.button])


def test_a_link_with_an_older_name_of_a_part_opens_it(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings", settings_tab="Primitives")
    assert app.selectbox(key="settings_primitives").label == "Library"
    assert_no_problem(app)


def test_the_page_opens_with_the_status_of_the_store_its_safety_first(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings", settings_tab="Store")  # its older name
    assert app.title[0].value == "Settings"
    assert [part.value for part in app.markdown if part.value.startswith("#####")] == [
        "##### The store", "##### Search and background work",
    ]  # fmt: skip


def test_the_lines_that_connect_an_agent_are_open_until_one_has_written(dashboard: Dashboard, tmp_path):
    def connecting(store: Path) -> bool:
        (box,) = [each for each in dashboard(store, "settings").expander if each.label == "Connect an agent"]
        return bool(box.proto.expanded)

    make_store(tmp_path / "mine", attempts(1))
    assert connecting(tmp_path / "mine")
    make_store(tmp_path / "mine", [attempt("Rotate the logs", agent="scout")])
    assert not connecting(tmp_path / "mine")


def test_a_fact_of_the_status_leads_to_where_it_is_changed(dashboard: Dashboard, tmp_path, monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings")
    labels = {button.key: button.label for button in app.button}
    assert labels["settings_to_language"] == "Choose"
    assert labels["settings_to_embedding"] == labels["settings_to_strictness"] == "Change"
    app.button(key="settings_to_embedding").click().run()
    assert app.segmented_control(key="settings_tab").value == MODELS
    assert_no_problem(app)


def test_changes_are_recorded_under_a_name_that_was_typed_until_it_is_emptied(
    dashboard: Dashboard, tmp_path, monkeypatch
):
    monkeypatch.setenv("ATLAS_ACTOR", "ada")
    make_store(tmp_path, attempts(1))
    app = dashboard(tmp_path, "settings")
    app.text_input(key="settings_name").set_value(" grace ")
    app.button(key="settings_name_use").click().run()
    assert "grace" in texts(app)
    assert os.environ["ATLAS_ACTOR"] == "grace"
    app.text_input(key="settings_name").set_value("")
    app.button(key="settings_name_use").click().run()
    assert os.environ["ATLAS_ACTOR"] == "ada"
    assert_no_problem(app)


def test_a_visitor_of_a_server_does_not_choose_a_name(dashboard: Dashboard, tmp_path):
    make_store(tmp_path, attempts(1))
    with visiting(Actor("vera", Role.ADMIN)):
        app = dashboard(tmp_path, "settings")
    assert "settings_name_use" not in [button.key for button in app.button]
    assert "vera" in texts(app)


def test_the_last_backup_stands_beside_the_check(dashboard: Dashboard, tmp_path):
    make_store(tmp_path / "mine", attempts(1))
    app = dashboard(tmp_path / "mine", "settings")
    missing = ":orange[:material/warning:] No backup: if this disk fails, the store is lost."
    assert [finding.value for finding in app.subheader] == [missing]
    app.button(key="settings_back_up").click().run()
    assert re.fullmatch(":green.* Nothing to do[.] Last backup: .* UTC[.]", app.subheader[0].value)
    assert len([*(tmp_path / "mine-backups").glob("mine-backup-*.zip")]) == 1
    assert_no_problem(app)


def test_a_backup_on_the_disk_of_its_store_is_told_beside_its_download(dashboard: Dashboard, tmp_path):
    make_store(tmp_path / "mine", attempts(1))
    warning = ":orange[:material/warning:] On the same disk as the store: keep a copy elsewhere."
    app = dashboard(tmp_path / "mine", "settings")
    assert warning not in [caption.value for caption in app.caption]
    assert app.get("download_button") == []
    atlas_command(tmp_path / "mine", "backup", str(tmp_path / "kept.zip"))
    for part in ("Status", COPIES):
        app = dashboard(tmp_path / "mine", "settings", settings_tab=part)
        assert warning in [caption.value for caption in app.caption]
        assert "Download the last one" in [each.proto.label for each in app.get("download_button")]
    (tmp_path / "kept.zip").unlink()
    app = dashboard(tmp_path / "mine", "settings")
    assert warning not in [caption.value for caption in app.caption]
    assert app.get("download_button") == []


def test_an_empty_store_is_filled_first(dashboard: Dashboard, tmp_path):
    make_store(tmp_path)
    app = dashboard(tmp_path, "settings")
    assert app.subheader[0].value == "The store is empty: import runs of an agent."
    app.button(key="settings_to_import").click().run()
    assert app.segmented_control(key="settings_tab").value == "Import"


def test_the_time_of_the_last_backup_is_told(dashboard: Dashboard, tmp_path):
    make_store(tmp_path / "mine", attempts(1))
    atlas_command(tmp_path / "mine", "backup", str(tmp_path / "kept.zip"))
    app = dashboard(tmp_path / "mine", "settings")
    assert re.fullmatch(":green.* Nothing to do[.] Last backup: .* UTC[.]", app.subheader[0].value)
