/* options.c: the options, read from the environment.
 *
 * The table of options, their fields, their defaults and the check for misspelt names are generated from options.def. A
 * value is accepted or rejected as a whole, and the locale does not affect how numbers are read. Texts are copied, and
 * the copies live as long as the process, so that a program may change its environment at any time. One thread at a
 * time may load the options; they may be loaded more than once.
 */
#include "base/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/spelling.h"

#define PREFIX "TERN_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

struct tern_options tern_opt;

enum option_type { CHOICE, COUNT, SIZE, SECONDS, TEXT };

struct option_row {
    struct tern_option_info info;
    enum option_type        type;
    void                   *field; /* in tern_opt */
};

static struct option_row rows[] = {
#define TERN_OPTION(field, type, name, fallback, range, meaning) \
    { { name, #type, fallback, range, meaning, fallback, "default" }, type, &tern_opt.field },
#include "base/options.def"
#undef TERN_OPTION
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* A text that is kept until the process ends. Each text is kept once. */
struct kept {
    struct kept *next;
    char         text[];
};

static struct kept *kept_values, *kept_names; /* values in use, and unknown names that have caused a warning */

static const char *kept_find(const struct kept *list, const char *text)
{
    for (; list != NULL; list = list->next)
        if (strcmp(list->text, text) == 0)
            return list->text;
    return NULL;
}

/* Return the kept copy of text, which is created if necessary; NULL: there is no memory. */
static const char *kept_add(struct kept **list, const char *text)
{
    const char  *old = kept_find(*list, text);
    size_t       size = strlen(text) + 1;
    struct kept *item;

    if (old != NULL)
        return old;
    item = malloc(sizeof(*item) + size);
    if (item == NULL)
        return NULL;
    memcpy(item->text, text, size);
    item->next = *list;
    *list = item;
    return item->text;
}

/* ---- values ---- */

static bool set_choice(const struct option_row *row, const char *text)
{
    const char *word = row->info.range;
    size_t      len = strlen(text);
    int         index = 0;

    for (;; word += strcspn(word, "|") + 1, index++) {
        size_t word_len = strcspn(word, "|");

        if (word_len == len && memcmp(word, text, len) == 0) {
            *(int *)row->field = index;
            return true;
        }
        if (word[word_len] == '\0')
            return false;
    }
}

/* The value of an option of type COUNT, SIZE or SECONDS. */
union number {
    int64_t  count;
    uint64_t size;
    double   seconds;
};

static bool read_number(enum option_type type, const char *text, union number *out)
{
    switch (type) {
    case COUNT: return tern_base_parse_count(text, &out->count);
    case SIZE: return tern_base_parse_size(text, &out->size);
    default: return tern_base_parse_seconds(text, &out->seconds);
    }
}

static bool is_within(enum option_type type, union number value, union number min, union number max)
{
    switch (type) {
    case COUNT: return value.count >= min.count && value.count <= max.count;
    case SIZE: return value.size >= min.size && value.size <= max.size;
    default: return value.seconds >= min.seconds && value.seconds <= max.seconds;
    }
}

static bool set_number(const struct option_row *row, const char *text)
{
    const char  *range = row->info.range, *colon = strchr(range, ':'); /* "min:max" */
    char         low[32];
    union number value, min, max;

    snprintf(low, sizeof(low), "%.*s", (int)(colon - range), range);
    if (!read_number(row->type, text, &value) || !read_number(row->type, low, &min) ||
        !read_number(row->type, colon + 1, &max) || !is_within(row->type, value, min, max))
        return false;
    memcpy(row->field, &value, sizeof(value));
    return true;
}

/* Set the field of a row from text, which lives as long as the process. Returns false if the option cannot have this
 * value. */
static bool set_field(const struct option_row *row, const char *text)
{
    switch (row->type) {
    case CHOICE: return set_choice(row, text);
    case TEXT: *(const char **)row->field = text; return true;
    default: return set_number(row, text);
    }
}

/* Write which values the option accepts, for an error text. */
static void describe(const struct option_row *row, char *text, size_t size)
{
    const char *range = row->info.range, *high;
    int         low = (int)strcspn(range, ":"); /* only the range of a number has a colon */

    high = range[low] == ':' ? range + low + 1 : "";
    switch (row->type) {
    case CHOICE: snprintf(text, size, "one of %s", range); break;
    case COUNT: snprintf(text, size, "a whole number from %.*s to %s", low, range, high); break;
    case SIZE:
        snprintf(text, size, "bytes from %.*s to %s, with an optional suffix K, M, G or T", low, range, high);
        break;
    case SECONDS: snprintf(text, size, "a decimal number of seconds from %.*s to %s", low, range, high); break;
    case TEXT: snprintf(text, size, "a text"); break;
    }
}

static tern_status refuse(const struct option_row *row, const char *value)
{
    char allowed[128];

    describe(row, allowed, sizeof(allowed));
    return tern_base_fail(TERN_ERR_ARG, "%s=%.100s cannot be used; allowed is %s, and the default is '%s'",
                          row->info.name, value, allowed, row->info.fallback);
}

/* Return the value of a variable in environment; NULL: the variable is not set. */
static const char *lookup(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

/* Set a row to its default and then, if the variable is set, to the value in the environment. */
static tern_status load_row(struct option_row *row, char *const *environment)
{
    const char *value = lookup(environment, row->info.name);
    const char *copy;

    row->info.value = row->info.fallback;
    row->info.source = "default";
    set_field(row, row->info.fallback);
    if (value == NULL || *value == '\0') /* an empty value selects the default, as if the variable were not set */
        return TERN_OK;
    copy = kept_add(&kept_values, value);
    if (copy == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to keep the value of %s (%zu bytes)", row->info.name,
                              strlen(value) + 1);
    if (!set_field(row, copy))
        return refuse(row, value);
    row->info.value = copy;
    row->info.source = "environment";
    return TERN_OK;
}

/* ---- unknown names ---- */

/* Return the name of the option whose spelling is closest to name, which starts with PREFIX; NULL: no option is
 * similar. TERN_BOOT, which only ternrun sets, is never suggested. */
static const char *nearest(const char *name)
{
    const char *best = NULL;
    size_t      least = SIZE_MAX;

    for (size_t i = 0; i < ROWS; i++) {
        const char *word = rows[i].info.name + PREFIX_LEN;
        size_t      edits = tern_base_spelling_edits(name + PREFIX_LEN, word);

        if (rows[i].field != (void *)&tern_opt.boot && edits < least) {
            least = edits;
            best = rows[i].info.name;
        }
    }
    return best;
}

/* Variables that cause no warning: those that ternrun sets for programs and scripts that do not use Tern, and the
 * options of front ends, which read these options themselves. */
static const char *const told[] = { "TERN_RANK",       "TERN_SIZE",         "TERN_LOCAL_RANK",
                                    "TERN_LOCAL_SIZE", "TERN_ARMCI_DOMAIN", "TERN_ARMCI_MEMGET" };

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
        if (strcmp(told[i], name) == 0)
            return true;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].info.name, name) == 0)
            return true;
    return false;
}

