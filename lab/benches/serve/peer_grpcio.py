"""The least a receiver can be: gRPC's own server, which decodes each request with the official library and forgets it.

    peer_grpcio.py PORT
"""

import concurrent.futures
import sys

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


class Traces(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request, context):
        return trace_service_pb2.ExportTraceServiceResponse()


server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=[("grpc.max_receive_message_length", 64 << 20)])
trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Traces(), server)
server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
server.start()
server.wait_for_termination()
