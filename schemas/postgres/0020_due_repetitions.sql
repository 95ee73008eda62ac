-- Those that are due are found without reading the table whole.
CREATE INDEX feed_repetitions_due ON feed_repetitions (due);
