"""Operations on the grids of ARC."""
