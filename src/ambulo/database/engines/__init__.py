"""Where takes are prepared: processes of this machine, or a cluster."""
