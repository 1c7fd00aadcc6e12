"""Data of the Overview page, without Streamlit."""
