"""Data of the Strategies page, without Streamlit."""
