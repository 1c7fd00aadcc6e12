"""Pages of the dashboard, one per file: inputs, the view, and drawing."""

import logging

# They warn of no session where the server itself opens the store. Streamlit sets their levels whenever it reads its
# configuration, so what they write is filtered instead.
for _name in ("streamlit.runtime.caching.cache_data_api", "streamlit.runtime.scriptrunner_utils.script_run_context"):
    logging.getLogger(_name).addFilter(lambda record: record.levelno >= logging.ERROR)