static void warn_unknown(const char *entry)
{
    char        name[256];
    const char *near;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
    if (is_known(name) || kept_find(kept_names, name) != NULL)
        return;
    kept_add(&kept_names, name); /* without memory, the warning may be repeated, which does no harm */
    near = nearest(name);
    if (near != NULL)
        tern_base_log(TERN_LOG_WARN, "%s is no option of Tern and is ignored; did you mean %s?", name, near);
    else
        tern_base_log(TERN_LOG_WARN, "%s is no option of Tern and is ignored; tern-info lists all options", name);
}

/* ---- the interface ---- */

tern_status tern_base_options_load(char *const *environment)
{
    tern_status first = TERN_OK, status;
    char        detail[512] = "";

    for (size_t i = 0; i < ROWS; i++) {
        status = load_row(&rows[i], environment);
        if (status != TERN_OK && first == TERN_OK) {
            first = status;
            snprintf(detail, sizeof(detail), "%s", tern_base_detail());
        }
    }
    tern_base_log_set_level((enum tern_log_level)tern_opt.log);
    if (*tern_opt.boot == '\0' && environment != NULL) /* otherwise ternrun has printed the warnings */
        for (; *environment != NULL; environment++)
            if (strncmp(*environment, PREFIX, PREFIX_LEN) == 0)
                warn_unknown(*environment);
    return first == TERN_OK ? TERN_OK : tern_base_fail(first, "%s", detail);
}

size_t tern_base_options_count(void)
{
    return ROWS;
}

struct tern_option_info tern_base_options_row(size_t i)
{
    return rows[i].info;
}
