/* parse.h: numbers as people write them. Each function takes all of text or returns false and leaves *out alone. */
#ifndef TERN_BASE_PARSE_H
#define TERN_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* A whole number, with an optional minus. */
bool tern_base_parse_count(const char *text, int64_t *out);

/* Bytes, with an optional suffix K, M, G or T (powers of 1024). */
bool tern_base_parse_size(const char *text, uint64_t *out);

/* A decimal number such as 3, 0.25, -1.5 or 1e9; the point is a point in every locale. The result is finite. */
bool tern_base_parse_seconds(const char *text, double *out);

#endif
