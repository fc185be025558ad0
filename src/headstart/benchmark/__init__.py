"""How Headstart is measured: the data sets, and the experiments that run on them."""
