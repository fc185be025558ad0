"""The paper's section \"Examples\", reproduced: its jobs, its figures, and whether its findings hold."""
