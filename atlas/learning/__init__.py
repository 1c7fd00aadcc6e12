"""Learning a library of functions from programs that worked.

Programs that solved different tasks often contain the same code, such as a bounds check or a counting loop. This
package finds such code, extracts it as Python functions, and rewrites the programs to call them. A function is kept
only if programs and library together get shorter, and if the programs still behave the same.

There are six steps. Each is a package that imports only the packages before it:

1. `terms` parses a program, strips comments, docstrings and annotations, and encodes it as a term: a tree in which
   variables are marked, and each node's head contains everything that is not a subtree. A term can be decoded again.
2. `search` proposes candidates: patterns, which are terms with holes, that make a corpus of terms smaller. The engine
   is Stitch, a plain search by anti-unification where Stitch is not installed, or a language model.
3. `analysis` decides which patterns are Python functions: their parameters and results, which expressions may be
   evaluated at another time, and which statements leave a block. Any other pattern is inlined again.
4. `rewrite` puts calls into the programs, and removes every function that does not pay for itself in tokens.
5. `sandbox` verifies the result by running it. Each program runs with its tests, before and after, in a confined
   process. A function that changes the behaviour of any program is refused.
6. `naming` derives names and a description of each function from its code and uses, or asks a language model.

`compress` runs steps 1 to 5 over programs, where the fifth needs a `Sandbox`. `evaluate_held_out` measures what a
library saves on programs that it was not learned from. `extraction` finds the programs in attempts. `strategies`
implements the compression protocol of a memory: it takes attempts and returns concepts. `composition` builds a larger
function from existing functions.

The package does not depend on a memory or a store.
"""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.learning.composition import PipelineCompositionStrategy as PipelineCompositionStrategy
    from atlas.learning.compression import compress as compress
    from atlas.learning.extraction import Extraction as Extraction
    from atlas.learning.extraction import programs_of as programs_of
    from atlas.learning.model_composition import LLMCompositionStrategy as LLMCompositionStrategy
    from atlas.learning.results import Abstraction as Abstraction
    from atlas.learning.results import Compression as Compression
    from atlas.learning.results import Library as Library
    from atlas.learning.results import RewrittenProgram as RewrittenProgram
    from atlas.learning.reuse import HeldOutResult as HeldOutResult
    from atlas.learning.reuse import Reuse as Reuse
    from atlas.learning.reuse import evaluate_held_out as evaluate_held_out
    from atlas.learning.rewritings import Rewriting as Rewriting
    from atlas.learning.sandbox.runner import Sandbox as Sandbox
    from atlas.learning.strategies import LearnedConcept as LearnedConcept
    from atlas.learning.strategies import LLMCompressionStrategy as LLMCompressionStrategy
    from atlas.learning.strategies import Proposal as Proposal
    from atlas.learning.strategies import StitchCompressionStrategy as StitchCompressionStrategy
    from atlas.learning.terms.programs import Program as Program

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.learning.composition": ("PipelineCompositionStrategy",),
        "atlas.learning.compression": ("compress",),
        "atlas.learning.extraction": ("Extraction", "programs_of"),
        "atlas.learning.model_composition": ("LLMCompositionStrategy",),
        "atlas.learning.results": ("Abstraction", "Compression", "Library", "RewrittenProgram"),
        "atlas.learning.reuse": ("HeldOutResult", "Reuse", "evaluate_held_out"),
        "atlas.learning.rewritings": ("Rewriting",),
        "atlas.learning.sandbox.runner": ("Sandbox",),
        "atlas.learning.strategies": (
            "LLMCompressionStrategy",
            "LearnedConcept",
            "Proposal",
            "StitchCompressionStrategy",
        ),
        "atlas.learning.terms.programs": ("Program",),
    },
)
