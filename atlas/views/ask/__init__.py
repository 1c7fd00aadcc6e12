"""Data of the Ask page, without Streamlit."""
