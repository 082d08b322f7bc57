/* progress.c: reading the sockets, and the threads that do it.
 *
 * A thread of the program that waits in Tern reads the sockets. When no thread does, the progress thread must, so that
 * puts and gets of other ranks complete whatever this rank is doing. The progress thread is an instance of
 * boot/helper.h that sleeps on file descriptors: on all sockets, in epoll_wait(). While the program reads the sockets
 * itself, events would wake the progress thread for nothing. Then the thread naps instead, until the program has not
 * polled for some time (RECENTLY), or is about to sleep and calls tern_tcp_may_sleep().
 *
 * A poll asks epoll which sockets are ready, unless there are so few connections that reading them costs less.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "link/tcp/tcp.h"

#define EVENTS 32               /* number of events that one poll takes from epoll */
#define FEW 2u                  /* connections that are read without asking which are ready */
#define ASK 64u                 /* polls after which epoll is asked nevertheless, for new connections */
#define UNHELPED_SLEEP 100000ll /* ns: without a progress thread, a waiting thread polls again after this time */
#define RETRY_NS 1000000ll      /* operations that wait for something are tried again after this time */
#define RETRY_MS 1
#define RECENTLY 300000ll /* ns: a program that uses the network polls more often than this */
#define LINGER 50000ll /* ns: while the program sleeps, the progress thread polls for so long before it sleeps, too */

/* ---- reading ---- */

