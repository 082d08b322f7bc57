/* order.c: the orders for the hosts, encoded as bytes: what to start, which other hosts to call, and which signal to
 * send.
 *
 * Numbers are little endian, as in the heads of frames. Texts are preceded by their length and followed by a zero byte,
 * so that they can be used in place. Decoding copies the bytes once, checks every length before using it, and never
 * reads past the end, because the sender is not trusted.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"

#define MOST_SECONDS 1e9
#define NS 1e9
#define LEAST_PROGRAM 22 /* bytes of a program: its ranks, two texts without letters, and two numbers of texts */

enum flag { FLAG_VERBOSE = 1, FLAG_SHOW_BINDING = 2 };

/* ---- encoding ---- */

struct writer {
    unsigned char *data;
    size_t         len, size;
    bool           failed; /* out of memory */
};

static unsigned char *grow(struct writer *writer, size_t len)
{
    size_t         size = writer->size > 0 ? writer->size : 4096;
    unsigned char *data;

    while (size - writer->len < len)
        size *= 2;
    data = size > writer->size ? realloc(writer->data, size) : writer->data;
    if (data == NULL) {
        writer->failed = true;
        return NULL;
    }
    writer->data = data;
    writer->size = size;
    writer->len += len;
    return data + writer->len - len;
}

static void write_number(struct writer *writer, uint64_t value, unsigned bytes)
{
    unsigned char *at = writer->failed ? NULL : grow(writer, bytes);

    if (at != NULL)
        tern_base_put_le(at, value, bytes);
}

static void write_text(struct writer *writer, const char *text)
{
    size_t         len = strlen(text);
    unsigned char *at;

    write_number(writer, len, 4);
    at = writer->failed ? NULL : grow(writer, len + 1);
    if (at != NULL)
        memcpy(at, text, len + 1);
}

static void write_texts(struct writer *writer, char *const *text)
{
    uint64_t count = 0;

    while (text[count] != NULL)
        count++;
    write_number(writer, count, 4);
    for (uint64_t i = 0; i < count; i++)
        write_text(writer, text[i]);
}

static void write_program(struct writer *writer, const struct run_program *program)
{
    static char *const none[] = { NULL };

    write_number(writer, (uint64_t)program->ranks, 4);
    write_text(writer, program->directory != NULL ? program->directory : "");
    write_texts(writer, program->words);
    write_texts(writer, program->variables != NULL ? program->variables : none);
}

unsigned char *run_order_encode(const struct run_order *order, size_t *len)
{
    struct writer writer = { 0 };

    write_number(&writer, order->job, 8);
    write_number(&writer, (uint64_t)order->hosts, 4);
    for (int i = 0; i < order->hosts; i++)
        write_number(&writer, (uint64_t)order->count[i], 4);
    write_number(&writer, (uint64_t)order->on_failure, 4);
    write_number(&writer, (uint64_t)order->binding, 4);
    write_number(&writer, (uint64_t)order->cores_per_rank, 4);
    write_number(&writer, (uint64_t)(order->grace * NS), 8);
    write_number(&writer, (order->verbose ? FLAG_VERBOSE : 0u) | (order->show_binding ? FLAG_SHOW_BINDING : 0u), 4);
    write_number(&writer, order->terminals, 4);
    write_number(&writer, order->window.ws_row, 2);
    write_number(&writer, order->window.ws_col, 2);
    write_text(&writer, order->cpu_list != NULL ? order->cpu_list : "");
    write_text(&writer, order->directory);
    write_text(&writer, order->prefix != NULL ? order->prefix : "");
    write_text(&writer, order->tool != NULL ? order->tool : "");
    write_text(&writer, order->tool_ranks != NULL ? order->tool_ranks : "");
    write_texts(&writer, order->environment);
    write_number(&writer, (uint64_t)order->programs, 4);
    for (int i = 0; i < order->programs; i++)
        write_program(&writer, &order->program[i]);
    if (writer.failed) {
        free(writer.data);
        return NULL;
    }
    *len = writer.len;
    return writer.data;
}

/* ---- decoding ---- */

struct reader {
    char  *at;
    size_t left;
    bool   failed;
};

static char *take(struct reader *reader, size_t len)
{
    char *at = reader->at;

    if (reader->failed || len > reader->left) {
        reader->failed = true;
        return NULL;
    }
    reader->at += len;
    reader->left -= len;
    return at;
}

/* Read a number. A number greater than most sets failed, and 0 is returned. */
static uint64_t read_number(struct reader *reader, unsigned bytes, uint64_t most)
{
    const char *at = take(reader, bytes);
    uint64_t    value = at != NULL ? tern_base_get_le((const unsigned char *)at, bytes) : 0;

    reader->failed |= value > most;
    return value <= most ? value : 0;
}

