/* pmi_join.c: joins a job that a launcher other than ternrun started.
 *
 * Every rank publishes a record with the identity of its node and the address of its socket (fd_pass.h). After one
 * fence, each rank looks for the first rank with the same node identity, its host. The host reads all records and
 * thereby knows the shape of the job. It creates the arena and passes its descriptors to the other ranks of its node,
 * its clients. From then on, all information is in the segment.
 */
#include "boot/pmi_join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/options.h"
#include "base/siphash.h"
#include "boot/relay_connect.h"
#include "boot/fd_pass.h"
#include "boot/node.h"
#include "boot/death_watch.h"
#include "boot/process.h"
#include "boot/relay_thread.h"

#define RECORD_KEY "boot"
#define HUB_KEY "hub"
#define OUTPUT_MS 500

static struct tern_pmi *launcher; /* set from a successful open until the rank has left in order; otherwise NULL */

static void record_encode(const struct tern_pmi_record *record, char text[TERN_PMI_VALUE])
{
    size_t at = (size_t)snprintf(text, TERN_PMI_VALUE, "%u,%u,%s,%016llx,", record->layout, record->on_failure,
                                 record->node, (unsigned long long)record->address.name);

    for (int i = 0; i < TERN_FD_PASS_KEY; i++)
        at += (size_t)snprintf(text + at, TERN_PMI_VALUE - at, "%02x", record->address.key[i]);
    snprintf(text + at, TERN_PMI_VALUE - at, ",%016llx", (unsigned long long)record->job);
}

bool tern_boot_pmi_record_decode(const char *text, struct tern_pmi_record *record)
{
    unsigned long long name, job;
    char               key[2 * TERN_FD_PASS_KEY + 1];
    int                end = 0;

    if (sscanf(text, "%u,%u,%127[^,],%16llx,%32[0-9a-f],%16llx%n", &record->layout, &record->on_failure, record->node,
               &name, key, &job, &end) != 6 ||
        text[end] != '\0' || strlen(key) != sizeof(key) - 1)
        return false;
    for (size_t i = 0; i < TERN_FD_PASS_KEY; i++)
        sscanf(key + 2 * i, "%2hhx", &record->address.key[i]);
    record->address.name = name;
    record->job = job;
    return true;
}

static tern_status record_get(struct tern_pmi *pmi, int rank, struct tern_pmi_record *record)
{
    char        text[TERN_PMI_VALUE];
    tern_status st = pmi->ops->get(rank, RECORD_KEY, text);

    if (st != TERN_OK)
        return st;
    if (!tern_boot_pmi_record_decode(text, record))
        return tern_base_fail(TERN_ERR_BOOT, "rank %d published '%.100s', which Tern cannot read", rank, text);
    if (record->layout != TERN_SEGMENT_LAYOUT)
        return tern_base_fail(TERN_ERR_BOOT,
                              "rank %d uses another version of Tern: its shared memory has layout %u, that of rank %d "
                              "%u; link all programs of a job with the same Tern",
                              rank, record->layout, pmi->rank, TERN_SEGMENT_LAYOUT);
    return TERN_OK;
}

/* Publish this rank's record, and find the host, the first rank on the same node, and its record. */
static tern_status find_host(struct tern_pmi *pmi, struct tern_pmi_record *mine, int *host,
                             struct tern_pmi_record *record)
{
    char        text[TERN_PMI_VALUE];
    tern_status st;

    record_encode(mine, text);
    if ((st = pmi->ops->put(RECORD_KEY, text)) != TERN_OK || (st = pmi->ops->fence()) != TERN_OK)
        return st;
    for (int rank = 0; rank < pmi->rank; rank++) {
        if ((st = record_get(pmi, rank, record)) != TERN_OK)
            return st;
        if (strcmp(record->node, mine->node) == 0) {
            *host = rank;
            return TERN_OK;
        }
    }
    *host = pmi->rank;
    *record = *mine;
    return TERN_OK;
}

/* ---- the host ---- */

/* The job as the host sees it. */
struct view {
    struct tern_boot_shape shape;
    int32_t               *node_of;      /* [ranks] */
    char (*node)[TERN_NODE_TEXT];        /* [shape.nodes], allocated for ranks */
    struct tern_fd_pass_client *clients; /* [count], allocated for ranks */
    int                         count;
};

static tern_status view_open(struct view *view, int ranks)
{
    size_t capacity = (size_t)ranks;

    *view = (struct view){ .shape.ranks = ranks };
    view->node_of = calloc(capacity, sizeof(*view->node_of));
    view->node = calloc(capacity, sizeof(*view->node));
    view->clients = calloc(capacity, sizeof(*view->clients));
    view->shape.node_of = view->node_of;
    if (view->node_of != NULL && view->node != NULL && view->clients != NULL)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM, "no memory for tables of %d ranks", ranks);
}

