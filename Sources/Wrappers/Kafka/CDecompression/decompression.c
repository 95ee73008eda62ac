#define _GNU_SOURCE
#include "CDecompression.h"

#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

const unsigned long decompression_bytes_max = 32000000;

/* The state of a broker's thread while it reads one answer. */
static _Thread_local struct {
    /* Whether the answer is one to a limited client. */
    bool is_limited;
    /* Bytes that the batches before have decompressed to. */
    size_t spent;
    /* librdkafka inflates each gzip stream twice: to learn its size, then into memory. */
    enum { MEASURING, MEASURED, WRITING } inflating;
    /* Whether `no_record` stands for the batch at hand. */
    bool is_passed_over;
} answer;

static atomic_ulong passed_over;

/* A record of the batch format (KIP-98) whose offset lies 2^62 before its batch. librdkafka skips it
 * like any record below the offset that it fetches, and goes on behind the batch. It takes no stream
 * of zero bytes: an assertion fails. */
static const unsigned char no_record[] = {
    28 /* length 14 */, 0 /* attributes */, 0 /* timestamp delta */,
    /* offset delta */ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    1 /* no key */, 1 /* no value */, 0 /* headers */,
};

unsigned long decompression_passed_over(void) {
    return atomic_load(&passed_over);
}

static rd_kafka_resp_err_t answered(
    rd_kafka_t *client, int socket, const char *name, int32_t broker, int16_t api, int16_t version,
    int32_t correlation, size_t size, int64_t time, rd_kafka_resp_err_t error, void *opaque
) {
    memset(&answer, 0, sizeof answer);
    answer.is_limited = true;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static rd_kafka_resp_err_t made(
    rd_kafka_t *client, const rd_kafka_conf_t *configuration, void *opaque, char *reason,
    size_t reason_size
) {
    return rd_kafka_interceptor_add_on_response_received(client, "decompression", answered, NULL);
}

void decompression_limit(struct rd_kafka_conf_s *configuration) {
    rd_kafka_conf_interceptor_add_on_new(configuration, "decompression", made, NULL);
}

/* The library's definition of a function that this file defines. */
#define ORIGINAL(name)                                                \
    static typeof(&name) _Atomic original;                            \
    if (!original) original = (typeof(&name)) dlsym(RTLD_NEXT, #name)

/* Errors of zstd and lz4 are the greatest values of the type. */
static const size_t failure = (size_t) -1;

static bool is_error(size_t code) {
    return code > (size_t) -256;
}

static size_t rest(void) {
    return answer.spent < decompression_bytes_max ? decompression_bytes_max - answer.spent : 0;
}

/* Decides on a batch that is larger than the rest: whether it is passed over. */
static bool pass_over(void) {
    answer.is_passed_over = answer.spent == 0;
    if (answer.is_passed_over) atomic_fetch_add(&passed_over, 1);
    return answer.is_passed_over;
}

/* Writes `no_record` in the place of a batch. */
static size_t write_no_record(void *target, size_t capacity) {
    answer.is_passed_over = false;
    if (capacity < sizeof no_record) return failure;
    memcpy(target, no_record, sizeof no_record);
    return sizeof no_record;
}

/* gzip: zlib's stream, as far as it is read here (zlib.h). */
struct z_stream_s {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
};

enum { Z_STREAM_END = 1, Z_DATA_ERROR = -3 };

int inflate(struct z_stream_s *stream, int flush) {
    ORIGINAL(inflate);
    if (!answer.is_limited) return original(stream, flush);
    if (stream->total_out == 0) {
        answer.inflating = answer.inflating == MEASURED ? WRITING : MEASURING;
    }
    if (answer.inflating == WRITING) {
        if (!answer.is_passed_over) return original(stream, flush);
        size_t size = write_no_record(stream->next_out, stream->avail_out);
        stream->next_out += size;
        stream->avail_out -= size;
        stream->total_out += size;
        return Z_STREAM_END;
    }
    int result = original(stream, flush);
    if (stream->total_out > rest()) {
        if (!pass_over()) return Z_DATA_ERROR;
        stream->total_out = sizeof no_record;
        answer.inflating = MEASURED;
        return Z_STREAM_END;
    }
    if (result == Z_STREAM_END) {
        answer.spent += stream->total_out;
        answer.inflating = MEASURED;
    }
    return result;
}

/* lz4: a byte of a frame holds at most 255. Frames that may exceed the rest are decompressed into a
 * buffer that is thrown away, before librdkafka allocates anything. */
size_t LZ4F_createDecompressionContext(void **context, unsigned version);
size_t LZ4F_freeDecompressionContext(void *context);

size_t LZ4F_decompress(
    void *context, void *target, size_t *target_size, const void *source, size_t *source_size,
    const void *options
) {
    ORIGINAL(LZ4F_decompress);
    if (answer.is_limited && answer.is_passed_over) {
        *target_size = write_no_record(target, *target_size);
        return *target_size == failure ? failure : 0;
    }
    size_t result = original(context, target, target_size, source, source_size, options);
    if (answer.is_limited && !is_error(result)) answer.spent += *target_size;
    return result;
}

static bool lz4_exceeds(size_t bytes_max, const unsigned char *source, size_t size) {
    static typeof(&LZ4F_createDecompressionContext) _Atomic create;
    static typeof(&LZ4F_freeDecompressionContext) _Atomic destroy;
    static typeof(&LZ4F_decompress) _Atomic decompress;
    if (!create) create = (typeof(&LZ4F_createDecompressionContext))
        dlsym(RTLD_NEXT, "LZ4F_createDecompressionContext");
    if (!destroy) destroy = (typeof(&LZ4F_freeDecompressionContext))
        dlsym(RTLD_NEXT, "LZ4F_freeDecompressionContext");
    if (!decompress) decompress = (typeof(&LZ4F_decompress)) dlsym(RTLD_NEXT, "LZ4F_decompress");
    static const unsigned frame_version = 100;
    void *context;
    if (is_error(create(&context, frame_version))) return false;
    unsigned char scratch[16384];
    size_t total = 0;
    while (size > 0 && total <= bytes_max) {
        size_t written = sizeof scratch, read = size;
        size_t result = decompress(context, scratch, &written, source, &read, NULL);
        if (is_error(result) || read + written == 0) break;
        total += written;
        source += read;
        size -= read;
        if (result == 0) break;
    }
    destroy(context);
    return total > bytes_max;
}

size_t LZ4F_getFrameInfo(void *context, void *info, const void *source, size_t *size) {
    ORIGINAL(LZ4F_getFrameInfo);
    size_t whole = *size;
    size_t result = original(context, info, source, size);
    if (!answer.is_limited || is_error(result) || whole <= rest() / 255) return result;
    if (!lz4_exceeds(rest(), source, whole)) return result;
    return pass_over() ? result : failure;
}

/* zstd: librdkafka tries ever larger buffers where the frame does not state its size. */
enum { ZSTD_error_dstSize_tooSmall = 70 };
static const unsigned long long unknown_size = -1, size_error = -2;

unsigned long long ZSTD_getFrameContentSize(const void *source, size_t size) {
    ORIGINAL(ZSTD_getFrameContentSize);
    unsigned long long stated = original(source, size);
    bool is_stated = stated != unknown_size && stated != size_error;
    // librdkafka goes no further with a size above its own limit.
    return answer.is_limited && is_stated && stated > decompression_bytes_max
        ? decompression_bytes_max + 1 : stated;
}

size_t ZSTD_decompress(void *target, size_t capacity, const void *source, size_t size) {
    ORIGINAL(ZSTD_decompress);
    if (!answer.is_limited) return original(target, capacity, source, size);
    size_t allowed = rest();
    size_t result = original(target, capacity < allowed ? capacity : allowed, source, size);
    if (!is_error(result)) {
        answer.spent += result;
        return result;
    }
    bool is_too_large = result == (size_t) -ZSTD_error_dstSize_tooSmall;
    if (capacity <= allowed || !is_too_large) return result;
    return pass_over() ? write_no_record(target, capacity) : failure;
}