static char *read_text(struct reader *reader)
{
    size_t len = read_number(reader, 4, UINT32_MAX);
    char  *at = take(reader, len + 1);

    if (at != NULL && (at[len] != '\0' || strlen(at) != len))
        reader->failed = true;
    return reader->failed ? NULL : at;
}

/* Read a command in front of the program, which is empty or correct. */
static char *read_command(struct reader *reader)
{
    char *text = read_text(reader), why[200];

    reader->failed |= text != NULL && *text != '\0' && !run_wrap_check(text, why, sizeof(why));
    return reader->failed ? NULL : text;
}

/* Read a list of at least the given number of texts. Returns an allocated list terminated by NULL, or NULL with failed
 * set. */
static char **read_texts(struct reader *reader, size_t least)
{
    size_t count = read_number(reader, 4, reader->left / 5); /* each text takes at least five bytes */
    char **text = reader->failed || count < least ? NULL : calloc(count + 1, sizeof(*text));

    if (text == NULL) {
        reader->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count && !reader->failed; i++)
        text[i] = read_text(reader);
    return text;
}

/* Read the number of ranks of each host. Returns an allocated list, or NULL with failed set. */
static int *read_counts(struct reader *reader, int hosts, uint64_t *ranks)
{
    int     *count = reader->failed || hosts < 1 ? NULL : calloc((size_t)hosts, sizeof(*count));
    uint64_t sum = 0;

    if (count == NULL) {
        reader->failed = true;
        return NULL;
    }
    for (int i = 0; i < hosts && !reader->failed; i++) {
        count[i] = (int)read_number(reader, 4, TERN_MAX_NODE_RANKS);
        sum += (uint64_t)count[i];
        reader->failed |= count[i] < 1;
    }
    reader->failed |= sum > TERN_MAX_RANKS;
    *ranks = sum;
    return count;
}

static void read_program(struct reader *reader, struct run_program *program)
{
    program->ranks = (int)read_number(reader, 4, TERN_MAX_RANKS);
    program->directory = read_text(reader);
    program->words = read_texts(reader, 1);
    program->variables = reader->failed ? NULL : read_texts(reader, 0);
    for (char **variable = program->variables; !reader->failed && *variable != NULL; variable++)
        reader->failed |= strchr(*variable, '=') == NULL || **variable == '=';
    reader->failed |= program->ranks < 1;
}

/* Read the programs, which have the given number of ranks together. A program of an order that is invalid may be
 * incomplete. */
static void read_programs(struct reader *reader, struct run_order *order, uint64_t ranks)
{
    int      count = (int)read_number(reader, 4, reader->left / LEAST_PROGRAM);
    uint64_t sum = 0;

    order->program = reader->failed || count < 1 ? NULL : calloc((size_t)count, sizeof(*order->program));
    if (order->program == NULL) {
        reader->failed = true;
        return;
    }
    for (; order->programs < count && !reader->failed; order->programs++) {
        read_program(reader, &order->program[order->programs]);
        sum += (uint64_t)order->program[order->programs].ranks;
    }
    reader->failed |= sum != ranks;
}

static void read_all(struct reader *reader, struct run_order *order)
{
    unsigned flags;
    uint64_t ranks = 0;

    order->job = read_number(reader, 8, UINT64_MAX);
    order->hosts = (int)read_number(reader, 4, TERN_MAX_RANKS);
    order->count = read_counts(reader, order->hosts, &ranks);
    order->on_failure = (int)read_number(reader, 4, 1);
    order->binding = (int)read_number(reader, 4, BIND_LIST);
    order->cores_per_rank = (int)read_number(reader, 4, MAX_CORES_PER_RANK);
    order->grace = (double)read_number(reader, 8, (uint64_t)(MOST_SECONDS * NS)) / NS;
    flags = (unsigned)read_number(reader, 4, FLAG_VERBOSE | FLAG_SHOW_BINDING);
    order->verbose = (flags & FLAG_VERBOSE) != 0;
    order->show_binding = (flags & FLAG_SHOW_BINDING) != 0;
    order->terminals = (unsigned)read_number(reader, 4, 1u << 1 | 1u << 2);
    order->window.ws_row = (unsigned short)read_number(reader, 2, UINT16_MAX);
    order->window.ws_col = (unsigned short)read_number(reader, 2, UINT16_MAX);
    order->cpu_list = read_text(reader);
    order->directory = read_text(reader);
    order->prefix = read_command(reader);
    order->tool = read_command(reader);
    order->tool_ranks = read_text(reader);
    order->environment = read_texts(reader, 0);
    read_programs(reader, order, ranks);
}

