"""Data of the Evaluation page, without Streamlit."""
