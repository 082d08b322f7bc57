/* hosts.c: reads the text of --hosts: names of hosts, with or without a number of ranks, separated by commas.
 *
 * A name is passed to the agent unchanged, so it must not look like an option. Ranks are numbered host by host in the
 * order of the text.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "hosts.h"

#define MAX_HOSTS 4096

/* A buffer for the reason why the text is invalid. */
struct refusal {
    char  *why;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct refusal *refusal, const char *format, ...)
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

static bool check_name(const struct refusal *refusal, const char *text, size_t len)
{
    if (len == 0)
        return refuse(refusal, "a host has no name");
    if (*text == '-')
        return refuse(refusal, "'%.*s' is no name of a host", len < 100 ? (int)len : 100, text);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("._-@%+[]:", text[i]) == NULL)
            return refuse(refusal, "'%.*s' is no name of a host", len < 100 ? (int)len : 100, text);
    if (!brackets_match(text, len))
        return refuse(refusal, "'%.*s' is no name of a host: write an address with colons as [::1]",
                      len < 100 ? (int)len : 100, text);
    return true;
}

/* Parse one host at *at, and advance *at. Its number of ranks is 0 if the text has none. Returns false after writing
 * the reason. */
static bool read_host(const struct refusal *refusal, const char **at, struct run_config *config)
{
    struct run_host *host = &config->host[config->hosts];
    size_t           len = name_length(*at), rest;
    char             number[16];
    int64_t          ranks = 0;

    if (!check_name(refusal, *at, len))
        return false;
    *host =
        (struct run_host){ .name = strndup(*at, len), .err = -1, .channel = { -1, -1, .state = TERN_FRAME_IO_CLOSED } };
    if (host->name == NULL)
        return refuse(refusal, "no memory for the names of the hosts");
    config->hosts++;
    *at += len;
    if (**at == ':') {
        rest = strcspn(++*at, ",");
        snprintf(number, sizeof(number), "%.*s", rest < sizeof(number) ? (int)rest : 0, *at);
        if (!tern_base_parse_count(number, &ranks) || ranks < 1 || ranks > TERN_MAX_NODE_RANKS)
            return refuse(refusal, "host %.100s takes 1 to %d ranks, not '%.*s'", host->name, TERN_MAX_NODE_RANKS,
                          rest < 100 ? (int)rest : 100, *at);
        *at += rest;
    }
    host->ranks = (int)ranks;
    for (int i = 0; i < config->hosts - 1; i++)
        if (strcmp(config->host[i].name, host->name) == 0)
            return refuse(refusal, "host %.100s is listed twice; give it all its ranks at once, as %.100s:4",
                          host->name, host->name);
    return true;
}

/* Distribute -n ranks over hosts without numbers: evenly, with one more on the first hosts. */
static bool spread_evenly(const struct refusal *refusal, int ranks, struct run_config *config)
{
    if (ranks < config->hosts)
        return refuse(refusal, "%d ranks are fewer than %d hosts", ranks, config->hosts);
    for (int i = 0; i < config->hosts; i++)
        config->host[i].ranks = ranks / config->hosts + (i < ranks % config->hosts);
    if (config->host[0].ranks > TERN_MAX_NODE_RANKS)
        return refuse(refusal, "a host takes 1 to %d ranks", TERN_MAX_NODE_RANKS);
    return true;
}

/* Distribute -n ranks over hosts with numbers: each host is filled in order. Hosts that get no rank are dropped. */
static bool fill_in_order(const struct refusal *refusal, int ranks, struct run_config *config)
{
    int left = ranks;

    for (int i = 0; i < config->hosts; i++) {
        struct run_host *host = &config->host[i];

        host->ranks = host->ranks < left ? host->ranks : left;
        left -= host->ranks;
    }
    while (config->hosts > 0 && config->host[config->hosts - 1].ranks == 0)
        free(config->host[--config->hosts].name);
    return left == 0 || refuse(refusal, "-n asks for %d ranks, and the hosts take %d", ranks, ranks - left);
}

/* Decide how many ranks each host gets. Returns false after writing the reason. */
static bool distribute(const struct refusal *refusal, int ranks, struct run_config *config)
{
    int numbered = 0;

    for (int i = 0; i < config->hosts; i++)
        numbered += config->host[i].ranks > 0;
    if (ranks > 0 && numbered == 0)
        return spread_evenly(refusal, ranks, config);
    if (ranks > 0 && numbered < config->hosts)
        return refuse(refusal, "with -n give a number of ranks to every host, or to none");
    if (ranks > 0)
        return fill_in_order(refusal, ranks, config);
    for (int i = 0; i < config->hosts; i++)
        config->host[i].ranks += config->host[i].ranks == 0;
    return true;
}

bool run_hosts_read(const char *text, int ranks, struct run_config *config, char *why, size_t size)
{
    struct refusal refusal = { why, size };
    int64_t        sum = 0;

    config->host = calloc(MAX_HOSTS, sizeof(*config->host));
    if (config->host == NULL)
        return refuse(&refusal, "no memory for the names of the hosts");
    for (;; text++) {
        if (config->hosts == MAX_HOSTS)
            return refuse(&refusal, "more than %d hosts", MAX_HOSTS);
        if (!read_host(&refusal, &text, config))
            return false;
        if (*text == '\0')
            break;
    }
    if (!distribute(&refusal, ranks, config))
        return false;
    for (int i = 0; i < config->hosts; i++) {
        config->host[i].first = (int)sum;
        sum += config->host[i].ranks;
    }
    if (sum > TERN_MAX_RANKS)
        return refuse(&refusal, "a job takes up to %d ranks, not %lld", TERN_MAX_RANKS, (long long)sum);
    config->ranks = (int)sum;
    return true;
}

void run_hosts_free(struct run_config *config)
{
    for (int i = 0; i < config->hosts; i++)
        free(config->host[i].name);
    free(config->host);
}
