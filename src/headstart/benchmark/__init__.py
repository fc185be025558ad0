"""How Headstart is measured.

datasets, pump   many-task tables that come with the package, and a simulator of pumps
systems          what is experimented on: families of functions, tables of finished experiments
contenders       the methods that are compared
peers            other systems behind the same interface
experiments      regression and optimization, many trials in step
jobs, results    independent pieces of an experiment, and where their outcomes are kept
execution        running jobs: processes, a Ray cluster, a GPU
running          what commands that run a plan share
tables, markdown results as figures and pages take them, and the tables of a page
paper            the paper's experiments, figures and findings
leaderboard      the open benchmark: all methods on many problems, who is first, which targets are reached
"""
