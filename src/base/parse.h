/* parse.h: parsing of numbers. Each function returns false, and leaves *out unchanged, unless the whole text is a
 * number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Parse an integer with an optional minus sign. */
bool tern_base_parse_count(const char *text, int64_t *out);

/* Parse a number of bytes with an optional suffix K, M, G or T (powers of 1024). */
bool tern_base_parse_size(const char *text, uint64_t *out);

/* Parse a decimal number such as 3, 0.25, -1.5 or 1e9. The decimal separator is a point in every locale. The result is
 * finite. */
bool tern_base_parse_seconds(const char *text, double *out);
