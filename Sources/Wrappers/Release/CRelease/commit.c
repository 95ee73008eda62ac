#include "CRelease.h"

/* Package.swift defines COMMIT: a Swift file can be given no text when it is compiled. */
const char *release_commit(void) {
    return COMMIT;
}