bool run_order_decode(const unsigned char *bytes, size_t len, struct run_order *order)
{
    struct run_order got = { .store = malloc(len > 0 ? len : 1) };
    struct reader    reader = { .at = got.store, .left = len, .failed = got.store == NULL };

    if (!reader.failed && len > 0)
        memcpy(got.store, bytes, len);
    read_all(&reader, &got);
    if (!reader.failed && reader.left == 0 && got.job != 0) {
        *order = got;
        return true;
    }
    run_order_free(&got);
    return false;
}

void run_order_free(struct run_order *order)
{
    free((void *)order->count);
    for (int i = 0; i < order->programs; i++) {
        free(order->program[i].words);
        free(order->program[i].variables);
    }
    free(order->program);
    free(order->environment);
    free(order->store);
    *order = (struct run_order){ 0 };
}

/* ---- the hosts behind a node ---- */

unsigned char *run_branch_encode(const struct run_branch_order *order, size_t *len)
{
    struct writer writer = { 0 };

    write_number(&writer, (uint64_t)order->node, 4);
    write_number(&writer, (uint64_t)order->end, 4);
    write_number(&writer, (uint64_t)order->fanout, 4);
    write_text(&writer, order->agent);
    write_text(&writer, order->ternrun);
    write_texts(&writer, order->name);
    if (writer.failed) {
        free(writer.data);
        return NULL;
    }
    *len = writer.len;
    return writer.data;
}

/* Return whether the names can be passed to an agent, and whether there are as many as the numbers say. */
static bool names_fit(const struct run_branch_order *order)
{
    int count = 0;

    for (; order->name[count] != NULL; count++)
        if (*order->name[count] == '\0' || *order->name[count] == '-')
            return false;
    return order->node < order->end && count == order->end - order->node - 1 && count > 0;
}

bool run_branch_decode(const unsigned char *bytes, size_t len, struct run_branch_order *order)
{
    struct run_branch_order got = { .store = malloc(len > 0 ? len : 1) };
    struct reader           reader = { .at = got.store, .left = len, .failed = got.store == NULL };

    if (!reader.failed && len > 0)
        memcpy(got.store, bytes, len);
    got.node = (int)read_number(&reader, 4, TERN_MAX_RANKS);
    got.end = (int)read_number(&reader, 4, TERN_MAX_RANKS);
    got.fanout = (int)read_number(&reader, 4, TERN_MAX_RANKS);
    got.agent = read_text(&reader);
    got.ternrun = read_text(&reader);
    got.name = read_texts(&reader, 1);
    if (!reader.failed && reader.left == 0 && got.fanout > 0 && got.agent[strspn(got.agent, " \t")] != '\0' &&
        strlen(got.ternrun) < PATH_MAX && names_fit(&got)) {
        *order = got;
        return true;
    }
    run_branch_order_free(&got);
    return false;
}

void run_branch_order_free(struct run_branch_order *order)
{
    free(order->name);
    free(order->store);
    *order = (struct run_branch_order){ 0 };
}

/* ---- signals ---- */

bool run_signals_passes(int signal)
{
    return signal == SIGTSTP || signal == SIGCONT || signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGWINCH;
}

bool run_order_read_signal(const struct tern_frame *frame, int *signal, struct winsize *window)
{
    if (frame->value >= NSIG || !run_signals_passes((int)frame->value) ||
        frame->len != (frame->value == SIGWINCH ? RUN_WINDOW_BYTES : 0))
        return false;
    *signal = (int)frame->value;
    if (*signal == SIGWINCH) {
        window->ws_row = (unsigned short)tern_base_get_le(frame->body, 2);
        window->ws_col = (unsigned short)tern_base_get_le(frame->body + 2, 2);
    }
    return true;
}

/* ---- environments ---- */

/* Variables that belong to a host or to a session on it; each host keeps its own. */
static const char *const staying[] = {
    "HOSTNAME",        "HOST",           "DISPLAY", "XAUTHORITY",
    "SSH_*",           "XDG_*",          "DBUS_*",  "WAYLAND_*",
    "INVOCATION_ID",   "JOURNAL_STREAM", "OLDPWD",  "SYSTEMD_EXEC_PID",
    "TERM_SESSION_ID", "WINDOWID",       "_",       "SLURMD_*",
    "SLURM_NODEID",
};

bool run_order_stays(const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (size_t i = 0; i < sizeof(staying) / sizeof(staying[0]); i++) {
        size_t known = strlen(staying[i]);

        if (staying[i][known - 1] == '*' ? len >= known - 1 && strncmp(variable, staying[i], known - 1) == 0
                                         : len == known && strncmp(variable, staying[i], len) == 0)
            return true;
    }
    return false;
}