/* Return the number of a node. Nodes are numbered in the order of their first ranks. */
static int number_node(struct view *view, const char *node)
{
    int i = 0;

    while (i < view->shape.nodes && strcmp(view->node[i], node) != 0)
        i++;
    if (i == view->shape.nodes)
        strcpy(view->node[view->shape.nodes++], node);
    return i;
}

static tern_status view_read(struct view *view, struct tern_pmi *pmi)
{
    struct tern_pmi_record record;
    tern_status            st;

    for (int rank = 0; rank < pmi->ranks; rank++) {
        if ((st = record_get(pmi, rank, &record)) != TERN_OK)
            return st;
        if (rank == 0)
            view->shape.job = record.job;
        if (record.on_failure != (unsigned)tern_opt.on_failure)
            return tern_base_fail(TERN_ERR_BOOT,
                                  "TERN_ON_FAILURE differs between the ranks %d and %d; all need the same", pmi->rank,
                                  rank);
        view->node_of[rank] = number_node(view, record.node);
    }
    view->shape.node = view->node_of[pmi->rank];
    for (int rank = pmi->rank + 1; rank < pmi->ranks; rank++)
        if (view->node_of[rank] == view->shape.node)
            view->clients[view->count++] = (struct tern_fd_pass_client){ .rank = rank, .fd = -1 };
    return TERN_OK;
}

/* Store what identifies a rank's process, so that the rank can be watched before it claims its slot. Plain stores
 * suffice, because the clients receive the arena afterwards. */
static void set_process(struct tern_slot *slot, pid_t pid, int launcher_fd)
{
    atomic_init(&slot->pid, (int32_t)pid);
    slot->started = tern_boot_process_start_time(pid);
    slot->launcher_fd = launcher_fd;
}

