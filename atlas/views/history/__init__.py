"""Data of the History page, without Streamlit."""
