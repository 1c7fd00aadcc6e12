"""Data of the Experiences page, without Streamlit."""
