#!/usr/bin/env python3
"""A tunnel through an HTTP proxy, as one writes it with blocking sockets: two threads a connection.

    tunnel.py LISTEN PROXY TARGET       each HOST:PORT

It is a peer of the `tunnel` rig and has, on purpose, the design of the small Python tunnels of its time: CONNECT with
HTTP/1.0, a reply whose head is read byte by byte and whose status nobody looks at, and two threads which copy and which
notice only once a second that the other one has ended.
"""

import socket
import sys
import threading

CHUNK = 4096
POLL = 1.0


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def ask(proxy, target):
    """A connection to the proxy on which CONNECT was answered, with whatever."""
    remote = socket.create_connection(proxy)
    remote.sendall(("CONNECT %s:%d HTTP/1.0\r\n\r\n" % target).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = remote.recv(1)
        if not byte:
            raise OSError("the proxy closed the connection")
        head += byte
    return remote


def copy(source, sink, ended):
    """Until an end of file or an error here, or until the other direction has ended."""
    try:
        while not ended.is_set():
            try:
                data = source.recv(CHUNK)
            except socket.timeout:
                continue
            if not data:
                break
            sink.sendall(data)
    except OSError:
        pass
    ended.set()


def serve(client, proxy, target):
    """The first thread of a connection; it uploads, and starts the second one."""
    with client:
        try:
            remote = ask(proxy, target)
        except OSError as error:
            print(error, file=sys.stderr)
            return
        with remote:
            ended = threading.Event()
            client.settimeout(POLL)
            remote.settimeout(POLL)
            download = threading.Thread(target=copy, args=(remote, client, ended), daemon=True)
            download.start()
            copy(client, remote, ended)
            download.join()


def main():
    listen, proxy, target = map(address, sys.argv[1:])
    listener = socket.create_server(listen, backlog=1024)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, proxy, target), daemon=True).start()


if __name__ == "__main__":
    main()
