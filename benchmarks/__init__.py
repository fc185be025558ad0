"""Speed, measured beside BoTorch's multi-task models in one run. `make bench` prints the table."""
