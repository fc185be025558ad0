"""The open benchmark of few-shot transfer: `headstart benchmark` runs it and writes its page.

plan            which methods run on which problems
scores          means with intervals, ranks
targets         what was to be reached, and whether it is
figures         regret, log density, calibration, mean rank
page            the page, and in `problem_pages` its parts about single problems
run             all of it
"""
