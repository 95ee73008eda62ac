#!/usr/bin/python3
"""A small ingestion service: takes a body from an app, publishes it, and answers what became of it.

    KAFKA_BOOTSTRAP=broker-1:9092 ./ingestion_service.py --port 8080
    curl --header 'X-Session-User: user-17' --data @body.json http://127.0.0.1:8080/purchases

POST /purchases takes one body of at most 1 MiB as the app or Apple sent it. It goes to the raw topic
under a fresh correlation ID, and the outcomes with that ID, one for each part of the body, make the
answer:

    200  every part of the body is settled: the app may finish its transaction
    401  nobody is signed in: nothing is published
    422  a part was refused and stays refused: the app keeps its transaction, somebody has to look
    202  published, and not settled in time: nothing is lost; the app asks again later with the same
         body and does not finish its transaction yet
    503  not published: the app asks again later

Anybody with a copy of a signed transaction can post it, also one that another user bought. Every
ingestion service therefore compares the outcome's user with the user of its own session before it
answers: of another's purchase the app learns only that it belongs to another user.
An outcome without a user belongs to nobody yet. The last outcome of a body lists what its user holds.

Needs Debian's python3-confluent-kafka. A real one authenticates the app. Which user it is goes into
the record header user-id (read with linking.trust_ingest_user), from the service's own session and
never from the body, which the app writes; here a proxy in front that authenticates sets X-Session-User.
It may run in many copies: each reads all outcomes and picks those that it waits for.
"""

import argparse
import json
import os
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

BODY_BYTES_MAX = 1 << 20
OF_THE_USER = ("userID", "entitlements", "omitted")


def answer_for(user, outcome):
    """What a user may read of an outcome: nothing about another user."""
    if outcome["userID"] in (user, None):
        return outcome
    public = {name: value for name, value in outcome.items() if name not in OF_THE_USER}
    return public | {"userID": None, "entitlements": None, "belongsToAnother": True}


class Waiting:
    """A published body whose outcomes are awaited."""

    def __init__(self):
        self.outcomes = {}
        self.is_settled = threading.Event()

    def take(self, outcome):
        # An outcome may come twice, with the same index; all of a body's have to be there.
        self.outcomes[outcome["index"]] = outcome
        if len(self.outcomes) == outcome["count"]:
            self.is_settled.set()


class Pipeline:
    """Publishes bodies, and hands outcomes to those who wait for them."""

    def __init__(self, bootstrap, prefix):
        self.raw, self.topic = prefix + "raw", prefix + "outcomes"
        self.waiting, self.lock = {}, threading.Lock()
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.max.bytes": 2 * BODY_BYTES_MAX,
                "message.timeout.ms": 5000,
            }
        )
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ingestion-" + str(uuid.uuid4()),  # never joined, nothing is committed
                "enable.auto.commit": False,
            }
        )
        # From where the topic ends now: whatever is published from here on is answered behind it.
        partitions = self.consumer.list_topics(self.topic, timeout=30).topics[self.topic].partitions
        places = [TopicPartition(self.topic, number) for number in partitions]
        for place in places:
            place.offset = self.consumer.get_watermark_offsets(place, timeout=30)[1]
        self.consumer.assign(places)
        threading.Thread(target=self.read_outcomes, daemon=True).start()

    def read_outcomes(self):
        while True:
            message = self.consumer.poll(1.0)
            if message is None or message.error():
                continue
            with self.lock:
                waiting = self.waiting.get((message.key() or b"").decode("utf-8", "replace"))
            if waiting:
                waiting.take(json.loads(message.value()))

    def settle(self, body, user, seconds_max):
        """Publishes a body and returns its outcomes; fewer than all where the time is over."""
        correlation_id, waiting = str(uuid.uuid4()), Waiting()
        with self.lock:
            self.waiting[correlation_id] = waiting
        try:
            self.publish(body, user, correlation_id)
            waiting.is_settled.wait(seconds_max)
            outcomes = [waiting.outcomes[index] for index in sorted(waiting.outcomes)]
            return outcomes, waiting.is_settled.is_set()
        finally:
            with self.lock:
                del self.waiting[correlation_id]

    def publish(self, body, user, correlation_id):
        faults, headers = [], {"correlation-id": correlation_id}
        if user:
            # 1 to 255 bytes of UTF-8 without control characters, bidirectional controls, and
            # blanks at an end.
            headers["user-id"] = user
        self.producer.produce(
            self.raw,
            body,
            headers=headers,
            on_delivery=lambda error, _: faults.append(error) if error else None,
        )
        if self.producer.flush(10) or faults:
            raise KafkaException(faults[0] if faults else "not acknowledged in time")


def service(pipeline, seconds_max):
    class Purchases(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            if self.path != "/purchases":
                return self.answer(404, {"error": "POST /purchases is all there is"})
            user = self.headers.get("X-Session-User")
            if not user:
                return self.answer(401, {"error": "nobody is signed in"})
            if not 0 < length <= BODY_BYTES_MAX:
                return self.answer(413, {"error": "a body of 1 byte to 1 MiB is expected"})
            try:
                outcomes, is_settled = pipeline.settle(self.rfile.read(length), user, seconds_max)
            except (KafkaException, BufferError):
                return self.answer(503, {"error": "not published, ask again later"})
            is_refused = any(outcome["status"] == "dead_lettered" for outcome in outcomes)
            status = 422 if is_refused else 200 if is_settled else 202
            answers = [answer_for(user, outcome) for outcome in outcomes]
            self.answer(status, {"isSettled": is_settled, "outcomes": answers})

        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Bodies and their paths are nobody's business."""

    return Purchases


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=8080)
    options.add_argument("--prefix", default="storekit.", help="what the topics' names begin with")
    options.add_argument("--wait", type=float, default=10, help="seconds until an answer has to come")
    chosen = options.parse_args()
    pipeline = Pipeline(os.environ["KAFKA_BOOTSTRAP"], chosen.prefix)
    server = ThreadingHTTPServer(("127.0.0.1", chosen.port), service(pipeline, chosen.wait))
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
