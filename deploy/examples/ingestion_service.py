#!/usr/bin/python3
"""A small receiver: takes what Apple and an app post, publishes it, and says what a user may use.

    export KAFKA_BOOTSTRAP=broker-1:9092 DATABASE_URL=postgresql://app-server@db/entitlements
    ./ingestion_service.py --port 8080

POST /apple is the URL for App Store Server Notifications V2 in App Store Connect. It needs no
authorization, as verify-worker checks Apple's signature.

    200  the brokers have the notification
    503  they have not: Apple posts it again, up to five times within a week (not in the Sandbox)

POST /transactions takes the jwsRepresentation of an app's transaction, of a user who is signed in.

    200  settled, with the user's entitlements: the app finishes its transaction
    202  pending: published and not settled in time, or of nobody yet, as no link names its user.
         The app asks again later with the same body and does not finish its transaction yet
    422  refused, and stays refused: the app keeps its transaction, somebody has to look
    503  not published, or not answered: the app asks again later

GET /entitlements answers from PostgreSQL what the user may use now: 200, or 503.

Also 401 if nobody is signed in, and 404, 405, 411, 413 and 415 for requests that are none of these.

Anybody with a copy of a signed transaction can post it, also one that another user bought. So this
service compares the user of each outcome with the user of its own session: of another's purchase
the app learns only that it belongs to another, and the entitlements are always the session's.

Needs Debian's python3-confluent-kafka and python3-psycopg2. A proxy in front ends TLS, authenticates
the app and sets X-Session-User, which it removes from every other request. The user also goes into
the record header user-id (read with linking.trust_ingest_user), and never comes from the body, which
the app writes. The service may run in many copies: each reads all outcomes, and picks its own.
"""

import argparse
import json
import os
import threading
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg2
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

BODY_BYTES_MAX = 1 << 20
ENTITLEMENTS = """
    SELECT entitlement_key, CASE WHEN count(*) = count(active_until)
        THEN (extract(epoch FROM max(active_until)) * 1000)::int8 END
    FROM active_entitlements_in(%s) WHERE user_id = %s GROUP BY 1 ORDER BY 1
"""


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
        threading.Thread(target=self.take_acknowledgements, daemon=True).start()

    def read_outcomes(self):
        while True:
            message = self.consumer.poll(1.0)
            if message is None or message.error():
                continue
            with self.lock:
                waiting = self.waiting.get((message.key() or b"").decode("utf-8", "replace"))
            if waiting:
                waiting.take(json.loads(message.value()))

    def take_acknowledgements(self):
        while True:
            self.producer.poll(1.0)

    def settle(self, body, user, seconds_max):
        """Publishes a body and returns its outcomes; None where the time is over before all came."""
        correlation_id, waiting = str(uuid.uuid4()), Waiting()
        with self.lock:
            self.waiting[correlation_id] = waiting
        try:
            # 1 to 255 bytes of UTF-8 without control characters, and blanks at an end.
            self.publish(body, {"correlation-id": correlation_id, "user-id": user})
            is_settled = waiting.is_settled.wait(seconds_max)
            return list(waiting.outcomes.values()) if is_settled else None
        finally:
            with self.lock:
                del self.waiting[correlation_id]

    def publish(self, body, headers):
        """Returns once the brokers have acknowledged the body, and raises KafkaException else."""
        acknowledged, faults = threading.Event(), []

        def take(error, _):
            if error:
                faults.append(error)
            acknowledged.set()

        try:
            self.producer.produce(self.raw, body, headers=headers, on_delivery=take)
        except BufferError:
            raise KafkaException("the queue is full") from None
        if not acknowledged.wait(10) or faults:
            raise KafkaException(faults[0] if faults else "not acknowledged in time")


def is_unowned(outcome):
    """Whether the purchase of an outcome belongs to nobody yet: so also for its `duplicate`."""
    return outcome["status"] == "unlinked" or (
        outcome["status"] in ("applied", "duplicate", "superseded")
        and "originalTransactionID" in outcome
        and outcome["userID"] is None
    )


def service(pipeline, database, environment, seconds_max):
    class Receiver(BaseHTTPRequestHandler):
        timeout = 30  # seconds that a client may be silent

        def do_POST(self):
            if self.path == "/apple":
                self.take(("application/json",), self.publish_notification)
            elif self.path == "/transactions":
                if not self.session_user():
                    return self.answer(401)
                self.take(("application/json", "application/jose"), self.settle_transaction)
            else:
                self.refuse_path()

        def do_GET(self):
            if self.path != "/entitlements":
                return self.refuse_path()
            if not self.session_user():
                return self.answer(401)
            self.answer_entitlements({})

        def do_other(self):
            self.refuse_path()

        do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = do_PUT = do_other

        def refuse_path(self):
            is_known = self.path in ("/apple", "/transactions", "/entitlements")
            self.answer(405 if is_known else 404)

        def session_user(self):
            """The user that the proxy names; header fields arrive as if they were Latin-1."""
            return self.headers.get("X-Session-User", "").encode("latin-1").decode("utf-8", "replace")

        def take(self, types, then):
            """Reads a body of an expected type and size, and passes it on."""
            length = self.headers.get("Content-Length", "")
            if self.headers.get_content_type() not in types:
                return self.answer(415)
            if not (length.isascii() and length.isdigit()):
                return self.answer(411)
            if not 0 < int(length[:10]) <= BODY_BYTES_MAX:
                return self.answer(413)
            body = self.rfile.read(int(length))
            if len(body) == int(length):  # else the client has gone
                then(body)

        def publish_notification(self, body):
            try:
                pipeline.publish(body, {"client-id": "apple"})
            except KafkaException:
                return self.answer(503)
            self.answer(200)

        def settle_transaction(self, body):
            user = self.session_user()
            try:
                outcomes = pipeline.settle(body, user, seconds_max)
            except KafkaException:
                return self.answer(503)
            if outcomes is None:
                return self.answer(202, {"status": "pending"})
            for outcome in outcomes:
                if outcome["status"] == "dead_lettered":
                    return self.answer(422, {"status": "refused", "reason": outcome["reason"]})
            if any(is_unowned(outcome) for outcome in outcomes):
                return self.answer(202, {"status": "pending"})
            others = any(outcome["userID"] not in (user, None) for outcome in outcomes)
            self.answer_entitlements({"status": "settled", "belongsToAnother": others})

        def answer_entitlements(self, members):
            try:
                with closing(psycopg2.connect(database, connect_timeout=5)) as connection:
                    cursor = connection.cursor()
                    cursor.execute(ENTITLEMENTS, [environment, self.session_user()])
                    held = [{"key": key, "activeUntil": end} for key, end in cursor.fetchall()]
            except psycopg2.Error:
                return self.answer(503)
            self.answer(200, members | {"entitlements": held})

        def answer(self, status, value=None):
            body = json.dumps(value or {}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Bodies and their paths are nobody's business."""

    return Receiver


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=8080)
    options.add_argument("--prefix", default="storekit.", help="what the topics' names begin with")
    options.add_argument("--environment", default="Production", help="whose entitlements count")
    options.add_argument("--wait", type=float, default=10, help="seconds until an answer has to come")
    chosen = options.parse_args()
    pipeline = Pipeline(os.environ["KAFKA_BOOTSTRAP"], chosen.prefix)
    receiver = service(pipeline, os.environ["DATABASE_URL"], chosen.environment, chosen.wait)
    server = ThreadingHTTPServer(("127.0.0.1", chosen.port), receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
