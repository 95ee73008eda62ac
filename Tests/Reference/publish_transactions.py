"""Publishes records with Kafka transactions, one record in each, to partition 0 of a topic.

usage: publish_transactions.py BOOTSTRAP TOPIC COUNT [--abort-last]

Each transaction leaves a control record behind its own; with --abort-last the last transaction is
aborted, so that consumers of committed records see neither its record nor its end.
"""

import sys

from confluent_kafka import Producer


def main() -> None:
    bootstrap, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    aborts_last = "--abort-last" in sys.argv
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"{topic}-publisher",
            "linger.ms": 0,
        }
    )
    producer.init_transactions(30)
    for number in range(count):
        producer.begin_transaction()
        producer.produce(topic, value=bytes([number % 256]), partition=0)
        producer.flush(30)
        if aborts_last and number == count - 1:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


if __name__ == "__main__":
    main()
