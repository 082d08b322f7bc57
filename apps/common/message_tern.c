/* message_tern.c: implements message.h with Tern's tagged messages. */
#include <stdlib.h>

#include "common/check.h"
#include "common/job.h"
#include "common/message.h"

static tern_request **requests;
static size_t         count, capacity;

void message_open(void)
{
    count = capacity = 0;
    requests = NULL;
}

void message_close(void)
{
    free(requests);
}

void message_send(int to, int tag, const void *data, size_t bytes)
{
    CHECK(tern_send(TERN_WORLD, to, tag, data, bytes));
}

void message_start(int to, int tag, const void *data, size_t bytes)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 1024;
        requests = realloc(requests, capacity * sizeof(*requests));
        if (!requests)
            job_fail("no memory for requests");
    }
    CHECK(tern_isend(TERN_WORLD, to, tag, data, bytes, &requests[count++]));
}

void message_finish(void)
{
    if (count > 0)
        CHECK(tern_request_wait_all(requests, count, TERN_FOREVER, NULL, NULL));
    count = 0;
}

void message_receive(int from, int tag, void *data, size_t bytes)
{
    tern_request_info info;

    CHECK(tern_recv(TERN_WORLD, from, tag, data, bytes, &info));
    if (info.len != bytes)
        job_fail("a message has another length than was expected");
}

/* Return whether a message arrives before the deadline. */
static bool probe(tern_deadline deadline, int *from, int *tag)
{
    tern_request_info info;
    tern_status       st = tern_probe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, deadline, &info);

    if (st == TERN_PENDING)
        return false;
    CHECK(st);
    *from = info.source;
    *tag = (int)info.tag;
    return true;
}

bool message_look(int *from, int *tag)
{
    return probe(TERN_NOW, from, tag);
}

void message_probe(int *from, int *tag)
{
    probe(TERN_FOREVER, from, tag);
}
