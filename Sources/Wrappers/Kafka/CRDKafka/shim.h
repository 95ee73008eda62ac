#ifndef CRDKAFKA_SHIM_H
#define CRDKAFKA_SHIM_H

/* strdup: librdkafka frees commit metadata with free(3), so it has to come from malloc(3). */
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#endif
