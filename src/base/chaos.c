/* chaos.c: strict parsing of the option TERN_CHAOS. Every setting has a name, a range and a default, and may be given
 * at most once. */
#include "base/chaos.h"

#include <stddef.h>
#include <string.h>

#include "base/parse.h"

/* A setting whose value is a plain number. */
struct setting {
    const char *name;
    size_t      field; /* its offset in struct tern_chaos */
    int64_t     max, fallback;
};

static const struct setting settings[] = {
    { "seed", offsetof(struct tern_chaos, seed), INT64_MAX, 0 },
    { "delay", offsetof(struct tern_chaos, delay), TERN_CHAOS_LOOKS, 64 },
    { "again", offsetof(struct tern_chaos, again), TERN_CHAOS_AGAIN, 5 },
    { "stall", offsetof(struct tern_chaos, stall), TERN_CHAOS_LOOKS, 64 },
    { "reorder", offsetof(struct tern_chaos, reorder), 100, 100 },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
#define KILL SETTINGS /* the bit of the setting kill, whose value is not a plain number */
#define LONGEST 64    /* maximum length of one setting in bytes */

static int64_t *field_of(struct tern_chaos *chaos, const struct setting *setting)
{
    return (int64_t *)(void *)((char *)chaos + setting->field);
}

/* Parse the value of the setting kill, RANK@K, and modify its text. */
static tern_status take_kill(char *value, struct tern_chaos *out)
{
    char *at = strchr(value, '@');

    if (at != NULL)
        *at = '\0';
    if (at == NULL || !tern_base_parse_count(value, &out->kill_rank) || !tern_base_parse_count(at + 1, &out->kill_at) ||
        out->kill_rank < 0 || out->kill_rank > INT32_MAX || out->kill_at < 1) {
        if (at != NULL)
            *at = '@';
        return tern_base_fail(TERN_ERR_ARG,
                              "TERN_CHAOS: kill takes RANK@K, the rank and the number of the operation at which it "
                              "dies, counted from 1, not '%.40s'",
                              value);
    }
    return TERN_OK;
}

/* Parse one setting, "name=value", and modify its text. seen has a bit for each setting that was given before. */
static tern_status take_setting(char *text, struct tern_chaos *out, unsigned *seen)
{
    char    *value = strchr(text, '=');
    size_t   i = 0;
    int64_t  number;
    unsigned bit;

    if (value != NULL)
        *value++ = '\0';
    while (i < SETTINGS && strcmp(settings[i].name, text) != 0)
        i++;
    if (value == NULL || (i == SETTINGS && strcmp(text, "kill") != 0))
        return tern_base_fail(
            TERN_ERR_ARG,
            "TERN_CHAOS: '%.40s' is no setting; there are seed=, delay=, again=, stall=, reorder= and "
            "kill=RANK@K, separated by commas, or the one word 'on'",
            text);
    bit = 1u << (i < SETTINGS ? i : KILL);
    if (*seen & bit)
        return tern_base_fail(TERN_ERR_ARG, "TERN_CHAOS: %s is given twice", text);
    *seen |= bit;
    if (i == SETTINGS)
        return take_kill(value, out);
    if (!tern_base_parse_count(value, &number) || number < 0 || number > settings[i].max)
        return tern_base_fail(TERN_ERR_ARG, "TERN_CHAOS: %s takes a whole number from 0 to %lld, not '%.40s'",
                              settings[i].name, (long long)settings[i].max, value);
    *field_of(out, &settings[i]) = number;
    return TERN_OK;
}

tern_status tern_base_chaos_parse(const char *text, struct tern_chaos *out)
{
    struct tern_chaos chaos = { .kill_rank = -1 };
    unsigned          seen = 0;
    tern_status       st = TERN_OK;

    for (size_t i = 0; i < SETTINGS; i++)
        *field_of(&chaos, &settings[i]) = settings[i].fallback;
    if (strcmp(text, "on") != 0) {
        for (bool more = true; more && st == TERN_OK;) {
            char   one[LONGEST];
            size_t len = strcspn(text, ",");

            if (len >= sizeof(one))
                return tern_base_fail(TERN_ERR_ARG, "TERN_CHAOS: '%.40s...' is too long for a setting", text);
            memcpy(one, text, len);
            one[len] = '\0';
            st = take_setting(one, &chaos, &seen);
            more = text[len] == ',';
            text += len + more;
        }
    }
    if (st < 0)
        return st;
    chaos.seeded = seen & 1u; /* bit 0 belongs to the first setting, seed */
    *out = chaos;
    return TERN_OK;
}
