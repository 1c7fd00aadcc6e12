"""A success rate that is the latest outcome."""


class LatestOutcome:
    def update(self, current_rate, current_count, success):
        return float(success), current_count + 1
