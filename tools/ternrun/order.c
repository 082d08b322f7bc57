/* order.c: the start order for the hosts, encoded as bytes.
 *
 * Numbers are little endian, as in the heads of frames. Texts are preceded by their length and followed by a zero byte,
 * so that they can be used in place. Decoding copies the bytes once, checks every length before using it, and never
 * reads past the end, because the sender is not trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "hosts.h"

#define MOST_SECONDS 1e9
#define NS 1e9

enum flag { FLAG_VERBOSE = 1 };

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

unsigned char *run_order_encode(const struct run_order *order, size_t *len)
{
    struct writer writer = { 0 };

    write_number(&writer, order->job, 8);
    write_number(&writer, (uint64_t)order->hosts, 4);
    for (int i = 0; i < order->hosts; i++)
        write_number(&writer, (uint64_t)order->count[i], 4);
    write_number(&writer, (uint64_t)order->on_failure, 4);
    write_number(&writer, (uint64_t)order->binding, 4);
    write_number(&writer, (uint64_t)(order->grace * NS), 8);
    write_number(&writer, order->verbose ? FLAG_VERBOSE : 0, 4);
    write_number(&writer, order->terminals, 4);
    write_number(&writer, order->window.ws_row, 2);
    write_number(&writer, order->window.ws_col, 2);
    write_text(&writer, order->cpu_list != NULL ? order->cpu_list : "");
    write_text(&writer, order->directory);
    write_texts(&writer, order->program);
    write_texts(&writer, order->environment);
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
static int *read_counts(struct reader *reader, int hosts)
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
    return count;
}

static void read_all(struct reader *reader, struct run_order *order)
{
    order->job = read_number(reader, 8, UINT64_MAX);
    order->hosts = (int)read_number(reader, 4, TERN_MAX_RANKS);
    order->count = read_counts(reader, order->hosts);
    order->on_failure = (int)read_number(reader, 4, 1);
    order->binding = (int)read_number(reader, 4, BIND_LIST);
    order->grace = (double)read_number(reader, 8, (uint64_t)(MOST_SECONDS * NS)) / NS;
    order->verbose = (read_number(reader, 4, FLAG_VERBOSE) & FLAG_VERBOSE) != 0;
    order->terminals = (unsigned)read_number(reader, 4, 1u << 1 | 1u << 2);
    order->window.ws_row = (unsigned short)read_number(reader, 2, UINT16_MAX);
    order->window.ws_col = (unsigned short)read_number(reader, 2, UINT16_MAX);
    order->cpu_list = read_text(reader);
    order->directory = read_text(reader);
    order->program = read_texts(reader, 1);
    order->environment = read_texts(reader, 0);
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
    free(order->program);
    free(order->environment);
    free(order->store);
    *order = (struct run_order){ 0 };
}

/* ---- environments ---- */

/* Variables that belong to a host or to a session on it; each host keeps its own. */
static const char *const staying[] = {
    "HOSTNAME",        "HOST",           "DISPLAY", "XAUTHORITY",
    "SSH_*",           "XDG_*",          "DBUS_*",  "WAYLAND_*",
    "INVOCATION_ID",   "JOURNAL_STREAM", "OLDPWD",  "SYSTEMD_EXEC_PID",
    "TERM_SESSION_ID", "WINDOWID",       "_",
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
