/* ofi_notify.c: the number of network operations of a notified put and of a put with a signal.
 *
 * Promise: where the provider's writes carry completion data, a put that notifies is one operation of the provider, a
 * write, to every rank and in every form; no additional message is sent in either direction, and no read. If the
 * notification does not fit into the completion data, for example a tag of 32 bits with a put of 1 MiB, one more
 * message is sent. A put with a signal of up to 8160 bytes is one message and its response, which is not urgent for the
 * source.
 *
 * The test counts the operations where the link calls libfabric: an endpoint is a table of functions, and the test puts
 * its own functions in front of them.
 *
 * ranks: off, because it counts operations of the network
 * network: 2 4
 * providers: net
 * tcp: off, because it counts calls of libfabric
 * chaos: off, because chaos delays what is counted
 * poor: off, because a poor network needs more than one operation
 * imposed: off, because the layer refuses operations, which are counted
 * hosts: off, because network says it all
 */
#include "job_test.h"

#include "core/job.h"
#include "link/ofi/ofi.h"

#define LONGEST (1u << 20)

static const size_t lengths[] = { 1, 8, 64, 1000, 4096, 16384, 65536 };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

enum form { BLOCKING, EVENT, IMPLICIT, FORMS };

/* The operations that this rank has posted to the provider. */
static struct counts {
    unsigned writes, others;
} counts;

static struct ofi_link  *ofi;
static struct fi_ops_rma rma, *rma_below;
static struct fi_ops_msg msg, *msg_below;

/* ---- counting: all under the link's lock ---- */

static ssize_t count_writemsg(struct fid_ep *ep, const struct fi_msg_rma *what, uint64_t flags)
{
    ssize_t rc = rma_below->writemsg(ep, what, flags);

    counts.writes += rc == 0;
    return rc;
}

static ssize_t other(ssize_t rc)
{
    counts.others += rc == 0;
    return rc;
}

static ssize_t count_readmsg(struct fid_ep *ep, const struct fi_msg_rma *what, uint64_t flags)
{
    return other(rma_below->readmsg(ep, what, flags));
}

static ssize_t count_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, uint64_t addr,
                          uint64_t key, void *context)
{
    return other(rma_below->read(ep, buf, len, desc, from, addr, key, context));
}

static ssize_t count_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to, void *context)
{
    return other(msg_below->send(ep, buf, len, desc, to, context));
}

static ssize_t count_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
    return other(msg_below->inject(ep, buf, len, to));
}

static void counting_begin(void)
{
    ofi = (struct ofi_link *)tern_job.link[tern_job.peer_link[(tern_rank() + 1) % tern_size()]];
    pthread_mutex_lock(&ofi->net.lock);
    rma_below = ofi->endpoint.ep->rma;
    msg_below = ofi->endpoint.ep->msg;
    rma = *rma_below;
    rma.writemsg = count_writemsg;
    rma.readmsg = count_readmsg;
    rma.read = count_read;
    msg = *msg_below;
    msg.send = count_send;
    msg.inject = count_inject;
    ofi->endpoint.ep->rma = &rma;
    ofi->endpoint.ep->msg = &msg;
    pthread_mutex_unlock(&ofi->net.lock);
}

static void counting_end(void)
{
    pthread_mutex_lock(&ofi->net.lock);
    ofi->endpoint.ep->rma = rma_below;
    ofi->endpoint.ep->msg = msg_below;
    pthread_mutex_unlock(&ofi->net.lock);
}

/* Returns the operations posted since the last call, once none waits for space in the provider. */
static struct counts counted(void)
{
    struct counts now;
    bool          waits = true;

    while (waits) {
        OK(tern_progress(TERN_WORLD));
        pthread_mutex_lock(&ofi->net.lock);
        waits = !tern_base_list_empty(&ofi->net.retry);
        now = counts;
        counts = waits ? counts : (struct counts){ 0 };
        pthread_mutex_unlock(&ofi->net.lock);
    }
    return now;
}

/* ---- the puts ---- */

