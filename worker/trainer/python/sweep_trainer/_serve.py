"""The trainer contract, version 2, over gRPC: see worker/trainer/trainerpb/trainer.proto."""

import base64
import json
import math
import os
import queue
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from concurrent import futures

import grpc

from . import Cancelled, DataRefused, Refused, Result, Trial, Validation, _key, _schema, _tls
from . import trainer_pb2 as pb

PROTOCOL = 2
COOKIE = ("SWEEP_TRAINER", "5d1a1be0f0a94d4cbf6f1f7a4e6b8f52")


def serve(trainer):
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        name = os.path.basename(sys.argv[0])
        sys.exit("%s is a trainer, which sweep starts by itself.\nPut it into a directory of --trainer-path and name it in "
                 "a sweep file: \"trainer: %s\"." % (name, trainer.name or name))
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # The worker decides when a trainer ends.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    client = os.environ.get("PLUGIN_CLIENT_CERT")
    if not client:
        sys.exit("the worker has sent no certificate: this trainer speaks AutoMTLS only")
    folder = tempfile.mkdtemp(prefix="t", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or None)
    try:
        key, certificate, der = _key.make(folder)
        inner, outer = os.path.join(folder, "i"), os.path.join(folder, "o")
        service = _Service(trainer)
        unlimited = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=unlimited)
        server.add_generic_rpc_handlers(service.handlers())
        if not server.add_insecure_port("unix:" + inner):
            sys.exit("no socket at %s" % inner)
        server.start()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(outer)
        listener.listen(4)
        _tls.forward(listener, inner, key, certificate, client)
        shown = base64.b64encode(der).decode("ascii").rstrip("=")
        print("1|%d|unix|%s|grpc|%s" % (PROTOCOL, outer, shown), flush=True)
        os.dup2(2, 1)  # what the trainer prints is its log
        service.run()
        server.stop(0.5).wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(parent):
    """Ends this process, and what it has started, when its parent is gone."""
    while True:
        time.sleep(1)
        if os.getppid() != parent:
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


