"""The command `atlas toys`: how many operations the store's history holds."""

from atlas.memory.open import open_storage


def declare(command):
    command.add_argument("--loud", action="store_true", help="print it in capitals")
    command.set_defaults(run=run)


def run(options, settings):
    with open_storage(settings=settings, read_only=True) as storage:
        text = f"{storage.count_operations()} operations"
    print(text.upper() if options.loud else text)
    return 0
