"""A device plug-in as vendors write them, on gRPC's own library: the counterpart of src/devices/kubelet in tests.

    plugin = Plugin(directory, "acme.com/gpu", [("a", 0), ("b", 1)])
    plugin.start(); plugin.register()
    plugin.health["a"] = "Unhealthy"; plugin.tell()

Messages are generated from device_plugin.proto by protoc.
"""
import importlib
import os
import queue
import subprocess
import sys
import tempfile
from concurrent import futures

HERE = os.path.dirname(os.path.abspath(__file__))


def missing():
    """What this machine lacks for it, or None."""
    try:
        importlib.import_module("grpc")
        importlib.import_module("google.protobuf")
        subprocess.run(["protoc", "--version"], capture_output=True, check=True)
    except (ImportError, OSError) as error:
        return f"{error} (tools/setup test)"
    return None


def messages():
    """The generated module."""
    if "device_plugin_pb2" not in sys.modules:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["protoc", "-I", HERE, "--python_out", folder, "device_plugin.proto"], check=True)
            sys.path.insert(0, folder)
            importlib.import_module("device_plugin_pb2")
            sys.path.remove(folder)
    return sys.modules["device_plugin_pb2"]


class Plugin:
    def __init__(self, directory, resource, devices, pre_start=False):
        self.directory, self.resource, self.pre_start = directory, resource, pre_start
        self.numa = dict(devices)
        self.health = {name: "Healthy" for name in self.numa}
        self.endpoint = resource.replace("/", "-") + ".sock"
        self.allocated, self.started = [], []  # lists of ids
        self.answer = lambda ids: {}           # more of an AllocateResponse; raises to refuse
        self.watchers = []
        self.server = None

    def start(self):
        import grpc
        pb = messages()
        path = os.path.join(self.directory, self.endpoint)
        if os.path.exists(path):
            os.unlink(path)

        def method(call, request, stream=False):
            make = grpc.unary_stream_rpc_method_handler if stream else grpc.unary_unary_rpc_method_handler
            return make(call, request_deserializer=request.FromString,
                        response_serializer=lambda message: message.SerializeToString())

        self.server = grpc.server(futures.ThreadPoolExecutor(16))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", {
            "GetDevicePluginOptions": method(self.options, pb.Empty),
            "ListAndWatch": method(self.list_and_watch, pb.Empty, stream=True),
            "Allocate": method(self.allocate, pb.AllocateRequest),
            "PreStartContainer": method(self.pre_start_container, pb.PreStartContainerRequest),
        }),))
        self.server.add_insecure_port("unix://" + path)
        self.server.start()

    def stop(self):
        for watcher in self.watchers:
            watcher.put(None)
        self.server.stop(0).wait()

    def register(self, version="v1beta1"):
        import grpc
        pb = messages()
        with grpc.insecure_channel("unix://" + os.path.join(self.directory, "kubelet.sock")) as channel:
            call = channel.unary_unary("/v1beta1.Registration/Register",
                                       request_serializer=lambda message: message.SerializeToString(),
                                       response_deserializer=pb.Empty.FromString)
            call(pb.RegisterRequest(version=version, endpoint=self.endpoint, resource_name=self.resource,
                                    options=pb.DevicePluginOptions(pre_start_required=self.pre_start)), timeout=10)

    def tell(self):
        for watcher in self.watchers:
            watcher.put(self.listing())

    def listing(self):
        pb = messages()
        return pb.ListAndWatchResponse(devices=[
            pb.Device(ID=name, health=self.health[name],
                      topology=None if numa is None else pb.TopologyInfo(nodes=[pb.NUMANode(ID=numa)]))
            for name, numa in self.numa.items()])

    def options(self, request, context):
        return messages().DevicePluginOptions(pre_start_required=self.pre_start)

    def list_and_watch(self, request, context):
        watcher = queue.Queue()
        self.watchers.append(watcher)
        context.add_callback(lambda: watcher.put(None))
        yield self.listing()
        while (listing := watcher.get()) is not None:
            yield listing

    def allocate(self, request, context):
        pb = messages()
        answer = pb.AllocateResponse()
        for container in request.container_requests:
            ids = list(container.devicesIDs)
            self.allocated.append(ids)
            try:
                answer.container_responses.append(pb.ContainerAllocateResponse(**self.answer(ids)))
            except RuntimeError as error:
                import grpc
                context.abort(grpc.StatusCode.INTERNAL, str(error))
        return answer

    def pre_start_container(self, request, context):
        self.started.append(list(request.devicesIDs))
        return messages().PreStartContainerResponse()
