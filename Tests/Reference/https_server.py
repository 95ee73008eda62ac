"""A server of HTTPS for tests: https_server.py CERTIFICATE KEY RESPONSES REQUESTS.

RESPONSES is a file of JSON, read again for each request: a list of {"bytes", "then"}. The n-th request
gets the n-th response, the last one repeatedly. After the bytes, `then` keeps the connection open for
another request ("keep"), ends it ("close"), cuts it without TLS's farewell ("cut"), sends one more byte
every 50 ms ("drip") or sends nothing more ("silence").

Prints its port. Before it answers a request, it appends a line of JSON to REQUESTS: the number of the
connection, head and body.
"""

import json
import socket
import ssl
import struct
import sys
import threading
import time

lock = threading.Lock()
requests = 0


def read_request(stream):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = stream.recv(65536)
        if not piece:
            return None
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += stream.recv(65536)
    return head.decode("latin-1"), body.decode("latin-1")


def next_response(connection, head, body):
    global requests
    with lock:
        with open(sys.argv[3]) as file:
            responses = json.load(file)
        response = responses[min(requests, len(responses) - 1)]
        requests += 1
        with open(sys.argv[4], "a") as file:
            print(json.dumps({"connection": connection, "head": head, "body": body}), file=file)
    return response


def serve(plain, connection, context):
    try:
        stream = context.wrap_socket(plain, server_side=True)
        while True:
            request = read_request(stream)
            if request is None:
                return
            response = next_response(connection, *request)
            stream.sendall(response["bytes"].encode("latin-1"))
            match response["then"]:
                case "close":
                    stream.unwrap()
                    return
                case "cut":
                    linger = struct.pack("ii", 1, 0)
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    stream.close()
                    return
                case "drip":
                    while True:
                        stream.sendall(b"a")
                        time.sleep(0.05)
                case "silence":
                    stream.recv(1)
                    return
    except OSError:
        pass
    finally:
        plain.close()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    connection = 0
    while True:
        plain, _ = listener.accept()
        connection += 1
        threading.Thread(target=serve, args=(plain, connection, context), daemon=True).start()


main()
