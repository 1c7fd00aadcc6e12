"""Data of the Map page, without Streamlit."""
