/* slurm.c: reads the lists in which Slurm describes the nodes of a job.
 *
 * A list of nodes is separated by commas. A name may contain brackets with numbers and ranges of numbers, which stand
 * for one name each: n[01-03,07]-ib means n01-ib, n02-ib, n03-ib and n07-ib. Numbers have at least as many digits as
 * the first one of their range. A name may contain several brackets; the last one changes fastest. A list of tasks has
 * one number for each node; 4(x3) stands for 4,4,4.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/segment.h"
#include "hostlist.h"

#define MOST_DIGITS 15

/* A name that is being put together. */
struct name {
    char   text[HOST_NAME_BYTES];
    size_t len;
};

static bool refuse_list(const struct host_refusal *refusal, const char *text)
{
    return host_refuse(refusal, "the list of nodes is not understood at '%.100s'", text);
}

/* Read a number at *at and advance *at. Returns the number of digits; 0: there is no usable number. */
static int read_digits(const char **at, unsigned long long *value)
{
    int digits = 0;

    for (*value = 0; isdigit((unsigned char)(*at)[digits]); digits++) {
        if (digits == MOST_DIGITS)
            return 0;
        *value = *value * 10 + (unsigned)((*at)[digits] - '0');
    }
    *at += digits;
    return digits;
}

static bool expand(const struct host_refusal *refusal, struct host_list *list, struct name *name, const char *text);

/* Add the names of one number or range at *at, which text follows behind the bracket, and advance *at. */
static bool expand_range(const struct host_refusal *refusal, struct host_list *list, struct name *name, const char **at,
                         const char *text)
{
    const char        *start = *at;
    size_t             len = name->len;
    unsigned long long low, high;
    int                digits = read_digits(at, &low);

    high = low;
    if (digits == 0 || (**at == '-' && (++*at, read_digits(at, &high) == 0)) || high < low)
        return refuse_list(refusal, start);
    for (unsigned long long number = low; number <= high; number++) {
        name->len = len + (size_t)snprintf(name->text + len, sizeof(name->text) - len, "%0*llu", digits, number);
        if (name->len >= sizeof(name->text))
            return refuse_list(refusal, start);
        if (!expand(refusal, list, name, text))
            return false;
    }
    name->len = len;
    return true;
}

/* Add the names of a bracket at text, behind the name so far. */
static bool expand_bracket(const struct host_refusal *refusal, struct host_list *list, struct name *name,
                           const char *text)
{
    const char *at = text + 1, *behind = strchr(text, ']');

    if (behind == NULL)
        return refuse_list(refusal, text);
    for (;; at++) {
        if (!expand_range(refusal, list, name, &at, behind + 1))
            return false;
        if (at == behind)
            return true;
        if (*at != ',')
            return refuse_list(refusal, at);
    }
}

/* Add the names that text, up to a comma outside of brackets, stands for, behind the name so far. */
static bool expand(const struct host_refusal *refusal, struct host_list *list, struct name *name, const char *text)
{
    size_t len = name->len, plain = strcspn(text, "[,");
    bool   good;

    if (len + plain >= sizeof(name->text))
        return refuse_list(refusal, text);
    memcpy(name->text + len, text, plain);
    name->len += plain;
    name->text[name->len] = '\0';
    good = text[plain] == '[' ? expand_bracket(refusal, list, name, text + plain)
                              : host_list_add(refusal, list, name->text, 1);
    name->len = len;
    return good;
}

/* Return the end of the item at text: a comma outside of brackets, or the end of the text. */
static const char *end_of_item(const char *text)
{
    bool inside = false;

    for (; *text != '\0' && (inside || *text != ','); text++)
        inside = *text == '[' || (inside && *text != ']');
    return text;
}

static bool read_nodes(const struct host_refusal *refusal, const char *text, struct host_list *list)
{
    for (;; text++) {
        struct name name = { .len = 0 };

        if (!expand(refusal, list, &name, text))
            return false;
        text = end_of_item(text);
        if (*text == '\0')
            return true;
    }
}

/* Read 4 or 4(x3) at *at and advance *at. Returns false if it is neither. */
static bool read_tasks(const char **at, int *tasks, unsigned long long *times)
{
    unsigned long long value;

    *times = 1;
    if (read_digits(at, &value) == 0 || value < 1 || value > TERN_MAX_NODE_RANKS)
        return false;
    *tasks = (int)value;
    if (strncmp(*at, "(x", 2) != 0)
        return true;
    *at += 2;
    return read_digits(at, times) > 0 && *times > 0 && *(*at)++ == ')';
}

bool host_list_read_slurm(const struct host_refusal *refusal, const char *nodes, const char *tasks,
                          struct host_list *list)
{
    const char        *at = tasks;
    unsigned long long times;
    int                count, host = 0;

    if (!read_nodes(refusal, nodes, list))
        return false;
    for (; tasks != NULL; at++) {
        if (!read_tasks(&at, &count, &times))
            return host_refuse(refusal, "the list of tasks '%.100s' is not understood", tasks);
        for (; times > 0 && host < list->hosts; times--)
            list->host[host++].ranks = count;
        if (times > 0 || (*at != ',' && *at != '\0') || (*at == '\0' && host < list->hosts))
            return host_refuse(refusal, "the list of tasks '%.100s' does not have a number for each of %d nodes", tasks,
                               list->hosts);
        if (*at == '\0')
            break;
    }
    return true;
}
