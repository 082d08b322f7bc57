/* keepalive.c: finding connections whose peer's machine does not answer any more.
 *
 * The kernel probes idle connections (keepalive). For a connection with data that the peer has not acknowledged, it
 * retransmits them for a quarter of an hour. The option TCP_USER_TIMEOUT would shorten this, but it also ends the
 * connection to a peer that is alive and has not read for so long, because its process is stopped or computes without a
 * progress thread. So this link asks the kernel from time to time when it last heard from the peer.
 */
#include <netinet/tcp.h>

#include "base/clock.h"
#include "link/tcp/tcp.h"

#define SILENCE_S 20 /* a connection is lost when the peer's machine does not answer for this long */
#define CHECK_NS (SILENCE_S / 4 * 1000000000ll)

void tern_tcp_keepalive_set(int fd)
{
    int one = 1, seconds = SILENCE_S / 4, tries = 3;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
}

/* A peer whose window is full acknowledges all that it has received. */
bool tern_tcp_is_silent(uint32_t unacked, uint32_t retransmits, uint32_t ack_ms, uint32_t data_ms)
{
    return unacked > 0 && retransmits > 0 && ack_ms >= SILENCE_S * 1000u && data_ms >= SILENCE_S * 1000u;
}

static bool is_silent(const struct tcp_conn *conn)
{
    struct tcp_info info = { .tcpi_unacked = 0 };
    socklen_t       len = sizeof(info);

    return getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           tern_tcp_is_silent(info.tcpi_unacked, info.tcpi_retransmits, info.tcpi_last_ack_recv,
                              info.tcpi_last_data_recv);
}

int64_t tern_tcp_keepalive_check(struct tcp_link *tcp)
{
    int64_t now = tern_base_now();

    if (tcp->ups == 0)
        return NET_NEVER;
    if (now < tcp->check_at)
        return tcp->check_at - now;
    tcp->check_at = now + CHECK_NS;
    TERN_LIST_EACH(struct tcp_conn, conn, &tcp->conns, node)
        if (is_silent(conn))
            tern_tcp_lose(tcp, conn, ETIMEDOUT, NULL);
    return CHECK_NS;
}
