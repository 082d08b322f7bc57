/* hostlist.c: reads a list of hosts: names, with or without a number of ranks, separated by commas. An item that begins
 * with @ names a file with hosts (hostfile.c).
 *
 * A name is passed to the agent unchanged, so it must not look like an option.
 */
#include "hostlist.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "boot/segment.h"

#define MAX_HOSTS 4096

bool host_refuse(const struct host_refusal *refusal, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(refusal->why, refusal->size, format, args);
    va_end(args);
    return false;
}

/* Return the length of the name at the start of text: up to the comma, or up to the colon before the number of ranks.
 * An address with colons is enclosed in brackets, which may follow a user name. */
static size_t name_length(const char *text)
{
    size_t open = strcspn(text, "[:,"), closed = text[open] == '[' ? open + strcspn(text + open, "],") : 0;

    return closed + strcspn(text + closed, ":,");
}

/* Return whether the brackets of a name, if any, are one pair that encloses its end. */
static bool brackets_match(const char *text, size_t len)
{
    const char *open = memchr(text, '[', len), *close = memchr(text, ']', len);

    if (open == NULL || close == NULL)
        return open == close;
    return close > open + 1 && close == text + len - 1 && memchr(open + 1, '[', (size_t)(close - open - 1)) == NULL;
}

static bool check_name(const struct host_refusal *refusal, const char *text, size_t len)
{
    if (len == 0)
        return host_refuse(refusal, "a host has no name");
    if (*text == '-')
        return host_refuse(refusal, "'%.*s' is no name of a host", len < 100 ? (int)len : 100, text);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("._-@%+[]:", text[i]) == NULL)
            return host_refuse(refusal, "'%.*s' is no name of a host", len < 100 ? (int)len : 100, text);
    if (!brackets_match(text, len))
        return host_refuse(refusal, "'%.*s' is no name of a host: write an address with colons as [::1]",
                           len < 100 ? (int)len : 100, text);
    return true;
}

bool host_list_ranks(const struct host_refusal *refusal, const char *name, const char *text, size_t len, int *ranks)
{
    char    number[16];
    int64_t value;

    snprintf(number, sizeof(number), "%.*s", len < sizeof(number) ? (int)len : 0, text);
    if (!tern_base_parse_count(number, &value) || value < 1 || value > TERN_MAX_NODE_RANKS)
        return host_refuse(refusal, "host %.100s takes 1 to %d ranks, not '%.*s'", name, TERN_MAX_NODE_RANKS,
                           len < 100 ? (int)len : 100, text);
    *ranks = (int)value;
    return true;
}

struct host_entry *host_list_find(const struct host_list *list, const char *name)
{
    for (int i = 0; i < list->hosts; i++)
        if (strcmp(list->host[i].name, name) == 0)
            return &list->host[i];
    return NULL;
}

/* Make space for one more host. The list doubles when its length is a power of two. Returns false without memory. */
static bool grow(struct host_list *list)
{
    size_t             count = (size_t)list->hosts;
    struct host_entry *host;

    if ((count & (count - 1)) != 0)
        return true;
    host = realloc(list->host, (count > 0 ? 2 * count : 1) * sizeof(*host));
    if (host != NULL)
        list->host = host;
    return host != NULL;
}

bool host_list_add(const struct host_refusal *refusal, struct host_list *list, const char *name, int ranks)
{
    if (!check_name(refusal, name, strlen(name)))
        return false;
    if (host_list_find(list, name) != NULL)
        return host_refuse(refusal, "host %.100s is listed twice; give it all its ranks at once, as %.100s:4", name,
                           name);
    if (list->hosts == MAX_HOSTS)
        return host_refuse(refusal, "more than %d hosts", MAX_HOSTS);
    if (!grow(list))
        return host_refuse(refusal, "no memory for the names of the hosts");
    list->host[list->hosts] = (struct host_entry){ .name = strdup(name), .ranks = ranks };
    if (list->host[list->hosts].name == NULL)
        return host_refuse(refusal, "no memory for the names of the hosts");
    list->hosts++;
    return true;
}

bool host_list_word(const struct host_refusal *refusal, const char *text, size_t len, char *name, int *ranks)
{
    size_t name_len = name_length(text);

    if (name_len > len || text[name_len] != ':')
        name_len = len;
    *ranks = 0;
    if (name_len >= HOST_NAME_BYTES)
        return host_refuse(refusal, "'%.100s...' is too long for the name of a host", text);
    memcpy(name, text, name_len);
    name[name_len] = '\0';
    if (!check_name(refusal, name, name_len))
        return false;
    return name_len == len || host_list_ranks(refusal, name, text + name_len + 1, len - name_len - 1, ranks);
}

/* Read one item of the list: a host with or without a number of ranks, or @ and the name of a file. */
static bool read_item(const struct host_refusal *refusal, const char *text, size_t len, struct host_list *list)
{
    char name[HOST_NAME_BYTES], *path;
    int  ranks;
    bool good;

    if (*text != '@')
        return host_list_word(refusal, text, len, name, &ranks) && host_list_add(refusal, list, name, ranks);
    path = strndup(text + 1, len - 1);
    good = path != NULL ? host_list_read_file(refusal, path, false, list)
                        : host_refuse(refusal, "no memory for the name of a file");
    free(path);
    return good;
}

bool host_list_read(const struct host_refusal *refusal, const char *text, struct host_list *list)
{
    for (;;) {
        size_t len = strcspn(text, ",");

        if (!read_item(refusal, text, len, list))
            return false;
        text += len;
        if (*text++ == '\0')
            return true;
    }
}

void host_list_free(struct host_list *list)
{
    for (int i = 0; i < list->hosts; i++)
        free(list->host[i].name);
    free(list->host);
    *list = (struct host_list){ 0 };
}
