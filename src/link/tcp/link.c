/* link.c: opening and closing the link between nodes over TCP sockets, and its function table. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "link/none.h"
#include "link/tcp/tcp.h"

#define FILES_BESIDE 128 /* descriptors for everything but the connections to peers */

static void link_close(struct tern_link *link)
{
    struct tcp_link *tcp = tern_tcp(link);

    tern_tcp_progress_thread_stop(tcp);
    tern_tcp_connections_close(tcp);
    tern_net_close(&tcp->net);
    tern_tcp_wr_pool_close(tcp);
    tern_tcp_regions_close(tcp);
    free(tcp);
}

/* The key of the job for handshakes, which does not reveal the job's number. */
static void derive_key(struct tcp_link *tcp)
{
    static const char text[2][16] = { "tern link tcp 1", "tern link tcp 2" };
    uint8_t           job[TERN_SIPHASH_KEY] = { 0 };

    tern_base_put_le(job, tcp->net.boot->segment->job, 8);
    for (unsigned half = 0; half < 2; half++)
        tern_base_put_le(tcp->key + 8 * half, tern_base_siphash(job, text[half], sizeof(text[half])), 8);
}

/* The usual soft limit on open files of 1024 exists for programs that call select(), and a large job may exceed it. */
static void raise_limit(const struct tcp_link *tcp)
{
    rlim_t        wanted = (rlim_t)tcp->net.ranks + FILES_BESIDE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted && tcp->net.boot->local == 0)
        tern_base_log(
            TERN_LOG_WARN,
            "link tcp: a rank may have %llu open files and needs up to %llu, one for each of the %d ranks that "
            "it communicates with and %d others; raise the hard limit (ulimit -Hn) on node %d, or LimitNOFILE "
            "of the scheduler's daemon there",
            (unsigned long long)limit.rlim_cur, (unsigned long long)wanted, tcp->net.ranks, FILES_BESIDE,
            tcp->net.boot->node);
}

static void init(struct tcp_link *tcp)
{
    strcpy(tcp->net.name, "tcp");
    tcp->port = tcp->epoll = tcp->progress_thread.base.wake = -1;
    tern_base_list_init(&tcp->conns);
    tern_base_list_init(&tcp->handshakes);
    tern_base_list_init(&tcp->closed);
    tern_base_list_init(&tcp->dirty);
    tern_base_list_init(&tcp->sent);
    tern_base_list_init(&tcp->free_wrs);
}

static tern_status open_messages(struct tcp_link *tcp)
{
    return tern_net_messages_open(&tcp->net);
}

static tern_status link_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    static tern_status (*const step[])(struct tcp_link *) = { tern_tcp_wr_pool_open, tern_tcp_listen,
                                                              tern_tcp_epoll_open,   open_messages,
                                                              tern_tcp_publish,      tern_tcp_progress_thread_start };
    struct tcp_link *tcp = calloc(1, sizeof(*tcp));
    tern_status      st;

    if (!tcp)
        return tern_base_fail(TERN_ERR_NOMEM, "link tcp: no memory for %zu bytes", sizeof(*tcp));
    init(tcp);
    if ((st = tern_net_open(&tcp->net, &tern_tcp_verbs, boot, up)) == TERN_OK) {
        derive_key(tcp);
        raise_limit(tcp);
        tcp->net.delivers = true;
        tcp->net.inject = TCP_WIRE_MESSAGE;
    }
    for (unsigned i = 0; st == TERN_OK && i < sizeof(step) / sizeof(step[0]); i++)
        st = step[i](tcp);
    if (st < 0) {
        link_close((struct tern_link *)tcp);
        return st;
    }
    *out = (struct tern_link *)tcp;
    return TERN_OK;
}

static bool link_reaches(const struct tern_link *link, int peer)
{
    const struct net_link *net = (const struct net_link *)link;

    return peer >= 0 && peer < net->ranks && peer != net->rank; /* the link self serves the rank itself */
}

/* There are no groups: the core implements them with messages, or uses another link that reaches all members. */
const struct tern_link_ops tern_tcp_ops = {
    .name = "tcp",
    .msg = &tern_net_msg_ops,
    .rpc = &tern_net_rpc_ops,
    .open = link_open,
    .close = link_close,
    .reaches = link_reaches,
    .attach = tern_tcp_attach,
    .detach = tern_link_no_detach,
    .grown = tern_link_no_grown,
    .expose = tern_tcp_expose,
    .unexpose = tern_net_unexpose,
    .lane_open = tern_net_lane_open,
    .lane_close = tern_net_lane_close,
    .progress = tern_net_lane_progress,
    .cancel = tern_tcp_cancel,
    .invalidate = tern_link_no_invalidate,
    .serve = tern_link_no_serve, /* the progress thread serves the peers */
    .service_needed = tern_link_no_service_needed,
    .may_sleep = tern_tcp_may_sleep,
};
