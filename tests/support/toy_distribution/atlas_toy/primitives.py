"""One primitive."""

from atlas import CodeConcept

CODE = '''def double(x):
    """Return twice a number."""
    return 2 * x
'''


class ToyLoader:
    def load(self):
        double = CodeConcept(id="toy_double", name="double", description="Doubles.", code=CODE, source="primitive")
        return {"double": double}