class _Service:
    def __init__(self, trainer):
        self.trainer = trainer
        # What the main thread is to do: train for a stream, or end (None).
        self.work = queue.Queue()
        self.lock = threading.Lock()
        self.streaming = False

    def handlers(self):
        def unary(behaviour, request, response):
            return grpc.unary_unary_rpc_method_handler(behaviour, request_deserializer=request, response_serializer=response)

        def raw(data):
            return data

        serving = b"\x08\x01"  # HealthCheckResponse{status: SERVING}
        return (
            grpc.method_handlers_generic_handler("sweep.trainer.v2.Trainer", {
                "Describe": unary(self.describe, pb.DescribeRequest.FromString, pb.DescribeResponse.SerializeToString),
                "Validate": unary(self.validate, pb.ValidateRequest.FromString, pb.ValidateResponse.SerializeToString),
                "Train": grpc.stream_stream_rpc_method_handler(
                    self.train, request_deserializer=pb.TrainCommand.FromString, response_serializer=pb.TrainEvent.SerializeToString),
            }),
            grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": unary(lambda r, c: serving, raw, raw)}),
            grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": unary(self.shutdown, raw, raw)}),
        )

    def shutdown(self, request, context):
        self.work.put(None)
        return b""

    def describe(self, request, context):
        try:
            return pb.DescribeResponse(description=json.dumps(self.trainer.describe()).encode("utf-8"))
        except Exception as problem:
            _fault(context, problem)

    def validate(self, request, context):
        try:
            parameters = _schema.resolve(self.trainer.parameters, json.loads(request.parameters or b"{}"))
            v = self.trainer.validate(parameters, request.data_dir) or Validation()
        except (Refused, DataRefused) as problem:
            return pb.ValidateResponse(refusal=_refusal(problem))
        except Exception as problem:
            _fault(context, problem)
        return pb.ValidateResponse(dataset_digest=v.dataset_digest, parameter_count=v.parameter_count, flops=v.flops, bytes=v.bytes)

    def train(self, commands, context):
        """Hands commands to the main thread, which trains, and its events to the wire."""
        with self.lock:
            if self.streaming:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "a stream of trials is open already: a trainer trains one at a time")
            self.streaming = True
        stream = _Stream()

        def listen():
            try:
                for command in commands:
                    if command.cancel:
                        stream.cancel(command.cancel)
                    if command.HasField("train"):
                        self.work.put((stream, command.train))
            except Exception:
                pass  # the stream has ended
            stream.over()

        def done():
            stream.over()
            with self.lock:
                self.streaming = False

        context.add_callback(done)
        threading.Thread(target=listen, daemon=True).start()
        while True:
            event = stream.events.get()
            if event is None:
                return
            yield event

    def run(self):
        """Trains what comes, in the main thread, until the worker closes the process."""
        while True:
            item = self.work.get()
            if item is None:
                return
            stream, request = item
            if not stream.ended:
                stream.events.put(self._trial(stream, request))

    def _trial(self, stream, request):
        """Trains one trial and returns its last event."""
        began = time.monotonic()

        def event(curves=None, checkpoint=None, **answer):
            e = pb.TrainEvent(call=request.call, **answer)
            for name, (steps, values) in (curves or {}).items():
                e.points.add(metric=name, steps=steps, values=values)
            if checkpoint is not None:
                e.checkpoint.step, e.checkpoint.state = checkpoint
            return e

        trial = Trial(
            json.loads(request.parameters or b"{}"), request.data_dir, request.dataset_digest, request.points,
            request.checkpoint or None, request.sweep, request.index,
            send=lambda curves, checkpoint: stream.events.put(event(curves, checkpoint)),
        )
        stream.begin(request.call, trial)
        try:
            trial.check()
            trial.parameters = _schema.resolve(self.trainer.parameters, trial.parameters)
            r = self.trainer.train(trial)
            if not isinstance(r, Result):
                raise TypeError("train must return a Result, not %s" % type(r).__name__)
        except Cancelled:
            return event(trial._take(), cancelled=True)
        except (Refused, DataRefused) as problem:
            return event(refusal=_refusal(problem))
        except BaseException as problem:
            if trial.cancelled:
                return event(trial._take(), cancelled=True)
            traceback.print_exc()
            sys.stderr.flush()
            return event(trial._take(), failure=pb.Failure(message="%s: %s" % (type(problem).__name__, problem)))
        finally:
            stream.end()
        return event(trial._take(), result=pb.Result(
            state="failed" if r.failed else "completed", error=r.failed or "", diverged=r.diverged, summary=r.summary,
            weights_digest=r.weights_digest, seconds=time.monotonic() - began,
        ))


class _Stream:
    """One stream of trials."""

    def __init__(self):
        self.events = queue.Queue(maxsize=64)
        self.lock = threading.Lock()
        self.cancelled, self.call, self.trial, self.ended = 0, 0, None, False

    def begin(self, call, trial):
        with self.lock:
            self.call, self.trial = call, trial
            trial.cancelled = trial.cancelled or self.ended or call <= self.cancelled

    def end(self):
        with self.lock:
            self.trial = None

    def cancel(self, call):
        with self.lock:
            self.cancelled = max(self.cancelled, call)
            if self.trial is not None and self.call <= self.cancelled:
                self.trial.cancelled = True

    def over(self):
        with self.lock:
            if self.ended:
                return
            self.ended = True
            if self.trial is not None:
                self.trial.cancelled = True
        # The handler waits for an event, or a full queue for the handler that is gone.
        while True:
            try:
                self.events.put_nowait(None)
                return
            except queue.Full:
                try:
                    self.events.get_nowait()
                except queue.Empty:
                    pass


def _refusal(problem):
    if isinstance(problem, Refused):
        value = b"" if problem.value is None else json.dumps(problem.value).encode("utf-8")
        return pb.Refusal(message=str(problem), parameter=pb.ParameterRefusal(
            parameter=problem.parameter, problem=problem.problem, value=value, nearest=problem.nearest))
    return pb.Refusal(message=str(problem), dataset_changed=problem.changed,
                      data=None if problem.changed else pb.DataRefusal(dataset=problem.dataset, problem=problem.problem))


def _fault(context, problem):
    traceback.print_exc()
    context.abort(grpc.StatusCode.UNKNOWN, "%s: %s" % (type(problem).__name__, problem))
