#!/usr/bin/python3
"""Keeps a copy of all users' entitlements in a SQLite file, as a service behind the feed does.

    KAFKA_BOOTSTRAP=broker-1:9092 ./feed_consumer.py copy.sqlite
    ./feed_consumer.py copy.sqlite --may-use user-17 pro

The second command asks the copy: yes, no or unknown. Ended entitlements stay in the feed and in the
copy, after a refund too: that a row is there gives no access, a period that contains the instant does.

The first start reads `entitlements.current` from its beginning to its end: each record holds all that
its user has, as of a version. From then on `entitlements.changed` brings each change with the user's
next version. It is read from its beginning too, and versions that the copy has are passed over: so no
change falls between the two topics, and one that comes twice after a crash counts once.

Rows, versions and the place in the topic are one transaction of SQLite: a process that is killed
goes on as if nothing had happened. A version that is missing ends the program with 1, as when the
topic's retention has overtaken a copy that was off for long: remove the file, and it begins again.

A record that could not carry all that a user has says `omitted`: is_whole is 0, and the rest is
what held_entitlements(user) answers in PostgreSQL; a no is then unknown.

Needs Debian's python3-confluent-kafka.
"""

import argparse
import json
import os
import sqlite3
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

SCHEMA = """
CREATE TABLE IF NOT EXISTS users (user TEXT PRIMARY KEY, version INTEGER, is_whole INTEGER);
CREATE TABLE IF NOT EXISTS entitlements (
    user TEXT, environment TEXT, app TEXT, source TEXT, entitlement TEXT, periods TEXT,
    PRIMARY KEY (user, environment, app, source, entitlement));
CREATE TABLE IF NOT EXISTS places (partition INTEGER PRIMARY KEY, next INTEGER);
"""


class Copy:
    """The copy in its file."""

    def __init__(self, path):
        self.file = sqlite3.connect(path)
        self.file.executescript(SCHEMA)

    def version(self, user):
        row = self.file.execute("SELECT version FROM users WHERE user = ?", [user]).fetchone()
        return row[0] if row else 0

    def may_use(self, user, entitlement, instant, environment="Production"):
        """Whether a user may use it at an instant, in UNIX milliseconds; None where the copy lacks a part."""
        rows = self.file.execute(
            "SELECT periods FROM entitlements WHERE (user, environment, entitlement) = (?,?,?)",
            [user, environment, entitlement],
        )
        for span in (span for (periods,) in rows for span in json.loads(periods)):
            if span["start"] <= instant and (span["end"] is None or instant < span["end"]):
                return True
        row = self.file.execute("SELECT is_whole FROM users WHERE user = ?", [user]).fetchone()
        return False if row is None or row[0] else None

    def put(self, user, held, periods, source):
        key = [user, held["environment"], held["bundleID"] or "", source, held["entitlement"]]
        if periods:
            row = key + [json.dumps(periods)]
            self.file.execute("INSERT OR REPLACE INTO entitlements VALUES (?,?,?,?,?,?)", row)
        else:
            self.file.execute(
                "DELETE FROM entitlements WHERE (user, environment, app, source, entitlement)"
                " = (?,?,?,?,?)",
                key,
            )

    def take_state(self, state):
        """Everything a user has; of several states the one with the greatest version counts."""
        user = state["userID"]
        if state["version"] <= self.version(user):
            return
        self.file.execute("DELETE FROM entitlements WHERE user = ?", [user])
        for held in state["entitlements"]:
            source = held["originalTransactionID"] or f"grant {held['grantID']}"
            self.put(user, held, held["periods"], source)
        self.file.execute(
            "INSERT OR REPLACE INTO users VALUES (?, ?, ?)",
            [user, state["version"], "omitted" not in state],
        )

    def take_change(self, change):
        """Returns whether the change is new; a service that sends mails would send one now."""
        user, known = change["userID"], self.version(change["userID"])
        if change["version"] <= known:
            return False
        if change["version"] > known + 1:
            sys.exit(f"versions from {known + 1} are missing: remove the file and begin again")
        source = change["originalTransactionID"] or f"grant {change['cause']['id']}"
        self.put(user, change, change["new"], source)
        is_whole = change.get("omitted", {"new": 0})["new"] == 0
        self.file.execute(
            "INSERT INTO users VALUES (?, ?, ?) ON CONFLICT (user) DO UPDATE"
            " SET version = excluded.version, is_whole = min(is_whole, excluded.is_whole)",
            [user, change["version"], is_whole],
        )
        return True

    def move(self, partition, offset):
        self.file.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", [partition, offset])

    def places(self):
        return dict(self.file.execute("SELECT partition, next FROM places"))


def consumer(bootstrap):
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "never-joined",  # the places are in the file
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # going on at the topic's end would skip changes
            "enable.partition.eof": True,
        }
    )


def records(bootstrap, topic, places, until_end):
    """Yields the records from these places on; None whenever there is none for a second."""
    reader = consumer(bootstrap)
    numbers = reader.list_topics(topic, timeout=30).topics[topic].partitions
    reader.assign(
        [TopicPartition(topic, number, places.get(number, OFFSET_BEGINNING)) for number in numbers]
    )
    ended = set()
    while not (until_end and ended == set(numbers)):
        record = reader.poll(1.0)
        if record is None:
            yield None
        elif not record.error():
            ended.discard(record.partition())
            yield record
        elif record.error().code() == KafkaError._PARTITION_EOF:
            ended.add(record.partition())
        elif record.error().code() == KafkaError._AUTO_OFFSET_RESET:
            sys.exit(f"{topic} lacks the place of this copy: remove the file and begin again")
        elif record.error().fatal():
            raise KafkaException(record.error())
    reader.close()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", help="the SQLite file, made if it is not there")
    options.add_argument("--may-use", nargs=2, metavar=("USER", "ENTITLEMENT"), help="ask the copy")
    options.add_argument("--prefix", default="storekit.", help="what the topics' names begin with")
    options.add_argument("--until-end", action="store_true", help="end when all is read")
    chosen = options.parse_args()
    copy = Copy(chosen.file)
    if chosen.may_use:
        answer = copy.may_use(*chosen.may_use, time.time_ns() // 1_000_000)
        return print({True: "yes", False: "no", None: "unknown"}[answer])
    bootstrap = os.environ["KAFKA_BOOTSTRAP"]
    if not copy.places():
        with copy.file:  # one transaction: a start that is interrupted begins again
            for record in records(bootstrap, chosen.prefix + "entitlements.current", {}, True):
                if record is not None and record.value() is not None:
                    copy.take_state(json.loads(record.value()))
            copy.move(0, OFFSET_BEGINNING)
    topic = chosen.prefix + "entitlements.changed"
    for record in records(bootstrap, topic, copy.places(), chosen.until_end):
        if record is None:
            continue
        change = json.loads(record.value())
        with copy.file:
            is_new = copy.take_change(change)
            copy.move(record.partition(), record.offset() + 1)
        if is_new:
            print(f"version {change['version']}: {change['cause']['kind']}", flush=True)


if __name__ == "__main__":
    main()
