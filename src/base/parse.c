/* parse.c: strict parsing of numbers, without overflow.
 *
 * The C library's functions skip blanks, accept signs, hexadecimal numbers, infinities and the decimal point of the
 * locale, and stop silently at unknown characters. Integers are therefore parsed here, and decimal numbers are checked
 * before the C library's result is used. The callers check ranges.
 */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 300 /* characters of a decimal number */

static bool parse_digits(const char **at, uint64_t *out)
{
    uint64_t value = 0;

    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++)
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
            return false;
    *out = value;
    return true;
}

bool tern_base_parse_count(const char *text, int64_t *out)
{
    bool     minus = *text == '-';
    uint64_t value;

    text += minus;
    if (!parse_digits(&text, &value) || *text != '\0' || value > INT64_MAX)
        return false;
    *out = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

bool tern_base_parse_size(const char *text, uint64_t *out)
{
    static const char suffixes[] = "KMGT";
    const char       *suffix;
    uint64_t          value;
    unsigned          shift = 0;

    if (!parse_digits(&text, &value))
        return false;
    if (*text != '\0') {
        suffix = strchr(suffixes, *text);
        if (suffix == NULL || text[1] != '\0')
            return false;
        shift = 10u * (unsigned)(suffix - suffixes + 1);
    }
    if (value > UINT64_MAX >> shift)
        return false;
    *out = value << shift;
    return true;
}

bool tern_base_parse_seconds(const char *text, double *out)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* its decimal separator is a point */
    double   value;
    char    *end;
    bool     good;

    if (plain == (locale_t)0)
        return false;
    errno = 0;
    value = strtod_l(text, &end, plain);
    /* strtod also accepts blanks, a plus sign and words at the start, and hexadecimal digits. */
    good = *text != '+' && text[strspn(text, "-+.eE0123456789")] == '\0' && strlen(text) < NUMBER_MAX && end != text &&
           *end == '\0' && errno == 0;
    freelocale(plain);
    if (good)
        *out = value;
    return good;
}
