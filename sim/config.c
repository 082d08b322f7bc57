/* config.c: parsing of parameters. The parser is strict: it accepts a value completely or rejects it with an error that
 * names the parameter and its range.
 *
 * Everything is generated from config.def. Constraints between several parameters are checked by the code that uses
 * them: the topology (topology.c) and the traffic (traffic.c).
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum param_type { CHOICE, COUNT, DECIMAL, TEXT };

struct param_row {
    struct sim_param_info info;
    enum param_type       type;
    size_t                offset; /* of the field in struct sim_config */
};

static const struct param_row rows[] = {
#define SIM_PARAM(field, type, fallback, range, section, meaning) \
    { { #field, #type, fallback, range, section, meaning }, type, offsetof(struct sim_config, field) },
#include "config.def"
#undef SIM_PARAM
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define LINE_BYTES 4096

static void *field_of(struct sim_config *config, const struct param_row *row)
{
    return (char *)config + row->offset;
}

static const void *field_in(const struct sim_config *config, const struct param_row *row)
{
    return (const char *)config + row->offset;
}

/* Split "min:max" into its two numbers. */
static void split_range(const char *range, char low[32], char high[32])
{
    const char *colon = strchr(range, ':');

    snprintf(low, 32, "%.*s", (int)(colon - range), range);
    snprintf(high, 32, "%s", colon + 1);
}

static bool set_choice(int *field, const char *range, const char *text)
{
    const char *word = range;
    size_t      len = strlen(text);

    for (int index = 0;; index++) {
        size_t word_len = strcspn(word, "|");

        if (word_len == len && memcmp(word, text, len) == 0) {
            *field = index;
            return true;
        }
        if (word[word_len] == '\0')
            return false;
        word += word_len + 1;
    }
}

static bool set_count(int64_t *field, const char *range, const char *text)
{
    char    low[32], high[32];
    int64_t value, min, max;

    split_range(range, low, high);
    if (!tern_base_parse_count(text, &value) || !tern_base_parse_count(low, &min) ||
        !tern_base_parse_count(high, &max) || value < min || value > max)
        return false;
    *field = value;
    return true;
}

static bool set_decimal(double *field, const char *range, const char *text)
{
    char   low[32], high[32];
    double value, min, max;

    split_range(range, low, high);
    if (!tern_base_parse_seconds(text, &value) || !tern_base_parse_seconds(low, &min) ||
        !tern_base_parse_seconds(high, &max) || value < min || value > max)
        return false;
    *field = value;
    return true;
}

static bool set_text(char **field, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return false;
    free(*field);
    *field = copy;
    return true;
}

static bool set_field(struct sim_config *config, const struct param_row *row, const char *text)
{
    void *field = field_of(config, row);

    switch (row->type) {
    case CHOICE: return set_choice(field, row->info.range, text);
    case COUNT: return set_count(field, row->info.range, text);
    case DECIMAL: return set_decimal(field, row->info.range, text);
    case TEXT: return set_text(field, text);
    }
    return false;
}

/* Describe the permitted values of a parameter for an error message or --list. */
static void describe(const struct param_row *row, char *text, size_t size)
{
    char low[32] = "", high[32] = "";

    if (row->type == COUNT || row->type == DECIMAL)
        split_range(row->info.range, low, high);
    switch (row->type) {
    case CHOICE: snprintf(text, size, "one of %s", row->info.range); break;
    case COUNT: snprintf(text, size, "a whole number from %s to %s", low, high); break;
    case DECIMAL: snprintf(text, size, "a decimal number from %s to %s", low, high); break;
    case TEXT: snprintf(text, size, "a text"); break;
    }
}

void sim_config_init(struct sim_config *config)
{
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < ROWS; i++)
        set_field(config, &rows[i], rows[i].info.fallback);
}

void sim_config_free(struct sim_config *config)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].type == TEXT) {
            free(*(char **)field_of(config, &rows[i]));
            *(char **)field_of(config, &rows[i]) = NULL;
        }
    }
}

static tern_status unknown(const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strncasecmp(rows[i].info.name, name, strlen(name)) == 0)
            return tern_base_fail(TERN_ERR_ARG, "%.60s is no parameter; did you mean %s? tern-sim --list shows all",
                                  name, rows[i].info.name);
    }
    return tern_base_fail(TERN_ERR_ARG, "%.60s is no parameter; tern-sim --list shows all", name);
}

