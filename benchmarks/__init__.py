"""Speed, recall and memory, each as a ratio to a baseline measured in the same run. By hand: `make bench`."""
