"""Operations of software engineering: files, git, patches and commands."""