static void put(const struct job_region *r, enum form form, int to, const unsigned char *data, size_t len, uint32_t tag)
{
    uint64_t   at = (uint64_t)tern_rank() * LONGEST;
    tern_event event;

    switch (form) {
    case BLOCKING: OK(tern_put_notify(TERN_WORLD, r->region, to, at, data, len, tag)); break;
    case EVENT:
        OK(tern_put_notify_nb(TERN_WORLD, r->region, to, at, data, len, tag, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    default: OK(tern_put_notify_nbi(TERN_WORLD, r->region, to, at, data, len, tag)); OK(tern_quiet(TERN_WORLD));
    }
}

/* Every rank puts to every other rank, checks its counts before it sends anything else, and checks the data of the
 * others. There are fewer puts than a quarter of a queue, at which the target would return credit. */
static void all_to_all(const struct job_region *r, unsigned char *data, size_t len, uint32_t tag, struct counts each)
{
    unsigned      others = (unsigned)tern_size() - 1, puts = FORMS * others;
    tern_request *request;
    struct counts got;

    OK(tern_notify_create(TERN_WORLD, r->region, TERN_ANY_SOURCE, tag, puts, &request));
    OK(tern_request_start(request));
    job_fill(data, len, (unsigned)tern_rank(), tag);
    OK(tern_barrier(TERN_WORLD));
    counted(); /* the barrier's */
    for (unsigned form = 0; form < FORMS; form++)
        for (unsigned i = 1; i <= others; i++)
            put(r, form, (tern_rank() + (int)i) % tern_size(), data, len, tag);
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    got = counted();
    SAME(got.writes, puts * each.writes);
    SAME(got.others, puts * each.others);
    for (int from = 0; from < tern_size(); from++)
        CHECK(from == tern_rank() || job_put_holds(r->mine + (size_t)from * LONGEST, len, (unsigned)from, tag));
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
}

/* One rank puts to every other rank, with a signal. */
static void signal_all(const struct job_region *r, const unsigned char *data, size_t len, const tern_signal *signal)
{
    unsigned      others = (unsigned)tern_size() - 1;
    struct counts got;

    counted(); /* the barrier's */
    for (unsigned i = 1; i <= others; i++)
        OK(tern_put_signal(TERN_WORLD, r->region, (tern_rank() + (int)i) % tern_size(), 0, data, len, signal));
    got = counted();
    SAME(got.writes, 0);
    SAME(got.others, others);
}

/* One rank after the other, because the targets of signals respond. */
static void signals(const struct job_region *r, unsigned char *data, size_t len)
{
    const tern_signal signal =
        TERN_SIGNAL(.region = r->region, .offset = (uint64_t)tern_size() * LONGEST, .value = 1, .op = TERN_SIGNAL_ADD);
    static uint64_t given;

    for (int from = 0; from < tern_size(); from++) {
        OK(tern_barrier(TERN_WORLD));
        if (from == tern_rank()) {
            job_fill(data, len, (unsigned)from, (unsigned)len);
            signal_all(r, data, len, &signal);
            continue;
        }
        OK(tern_signal_wait(TERN_WORLD, r->region, signal.offset, TERN_EQ, ++given, TERN_FOREVER, NULL));
        CHECK(job_put_holds(r->mine, len, (unsigned)from, (unsigned)len));
    }
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    const struct counts one = { .writes = 1 }, two = { .writes = 1, .others = 1 };
    struct job_region   r;
    unsigned char      *data;

    OK(tern_init());
    data = job_new(LONGEST);
    job_region_make(&r, JOB_HOST, (uint64_t)tern_size() * LONGEST + 64);
    CHECK(job_far((tern_rank() + 1) % tern_size()));
    counting_begin();
    CHECK(ofi->endpoint.data_bits == 64);
    for (size_t i = 0; i < LENGTHS; i++)
        all_to_all(&r, data, lengths[i], i % 2 ? UINT32_MAX - 1 : (uint32_t)i, one);
    all_to_all(&r, data, LONGEST, UINT32_MAX, two);
    signals(&r, data, 8);
    signals(&r, data, 1000);
    signals(&r, data, 8160);
    counting_end();
    job_region_drop(&r);
    free(data);
    OK(tern_finalize());
    return 0;
}
