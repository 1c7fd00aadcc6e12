"""Data of the Concepts page, without Streamlit."""
