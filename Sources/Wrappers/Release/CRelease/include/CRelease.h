#ifndef C_RELEASE_H
#define C_RELEASE_H

/* The commit that was built, or "unknown". The text lives as long as the program. */
const char *release_commit(void);

#endif
