"""Mutual TLS in front of a socket that only this process sees.

go-plugin's certificates are over the curve P-521, which the TLS within grpcio from
PyPI does not take; Python's own does."""

import socket
import ssl
import threading

_PIECE = 1 << 16


def forward(listener, inner, key, certificate, client):
    """Accepts connections of the one client whose certificate is given, in PEM, and
    passes what they carry to the Unix socket inner. Runs as long as the process."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=client)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])

    def accept():
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_join, args=(context, raw, inner), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _join(context, raw, inner):
    """One connection. A TLS socket must not be read and written at once by two threads,
    so the protocol runs over memory, under a lock."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_side=True)
    lock = threading.Lock()
    plain = socket.socket(socket.AF_UNIX)

    def drain():
        data = outgoing.read()
        if data:
            raw.sendall(data)

    try:
        while True:
            try:
                session.do_handshake()
                drain()
                break
            except ssl.SSLWantReadError:
                drain()
                data = raw.recv(_PIECE)
                if not data:
                    return
                incoming.write(data)
        plain.connect(inner)

        def back():
            try:
                while True:
                    data = plain.recv(_PIECE)
                    if not data:
                        break
                    with lock:
                        session.write(data)
                        drain()
            except OSError:
                pass
            finally:
                _end(raw)

        answering = threading.Thread(target=back, daemon=True)
        answering.start()
        while True:
            pieces = []
            with lock:
                try:
                    while True:
                        piece = session.read(_PIECE)
                        if not piece:
                            raise OSError("closed")
                        pieces.append(piece)
                except ssl.SSLWantReadError:
                    drain()
            for piece in pieces:
                plain.sendall(piece)
            data = raw.recv(_PIECE)
            if not data:
                break
            incoming.write(data)
    except (OSError, ssl.SSLError):
        pass  # the connection is over, or was never allowed
    finally:
        _end(plain)
        _end(raw)


def _end(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
