/* frame_mac.c: the bytes of an authenticated channel between two nodes.
 *
 * The first byte of the input is the number of frames that the sender makes. The rest is a list of changes that an
 * attacker makes to the bytes in transit, and is then appended to them. Promise: the receiver accepts an unchanged
 * prefix of the frames that were sent and nothing else, and accesses no memory beyond the bytes. */
#include "fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "boot/frame_io.h"

#define FRAMES 8
#define SPACE 65536

static const struct tern_frame_io_keys keys = { .in = { 1 }, .out = { 2 } }, other = { .in = { 2 }, .out = { 1 } };

/* Make the body of frame i, whose length depends on i. */
static uint32_t make_body(uint32_t i, unsigned char *body)
{
    memset(body, (int)('a' + i), i * 3);
    return i * 3;
}

/* Change the bytes once. Returns their number after the change. */
static size_t tamper(unsigned char *bytes, size_t len, const uint8_t act[4])
{
    size_t at = len > 0 ? (size_t)(act[1] | act[2] << 8) % len : 0, run = act[3];

    if (len == 0)
        return 0;
    run = run < len - at ? run : len - at;
    switch (act[0] % 4) {
    case 0: bytes[at] ^= act[3]; return len;
    case 1: memmove(bytes + at, bytes + at + run, len - at - run); return len - run; /* left out */
    case 2:                                                                          /* repeated */
        if (len + run > SPACE)
            return len;
        memmove(bytes + at + run, bytes + at, len - at);
        return len + run;
    default: return at; /* cut off */
    }
}

static void check_taken(struct tern_frame_io *in)
{
    struct tern_frame frame;
    unsigned char     body[3 * FRAMES];
    uint32_t          got = 0;

    while (tern_boot_frame_io_fill(in))
        for (; tern_boot_frame_io_next(in, &frame); got++) {
            MUST(got < FRAMES && frame.kind == TERN_FRAME_SAY && frame.rank == got && frame.value == ~got);
            MUST(frame.len == make_body(got, body) && memcmp(frame.body, body, frame.len) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char bytes[SPACE];
    struct tern_frame_io out, in;
    uint8_t              count, acts, act[4];
    unsigned char        body[3 * FRAMES];
    ssize_t              len;
    int                  pair[2], way[2];

    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, way) == 0);
    tern_boot_frame_io_open(&out, pair[0], pair[0]);
    tern_boot_frame_io_open(&in, way[1], way[1]);
    tern_boot_frame_io_seal(&out, &keys);
    tern_boot_frame_io_seal(&in, &other);
    fuzz_take(&data, &size, &count, 1);
    fuzz_take(&data, &size, &acts, 1);
    for (uint32_t i = 0; i < count % (FRAMES + 1u); i++)
        tern_boot_frame_io_send(&out, &(struct tern_frame){ TERN_FRAME_SAY, i, ~i, make_body(i, body), body });
    len = recv(pair[1], bytes, sizeof(bytes), MSG_DONTWAIT);
    len = len < 0 ? 0 : len;
    for (int i = 0; i < acts % 8; i++) {
        fuzz_take(&data, &size, act, sizeof(act));
        len = (ssize_t)tamper(bytes, (size_t)len, act);
    }
    MUST(send(way[0], bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len);
    if (size > 0 && size < SPACE)
        MUST(send(way[0], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size);
    close(way[0]);
    check_taken(&in);
    tern_boot_frame_io_close(&out);
    tern_boot_frame_io_close(&in);
    close(pair[1]);
    return 0;
}
