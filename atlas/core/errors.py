"""The exceptions of ATLAS.

    AtlasError
    ├── InvalidInput            an invalid argument, filter or record
    ├── NotFound                an id that is not in the store
    ├── StoreError              something about the store directory
    │   ├── StoreUnavailable    locked, full, not writable, or not there
    │   ├── StoreDamaged        the ledger cannot be read; it was not overwritten
    │   ├── SchemaTooNew        written by a newer version of ATLAS
    │   ├── ReadOnlyStore       opened for reading only
    │   └── EmbeddingModelMismatch
    ├── UndoRefused             undone already, or changed since
    ├── NotAllowed              something that the role of a key or person does not allow
    ├── PlanOutdated            the store has changed since a plan was made
    │   └── RecordChanged       a record has changed since the editor read it
    ├── EmbeddingUnavailable    no weights for an embedding model
    ├── LLMError                something about a language model; no memory was changed
    │   ├── LLMUnavailable      no key, forbidden, refused, overloaded, or out of reach
    │   ├── LLMBudgetExceeded   a prompt that would exceed the operation's budget of tokens
    │   └── LLMReplyInvalid     a reply that does not conform to the question
    ├── ImportFailed            a file, or with `strict` a row, that cannot be imported
    ├── PluginUnusable          an entry point of another distribution that cannot be imported or fails
    ├── ExtraMissing            a feature whose packages are not installed
    ├── Cancelled               work that was stopped by its caller
    └── BlockingCall            a sync method called from ATLAS's own event loop

Messages contain the expected value, the actual value, and the remedy.
"""

from __future__ import annotations


class AtlasError(Exception):
    """Base of all errors that a user of ATLAS can act on."""


class InvalidInput(AtlasError, ValueError):
    """An invalid value."""


class NotFound(AtlasError, LookupError):
    """No record or operation has this id."""


class StoreError(AtlasError):
    """Base of the errors about a store directory."""


class StoreUnavailable(StoreError, OSError):
    """A store that cannot be reached or written right now. The store is unchanged."""


class StoreDamaged(StoreError):
    """A ledger that cannot be read. The file was not overwritten."""


class SchemaTooNew(StoreError):
    """A store that a newer version of ATLAS wrote."""


class ReadOnlyStore(StoreError):
    """A write, a creation or a migration in a store that is opened for reading only."""


class EmbeddingModelMismatch(StoreError):
    """An embedder that differs from the store's own."""


class UndoRefused(AtlasError):
    """An operation that cannot be undone. The message contains the reason."""


class NotAllowed(AtlasError):
    """An action that the role of the key or person does not allow."""


class PlanOutdated(AtlasError):
    """A plan that is outdated because the store has changed. Make a new one."""


class RecordChanged(PlanOutdated):
    """A record that has changed since it was read for an edit. Read it again, and repeat the edit."""


class EmbeddingUnavailable(AtlasError):
    """An embedding model whose weights cannot be loaded."""


class LLMError(AtlasError):
    """Base of the errors about a language model."""


class LLMUnavailable(LLMError):
    """A language model without a key, with forbidden calls, or with a service that cannot be reached."""


class LLMBudgetExceeded(LLMError):
    """A prompt that would exceed the operation's budget of tokens. The prompt was not sent."""


class LLMReplyInvalid(LLMError):
    """A reply that does not match the request. The message contains the difference."""

    def __init__(self, message: str, *, reply: str = "") -> None:
        super().__init__(message)
        self.reply = reply
        """The text of the answer, which may be cut off. Untrusted, and '' if there was no answer."""


class ImportFailed(AtlasError):
    """A file that cannot be imported. The message names the file, and the row if there is one."""


class PluginUnusable(AtlasError):
    """A plug-in that cannot be used. The message names its distribution."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """The problem, without the name of the file."""


class ExtraMissing(AtlasError):
    """A feature whose packages are not installed. The message contains the line that installs them."""


class Cancelled(AtlasError):
    """Work that its caller stopped. The store was not changed."""


class BlockingCall(AtlasError, RuntimeError):
    """A sync method called from ATLAS's own event loop, which would wait for itself."""
