/* parse.c: strict parsing of numbers, without overflow.
 *
 * The C library's functions are not used, because they skip blanks, accept signs, hexadecimal numbers, infinities and
 * the decimal point of the locale, and stop silently at unknown characters. The callers check ranges.
 */
#define _GNU_SOURCE 1
#include "base/parse.h"

#include <ctype.h>
#include <string.h>

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

/* Parse the part of a decimal number before the exponent: digits with at most one point. *scale is the power of ten
 * that the position of the point implies. */
static bool parse_mantissa(const char **at, double *value, int64_t *scale)
{
    bool point = false, any = false;

    *value = 0;
    *scale = 0;
    for (;; (*at)++) {
        if (**at == '.' && !point) {
            point = true;
        } else if (isdigit((unsigned char)**at)) {
            any = true;
            *value = *value * 10 + (**at - '0');
            *scale -= point;
        } else {
            return any;
        }
    }
}

/* Return value times ten to the given power. The multiplication is done in steps, because the power alone may
 * overflow. */
static double scale_by_ten(double value, int64_t power)
{
    for (int64_t left = power < 0 ? -power : power; left > 0; left -= 300) {
        double factor = 1;

        for (int64_t i = 0; i < left && i < 300; i++)
            factor *= 10;
        value = power < 0 ? value / factor : value * factor;
    }
    return value;
}

bool tern_base_parse_seconds(const char *text, double *out)
{
    bool    minus = *text == '-';
    double  value;
    int64_t scale, exponent = 0;

    text += minus;
    if (!parse_mantissa(&text, &value, &scale))
        return false;
    if (*text == 'e' || *text == 'E') {
        text += text[1] == '+' && text[2] != '-' ? 2 : 1;
        if (!tern_base_parse_count(text, &exponent) || exponent > 300 || exponent < -300)
            return false;
    } else if (*text != '\0') {
        return false;
    }
    if (scale < -300)
        return false;
    value = scale_by_ten(value, scale + exponent);
    if (!__builtin_isfinite(value))
        return false;
    *out = minus ? -value : value;
    return true;
}
