"""How well retrieval works: tasks with known answers, metrics, intervals, baselines, ablation and reports."""