/* Create the arena and pass it to the clients. */
static tern_status make_arena(struct view *view, const struct tern_pmi *pmi, struct tern_boot *boot)
{
    tern_status st;

    if (view->shape.nodes > 1 && (boot->relay_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot make an eventfd: %s", strerror(errno));
    st = tern_boot_arena_shape(&view->shape, &boot->arena, &boot->huge, &boot->segment);
    if (st != TERN_OK)
        return st;
    fcntl(boot->arena, F_SETFD, FD_CLOEXEC);
    if (boot->huge >= 0)
        fcntl(boot->huge, F_SETFD, FD_CLOEXEC);
    set_process(&boot->segment->slot[pmi->rank], getpid(), pmi->fd);
    for (int i = 0; i < view->count; i++)
        set_process(&boot->segment->slot[view->clients[i].rank], view->clients[i].pid, view->clients[i].launcher_fd);
    return tern_boot_fd_pass_send(view->clients, view->count,
                                  (int[TERN_FD_PASS_FDS]){ boot->arena, boot->huge, boot->relay_fd });
}

static tern_status be_host(struct tern_pmi *pmi, int listen_fd, const struct tern_pmi_record *mine,
                           struct tern_boot *boot)
{
    struct view      view;
    struct tern_cpus cpus;
    tern_status      st = view_open(&view, pmi->ranks);

    tern_boot_cpus_own(&cpus);
    if (st == TERN_OK)
        st = view_read(&view, pmi);
    if (st == TERN_OK)
        st = tern_boot_fd_pass_accept(listen_fd, &mine->address, view.clients, view.count, &cpus);
    if (st == TERN_OK) {
        view.shape.cores = tern_boot_cpus_count(&cpus);
        if ((st = make_arena(&view, pmi, boot)) != TERN_OK)
            tern_boot_fd_pass_send(view.clients, view.count, NULL);
    }
    free(view.node_of);
    free(view.node);
    free(view.clients);
    return st;
}

/* ---- the clients of a host ---- */

static tern_status be_client(struct tern_pmi *pmi, int host, const struct tern_pmi_record *record,
                             struct tern_boot *boot)
{
    int         passed[TERN_FD_PASS_FDS];
    tern_status st = tern_boot_fd_pass_receive(&record->address, host, pmi->rank, pmi->fd, passed);

    if (st != TERN_OK)
        return st;
    boot->arena = passed[0];
    boot->huge = passed[1];
    boot->relay_fd = passed[2];
    return tern_boot_segment_map(boot->arena, pmi->ranks, &boot->segment);
}

static tern_status record_make(struct tern_pmi_record *record, int *listen_fd)
{
    tern_status st;

    *record = (struct tern_pmi_record){ .layout = TERN_SEGMENT_LAYOUT, .on_failure = (unsigned)tern_opt.on_failure };
    if ((st = tern_boot_node_identity(record->node)) != TERN_OK ||
        (st = tern_base_random(&record->job, sizeof(record->job))) != TERN_OK)
        return st;
    record->job |= 1; /* 0 means none */
    return tern_boot_fd_pass_open(listen_fd, &record->address);
}

/* ---- between nodes ---- */

/* Rank 0, the hub: publish the port, accept the connections of the other nodes, and start the relay thread. */
static tern_status be_hub(struct tern_pmi *pmi, struct tern_boot *boot)
{
    char                       text[TERN_PMI_VALUE];
    struct tern_relay_listener listener;
    struct tern_relay_conn    *lines = calloc((size_t)boot->nodes, sizeof(*lines));
    tern_status                st;

    if (lines == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the connections of %d nodes", boot->nodes);
    if ((st = tern_boot_relay_listen(&listener, text)) == TERN_OK) {
        if ((st = pmi->ops->put(HUB_KEY, text)) == TERN_OK && (st = pmi->ops->fence()) == TERN_OK &&
            (st = tern_boot_relay_accept(&listener, boot->nodes, lines)) == TERN_OK)
            st = tern_boot_relay_thread_start(boot, lines);
        close(listener.door);
    }
    free(lines);
    return st;
}

static tern_status be_spoke(struct tern_pmi *pmi, struct tern_boot *boot)
{
    char                   text[TERN_PMI_VALUE];
    tern_status            st = pmi->ops->get(0, HUB_KEY, text);
    struct tern_relay_conn line;

    if (st == TERN_OK && (st = tern_boot_relay_connect(text, boot->node, &line)) == TERN_OK)
        st = tern_boot_relay_thread_start(boot, &line);
    return st;
}

static tern_status connect_nodes(struct tern_pmi *pmi, struct tern_boot *boot)
{
    tern_status st;

    if (boot->nodes == 1)
        return TERN_OK;
    if (boot->rank == 0)
        return be_hub(pmi, boot);
    st = pmi->ops->fence();
    return st == TERN_OK && boot->local == 0 ? be_spoke(pmi, boot) : st;
}

/* ---- joining and leaving ---- */

/* Get the segment of this node, as its host or as a client. *host is the first rank of the node. After an error, boot
 * may have parts that the caller must release. */
static tern_status get_segment(struct tern_pmi *pmi, struct tern_boot *boot, int *host)
{
    struct tern_pmi_record mine, record;
    int                    listen_fd;
    tern_status            st = record_make(&mine, &listen_fd);

    if (st != TERN_OK)
        return st;
    st = find_host(pmi, &mine, host, &record);
    if (st == TERN_OK)
        st = *host == pmi->rank ? be_host(pmi, listen_fd, &mine, boot) : be_client(pmi, *host, &record, boot);
    close(listen_fd);
    return st;
}

tern_status tern_boot_pmi_join(const struct tern_pmi_ops *ops, struct tern_boot *out)
{
    struct tern_boot boot = { .launched = true, .foreign = true, TERN_BOOT_EMPTY };
    struct tern_pmi *pmi;
    int              host;
    tern_status      st = ops->open(&pmi);

    if (st != TERN_OK)
        return st;
    launcher = pmi;
    if ((st = get_segment(pmi, &boot, &host)) == TERN_OK) {
        tern_boot_place(&boot, pmi->rank);
        if ((st = tern_boot_claim(boot.segment, boot.rank)) == TERN_OK &&
            (st = tern_boot_death_watch_start(&boot, pmi, host)) == TERN_OK &&
            (st = connect_nodes(pmi, &boot)) == TERN_OK) {
            *out = boot;
            return TERN_OK;
        }
    }
    tern_boot_death_watch_stop(); /* if it is running */
    tern_boot_release(&boot);
    pmi->ops->close(false);
    return st;
}

void tern_boot_pmi_leave(const struct tern_boot *boot)
{
    bool in_order = atomic_load_explicit(&boot->segment->slot[boot->rank].life, memory_order_relaxed) == TERN_LIFE_LEFT;

    tern_boot_death_watch_stop();
    tern_boot_relay_thread_stop();
    launcher->ops->close(in_order);
    if (in_order)
        launcher = NULL;
}

/* Wait up to OUTPUT_MS until the launcher has read this process's output: launchers may discard unread output when they
 * end a process. */
static void wait_for_output(void)
{
    for (int ms = 0; ms < OUTPUT_MS; ms++) {
        int out = 0, err = 0;

        if ((ioctl(STDOUT_FILENO, FIONREAD, &out) != 0 || out == 0) &&
            (ioctl(STDERR_FILENO, FIONREAD, &err) != 0 || err == 0))
            break;
        poll(NULL, 0, 1);
    }
}

void tern_boot_pmi_end(void)
{
    if (launcher != NULL)
        launcher->ops->end();
}

void tern_boot_pmi_abort(int status)
{
    const struct tern_pmi_ops *ops;
    const char                *boot = getenv("TERN_BOOT");

    if (launcher == NULL && (boot == NULL || *boot == '\0') && tern_boot_pmi_find(&ops) == TERN_OK && ops != NULL &&
        ops->open(&launcher) != TERN_OK)
        launcher = NULL;
    if (launcher == NULL)
        return;
    wait_for_output();
    launcher->ops->abort(status);
}