tern_status sim_config_set(struct sim_config *config, const char *name, const char *value)
{
    char allowed[160];

    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].info.name, name) != 0)
            continue;
        if (set_field(config, &rows[i], value))
            return TERN_OK;
        describe(&rows[i], allowed, sizeof(allowed));
        return tern_base_fail(TERN_ERR_ARG, "%s=%.100s cannot be used; allowed is %s (default %s)", name, value,
                              allowed, rows[i].info.fallback);
    }
    return unknown(name);
}

/* Remove blanks at both ends of text, in place, and return the new start. */
static char *trim(char *text)
{
    size_t len;

    while (isspace((unsigned char)*text))
        text++;
    len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    return text;
}

tern_status sim_config_assign(struct sim_config *config, const char *text)
{
    char  copy[LINE_BYTES], *equals;
    char *name, *value;

    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
        return tern_base_fail(TERN_ERR_ARG, "'%.40s...' is too long: name=value has at most %d bytes", text,
                              LINE_BYTES - 1);
    equals = strchr(copy, '=');
    if (equals == NULL)
        return tern_base_fail(TERN_ERR_ARG, "'%.100s' is not name=value; tern-sim --list shows the names", text);
    *equals = '\0';
    name = trim(copy);
    value = trim(equals + 1);
    return sim_config_set(config, name, value);
}

tern_status sim_config_read(struct sim_config *config, const char *path)
{
    char        line[LINE_BYTES];
    tern_status status = TERN_OK;
    FILE       *file = fopen(path, "re");

    if (file == NULL)
        return tern_base_fail(TERN_ERR_ARG, "the configuration file %s cannot be read: %s", path, strerror(errno));
    for (unsigned number = 1; status == TERN_OK && fgets(line, sizeof(line), file) != NULL; number++) {
        line[strcspn(line, "#\n")] = '\0';
        if (*trim(line) == '\0')
            continue;
        status = sim_config_assign(config, line);
        if (status != TERN_OK)
            tern_base_fail(status, "%.150s, line %u: %.300s", path, number, tern_base_detail());
    }
    if (status == TERN_OK && ferror(file))
        status = tern_base_fail(TERN_ERR_ARG, "reading the configuration file %s failed: %s", path, strerror(errno));
    fclose(file);
    return status;
}

size_t sim_config_count(void)
{
    return ROWS;
}

struct sim_param_info sim_config_row(size_t i)
{
    return rows[i].info;
}

static void choice_word(const char *range, int index, char *text, size_t size)
{
    for (; index > 0; index--)
        range += strcspn(range, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(range, "|"), range);
}

void sim_config_value(const struct sim_config *config, size_t i, char *text, size_t size)
{
    const void *field = field_in(config, &rows[i]);

    switch (rows[i].type) {
    case CHOICE: choice_word(rows[i].info.range, *(const int *)field, text, size); break;
    case COUNT: snprintf(text, size, "%" PRId64, *(const int64_t *)field); break;
    case DECIMAL: snprintf(text, size, "%.10g", *(const double *)field); break;
    case TEXT: snprintf(text, size, "%s", *(char *const *)field); break;
    }
}

/* Print a text in indented lines of at most width bytes. */
static void print_wrapped(FILE *to, const char *text, size_t indent, size_t width)
{
    while (*text != '\0') {
        size_t len = strlen(text);

        if (len > width) {
            for (len = width; len > 0 && text[len] != ' ';)
                len--;
            len = len > 0 ? len : width;
        }
        fprintf(to, "%*s%.*s\n", (int)indent, "", (int)len, text);
        text += len;
        while (*text == ' ')
            text++;
    }
}

void sim_config_list(FILE *to)
{
    const char *section = "";
    char        allowed[160];

    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(section, rows[i].info.section) != 0) {
            section = rows[i].info.section;
            fprintf(to, "%s%s\n", i > 0 ? "\n" : "", section);
        }
        describe(&rows[i], allowed, sizeof(allowed));
        fprintf(to, "  %s=%s  (%s)\n", rows[i].info.name, rows[i].info.fallback, allowed);
        print_wrapped(to, rows[i].info.meaning, 6, 100);
    }
}
