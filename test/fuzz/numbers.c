/* numbers.c: numbers that a user writes in options.
 *
 * Promise: an accepted number is the number that the C library reads from the whole text. Nothing overflows. A text
 * that is refused changes nothing. */
#include "fuzz/fuzz.h"

#include <errno.h>
#include <math.h>

#include "base/parse.h"

static void read_count(const char *text)
{
    int64_t value = 77;
    char   *end;

    if (!tern_base_parse_count(text, &value)) {
        MUST(value == 77);
        return;
    }
    errno = 0;
    MUST(strtoll(text, &end, 10) == value && *end == '\0' && errno == 0);
}

static void read_size(const char *text)
{
    uint64_t           value = 77;
    unsigned long long number;
    char              *end;

    if (!tern_base_parse_size(text, &value)) {
        MUST(value == 77);
        return;
    }
    errno = 0;
    number = strtoull(text, &end, 10);
    MUST(errno == 0 && end != text && (*end == '\0' || (strchr("KMGT", *end) != NULL && end[1] == '\0')));
    MUST(*end == '\0' ? value == number : value >> 10 * (strchr("KMGT", *end) - "KMGT" + 1) == number);
}

static void read_seconds(const char *text)
{
    double value = 77, number;
    char  *end;

    if (!tern_base_parse_seconds(text, &value)) {
        MUST(value == 77);
        return;
    }
    number = strtod(text, &end);
    MUST(*end == '\0' && isfinite(value));
    MUST(fabs(value - number) <= fabs(number) * 1e-12 + 1e-290);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    read_count(text);
    read_size(text);
    read_seconds(text);
    free(text);
    return 0;
}
