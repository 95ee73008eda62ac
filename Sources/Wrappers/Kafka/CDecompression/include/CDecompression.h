#ifndef C_DECOMPRESSION_H
#define C_DECOMPRESSION_H

/* A consumer's batch of records is one compressed stream. The broker limits its compressed size, and
 * 2 MiB of gzip may hold 2 GiB. librdkafka has a limit for zstd alone, and reads such a batch again
 * and again. It decompresses by functions of shared libraries, which this target defines, too: the
 * program's own definition comes first (ld.so(8)) and calls the library's.
 *
 * Snappy is not limited: librdkafka holds its own copy of that code and calls it by no symbol, neither
 * to read a stated length nor to decompress. Its format limits it instead: an element of three bytes
 * repeats 64 at most, so that a batch holds less than 22 times its compressed size, and a broker
 * decompresses a batch before it takes it.
 *
 * Only threads of clients configured by `decompression_limit` are limited. A librdkafka that holds
 * its own copies of these libraries is not limited. */

struct rd_kafka_conf_s;

/* Bytes that the batches of one answer to a fetch may hold, together. */
extern const unsigned long decompression_bytes_max;

/* Limits the consumer that is made from this configuration.
 *
 * A batch of its own above the limit is passed over, as if it held no record. A batch that exceeds
 * what the batches before it in the same answer have left is an error of its partition, and comes
 * again with the next answer. Compressed batches of the formats before Kafka 0.11 are not limited. */
void decompression_limit(struct rd_kafka_conf_s *configuration);

/* The batches that this process has passed over. */
unsigned long decompression_passed_over(void);

#endif
