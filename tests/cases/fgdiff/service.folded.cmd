fgdiff
