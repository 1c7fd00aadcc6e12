"""Quality of retrieval: tasks with known answers, metrics, intervals, baselines, ablation and reports."""
