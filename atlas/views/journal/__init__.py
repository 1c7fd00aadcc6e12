"""Data of the Journal page, without Streamlit."""
