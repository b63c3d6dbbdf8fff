"""The service: runs the engine behind gRPC."""
