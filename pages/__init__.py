"""One screen a file: inputs, a call of its view, drawing."""

import logging

import streamlit  # noqa: F401 - first, as it sets the levels of its loggers

for _name in ("streamlit.runtime.caching.cache_data_api", "streamlit.runtime.scriptrunner_utils.script_run_context"):
    logging.getLogger(_name).setLevel(logging.ERROR)  # they warn of no session where the server itself opens the store
