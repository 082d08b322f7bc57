/* message_tern.c: see message.h. Each message is one active message with its tag as the argument. Its handler copies it
 * to where it is waited for, or keeps a copy until it is asked for. Calls block, so at most one message is waited
 * for. */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/job.h"
#include "common/message.h"

#define HANDLER 1

/* A message that came before it was asked for. */
struct kept {
    struct kept *next;
    int          from, tag;
    size_t       bytes;
    char         data[];
};

static struct kept *oldest, **newest = &oldest;

/* What message_receive() waits for. */
static struct wanted {
    int    from, tag;
    size_t bytes;
    void  *data; /* NULL: nothing, or it has come */
} wanted;

static void keep(int from, int tag, const void *data, size_t bytes)
{
    struct kept *kept = malloc(sizeof(*kept) + bytes);

    if (!kept)
        job_fail("no memory for a message");
    *kept = (struct kept){ .from = from, .tag = tag, .bytes = bytes };
    memcpy(kept->data, data, bytes);
    *newest = kept;
    newest = &kept->next;
}

static void take(void *to, size_t room, const void *data, size_t bytes)
{
    if (bytes != room)
        job_fail("a message has another length than was expected");
    memcpy(to, data, bytes);
}

static void arrive(const tern_am_event *event, void *user)
{
    int tag = (int)event->args[0];

    (void)user;
    if (wanted.data && wanted.from == event->source && wanted.tag == tag) {
        take(wanted.data, wanted.bytes, event->payload, event->len);
        wanted.data = NULL;
    } else {
        keep(event->source, tag, event->payload, event->len);
    }
}

void message_open(void)
{
    CHECK(tern_am_register(HANDLER, arrive, NULL));
}

void message_close(void)
{
    if (oldest)
        job_fail("a message was never received");
}

void message_send(int to, int tag, const void *data, size_t bytes)
{
    uint32_t word = (uint32_t)tag;

    CHECK(tern_am_medium(TERN_WORLD, to, HANDLER, &word, 1, data, bytes));
}

/* The payload has been copied when the call returns, and whoever waits for room receives meanwhile. */
void message_start(int to, int tag, const void *data, size_t bytes)
{
    message_send(to, tag, data, bytes);
}

void message_finish(void)
{
}

static bool has_come(void *arg)
{
    (void)arg;
    return !wanted.data;
}

void message_receive(int from, int tag, void *data, size_t bytes)
{
    for (struct kept **at = &oldest; *at; at = &(*at)->next) {
        struct kept *kept = *at;

        if (kept->from != from || kept->tag != tag)
            continue;
        take(data, bytes, kept->data, kept->bytes);
        if (!(*at = kept->next))
            newest = at;
        free(kept);
        return;
    }
    wanted = (struct wanted){ from, tag, bytes, data };
    CHECK(tern_wait_until(TERN_WORLD, has_come, NULL, TERN_FOREVER));
}

static bool any_kept(void *arg)
{
    (void)arg;
    return oldest != NULL;
}

bool message_look(int *from, int *tag)
{
    if (!oldest)
        CHECK(tern_progress(TERN_WORLD));
    if (!oldest)
        return false;
    *from = oldest->from;
    *tag = oldest->tag;
    return true;
}

void message_probe(int *from, int *tag)
{
    if (!oldest)
        CHECK(tern_wait_until(TERN_WORLD, any_kept, NULL, TERN_FOREVER));
    *from = oldest->from;
    *tag = oldest->tag;
}