bool tern_tcp_watch(struct tcp_link *tcp, int fd, void *data, uint32_t events, bool change)
{
    struct epoll_event event = { .events = events, .data.ptr = data };

    return epoll_ctl(tcp->epoll, change ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

static unsigned handle_event(struct tcp_link *tcp, const struct epoll_event *event)
{
    struct tcp_conn *conn = event->data.ptr;
    unsigned         count = 0;

    if (event->data.ptr == &tcp->port) {
        tern_tcp_accept(tcp);
        return 1;
    }
    if (event->data.ptr == &tcp->progress_thread)
        return 0; /* the progress thread reads this event */
    if (conn->state == TCP_CLOSED)
        return 0;
    if (conn->state != TCP_UP) {
        tern_tcp_shake(tcp, conn);
        return 1;
    }
    if (event->events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        count = tern_tcp_receive(tcp, conn);
    if (event->events & EPOLLOUT && conn->state == TCP_UP) {
        tern_tcp_flush(tcp, conn);
        count++;
    }
    return count;
}

static unsigned read_ready(struct tcp_link *tcp)
{
    struct epoll_event event[EVENTS];
    int                n = epoll_wait(tcp->epoll, event, EVENTS, 0);
    unsigned           count = 0;

    for (int i = 0; i < n; i++)
        count += handle_event(tcp, &event[i]);
    return count;
}

/* Read the sockets of all connections. The list changes only if connections are lost. */
static unsigned read_all(struct tcp_link *tcp)
{
    unsigned count = 0;

    TERN_LIST_EACH(struct tcp_conn, conn, &tcp->conns, node) {
        count += conn->state == TCP_UP ? tern_tcp_receive(tcp, conn) : 0;
        if (conn->state == TCP_UP && conn->blocked)
            tern_tcp_flush(tcp, conn);
    }
    return count;
}

static void flush_dirty(struct tcp_link *tcp)
{
    struct tern_list *node;

    while ((node = tern_base_list_pop(&tcp->dirty)))
        tern_tcp_flush(tcp, TERN_LIST_ITEM(node, struct tcp_conn, dirty));
}

unsigned tern_tcp_drain(struct net_link *net)
{
    struct tcp_link  *tcp = tern_tcp(net);
    struct tern_list *node;
    unsigned          count;
    uint64_t          before = tcp->bytes_sent;
    bool              few = tcp->ups > 0 && tcp->ups <= FEW;

    if (tcp->draining)
        return 0;
    tcp->draining = true;
    if (TERN_UNLIKELY(tcp->deaf))
        tern_tcp_accept(tcp);
    if (++tcp->polls % ASK == 0) {
        tern_tcp_keepalive_check(tcp);
        few = false;
    }
    few = few && tern_base_list_empty(&tcp->handshakes);
    count = few ? read_all(tcp) : read_ready(tcp);
    if (!tern_base_list_empty(&tcp->sent))
        tern_tcp_tell_sent(tcp);
    tern_net_retry(net);
    flush_dirty(tcp);
    if (!tern_base_list_empty(&tcp->sent))
        tern_tcp_tell_sent(tcp);
    tcp->draining = false;
    flush_dirty(tcp);
    if (TERN_UNLIKELY(!tern_base_list_empty(&net->msg.failed) || !tern_base_list_empty(&net->msg.lost)))
        tern_net_rx_judge(net);
    while ((node = tern_base_list_pop(&tcp->closed)))
        tern_tcp_conn_free(TERN_LIST_ITEM(node, struct tcp_conn, node));
    return count + (tcp->bytes_sent != before);
}

void tern_tcp_poll(struct net_link *net)
{
    if (pthread_mutex_trylock(&net->lock) != 0)
        return; /* the thread that holds the lock polls */
    tern_tcp_drain(net);
    pthread_mutex_unlock(&net->lock);
    if (!tern_boot_is_helper) /* that thread polls once, and sleeps */
        tern_boot_activity_mark(&tern_tcp(net)->progress_thread.base.activity);
}

tern_status tern_tcp_epoll_open(struct tcp_link *tcp)
{
    struct tcp_progress_thread *thread = &tcp->progress_thread;

    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    thread->base.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tcp->epoll >= 0 && thread->base.wake >= 0 && tern_tcp_watch(tcp, tcp->port, &tcp->port, EPOLLIN, false) &&
        tern_tcp_watch(tcp, thread->base.wake, thread, EPOLLIN, false))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_SYSTEM, "link tcp: cannot make the descriptors for polling: %s", strerror(errno));
}

/* ---- the progress thread ---- */

static struct tcp_link *tcp_of(struct tcp_progress_thread *thread)
{
    return TERN_LIST_ITEM(thread, struct tcp_link, progress_thread);
}

/* Returns true if the program reads the sockets itself, and is expected to continue. */
static bool is_program_active(struct tcp_link *tcp)
{
    bool recent = tern_boot_activity_recent(&tcp->progress_thread.base.activity, RECENTLY);

    return recent && !tern_net_has_sleepers(&tcp->net);
}

/* Returns true if a thread of the program sleeps in Tern. The helper thread may sleep there while the program
 * computes. */
static bool is_program_asleep(const struct tcp_link *tcp)
{
    const struct tern_slot *slot = &tcp->net.boot->segment->slot[tcp->net.rank];

    /* relaxed: hints */
    return atomic_load_explicit(&slot->sleepers, memory_order_relaxed) >
           (atomic_load_explicit(&slot->service_sleeps, memory_order_relaxed) == TERN_SERVICE_ON_BELL);
}

/* Returns true if the thread is to poll again: it has found something a short time ago, and the core of the program's
 * thread, which sleeps, is free. A request that follows then needs no wake-up. */
static bool lingers(struct tcp_link *tcp)
{
    struct tcp_progress_thread *thread = &tcp->progress_thread;
    const struct tern_segment  *segment = tcp->net.boot->segment;

    return is_program_asleep(tcp) && (int)segment->cores >= tcp->net.boot->locals &&
           tern_base_now() - thread->worked < LINGER;
}

static int64_t progress_poll(struct tern_helper_poller *poller, bool again)
{
    struct tcp_progress_thread *thread = TERN_LIST_ITEM(poller, struct tcp_progress_thread, base.poller);
    struct tcp_link            *tcp = tcp_of(thread);
    int64_t                     ns = TERN_HELPER_EVENT;

    if (again) /* before a nap, which a thread of the program that is about to sleep ends */
        return tern_net_has_sleepers(&tcp->net) ? 0 : TERN_HELPER_NAP;
    if (is_program_active(tcp))
        return TERN_HELPER_NAP;
    /* The thread that has the lock may need this core, so that this thread must not try again and again. */
    pthread_mutex_lock(&tcp->net.lock);
    tern_net_rings_delay();
    if (tern_tcp_drain(&tcp->net) > 0) {
        thread->worked = tern_base_now();
        ns = 0;
    } else if (!tern_base_list_empty(&tcp->net.retry) || tcp->deaf) {
        ns = RETRY_NS;
    }
    pthread_mutex_unlock(&tcp->net.lock);
    tern_net_rings_make_up(&tcp->net);
    return lingers(tcp) ? 0 : ns;
}

/* Sleep until a socket is ready. */
static void progress_sleep(struct tern_helper *helper, int64_t ns)
{
    struct tcp_progress_thread *thread = (struct tcp_progress_thread *)helper;
    struct epoll_event          event;

    epoll_wait(tcp_of(thread)->epoll, &event, 1, ns == TERN_HELPER_EVENT ? -1 : RETRY_MS);
    (void)tern_net_thread_is_woken(&thread->base); /* the caller polls in any case */
}

void tern_tcp_progress_thread_wake(struct tcp_link *tcp)
{
    if (tcp->progress_thread.base.helper.running)
        tcp->progress_thread.base.helper.wake(&tcp->progress_thread.base.helper);
}

tern_status tern_tcp_progress_thread_start(struct tcp_link *tcp)
{
    if (tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    return tern_net_thread_start(&tcp->progress_thread.base, progress_poll, progress_sleep);
}

void tern_tcp_progress_thread_stop(struct tcp_link *tcp)
{
    if (tcp->progress_thread.base.helper.running)
        tern_boot_helper_stop(&tcp->progress_thread.base.helper);
    if (tcp->progress_thread.base.wake >= 0)
        close(tcp->progress_thread.base.wake);
    if (tcp->epoll >= 0)
        close(tcp->epoll);
    tcp->epoll = -1;
}

/* The execution of every request of a peer rings the bell, so a thread may sleep until then. */
int64_t tern_tcp_may_sleep(struct tern_link *link, bool memory)
{
    struct tcp_link            *tcp = tern_tcp(link);
    struct tcp_progress_thread *thread = &tcp->progress_thread;
    int64_t                     due, check;

    (void)memory;
    if (!thread->base.helper.running)
        return UNHELPED_SLEEP;
    tern_boot_bell_ring(&thread->base.bell, &thread->base.naps);
    pthread_mutex_lock(&tcp->net.lock);
    check = tern_tcp_keepalive_check(tcp);
    due = tern_net_due(&tcp->net);
    due = check < due ? check : due;
    if (due > RETRY_NS && (!tern_base_list_empty(&tcp->net.retry) || tcp->deaf))
        due = RETRY_NS; /* no event may tell when the next attempt to connect is due */
    pthread_mutex_unlock(&tcp->net.lock);
    return due;
}
