"""Data of the Curate page, without Streamlit."""
