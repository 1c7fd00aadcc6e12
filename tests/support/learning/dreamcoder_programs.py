"""Programs of four tasks in DreamCoder's form, two of which call an invention that it has made earlier."""

INVENTION = "#(lambda (lambda (twice (more $0) $1)))"

TASKS = (
    ("(lambda (join (keep (lambda (odd $0)) (sorted $0)) (first $0)))",),
    ("(lambda (join (keep (lambda (odd $0)) (sorted $0)) (last $0)))", f"(lambda (join ({INVENTION} $0) (last $0)))"),
    (f"(lambda ({INVENTION} (keep (lambda (odd $0)) (sorted $0)) 3))",),
    ("(lambda (more $0))", "(lambda (more (more (more $0))))"),
)
