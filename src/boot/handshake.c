/* handshake.c: the messages of handshake.h, their tags, how they are sent and received, and the session keys derived
 * from them. */
#include "boot/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/bits.h"
#include "boot/segment.h"

#define FACTS (16 + 16 + 2 * TERN_HANDSHAKE_RANDOM)

bool tern_boot_handshake_place(struct tern_handshake *hs, const struct sockaddr *hub)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

    if (hub->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)hub;

        memcpy(hs->address, mapped, sizeof(mapped));
        memcpy(hs->address + sizeof(mapped), &four->sin_addr, 4);
        hs->port = ntohs(four->sin_port);
    } else if (hub->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)hub;

        memcpy(hs->address, &six->sin6_addr, 16);
        hs->port = ntohs(six->sin6_port);
    } else {
        return false;
    }
    return true;
}

uint32_t tern_boot_handshake_port(int fd)
{
    struct sockaddr_storage name;
    socklen_t               len = sizeof(name);
    struct tern_handshake   hs = { .port = 0 };

    if (getsockname(fd, (struct sockaddr *)(void *)&name, &len) == 0)
        tern_boot_handshake_place(&hs, (struct sockaddr *)(void *)&name);
    return hs.port;
}

uint64_t tern_boot_handshake_tag(const struct tern_handshake *hs, enum tern_handshake_step step)
{
    uint8_t text[FACTS];

    tern_base_put_le(text, step, 4);
    tern_base_put_le(text + 4, TERN_SEGMENT_LAYOUT, 4);
    tern_base_put_le(text + 8, hs->node, 4);
    tern_base_put_le(text + 12, hs->port, 4);
    memcpy(text + 16, hs->address, 16);
    memcpy(text + 32, hs->node_random, TERN_HANDSHAKE_RANDOM);
    memcpy(text + 32 + TERN_HANDSHAKE_RANDOM, hs->hub_random, TERN_HANDSHAKE_RANDOM);
    return tern_base_siphash(hs->key, text, sizeof(text));
}

/* Return the number of bytes before the tag in the message of a step. */
static size_t tag_at(enum tern_handshake_step step)
{
    return step == TERN_HANDSHAKE_IS_HELLO     ? TERN_HANDSHAKE_HELLO - TERN_HANDSHAKE_TAG
           : step == TERN_HANDSHAKE_IS_WELCOME ? TERN_HANDSHAKE_WELCOME - TERN_HANDSHAKE_TAG
                                               : 0;
}

size_t tern_boot_handshake_write(const struct tern_handshake *hs, enum tern_handshake_step step, uint8_t *out)
{
    struct tern_handshake facts = *hs;

    if (step == TERN_HANDSHAKE_IS_HELLO) {
        memset(facts.hub_random, 0, TERN_HANDSHAKE_RANDOM);
        tern_base_put_le(out, TERN_SEGMENT_MAGIC, 4);
        tern_base_put_le(out + 4, TERN_SEGMENT_LAYOUT, 4);
        tern_base_put_le(out + 8, hs->node, 4);
        tern_base_put_le(out + 12, 0, 4);
        memcpy(out + 16, hs->node_random, TERN_HANDSHAKE_RANDOM);
    } else if (step == TERN_HANDSHAKE_IS_WELCOME) {
        memcpy(out, hs->hub_random, TERN_HANDSHAKE_RANDOM);
    }
    tern_base_put_le(out + tag_at(step), tern_boot_handshake_tag(&facts, step), TERN_HANDSHAKE_TAG);
    return tag_at(step) + TERN_HANDSHAKE_TAG;
}

bool tern_boot_handshake_read(struct tern_handshake *hs, enum tern_handshake_step step, const uint8_t *bytes)
{
    if (step == TERN_HANDSHAKE_IS_HELLO) {
        if (tern_base_get_le(bytes, 4) != TERN_SEGMENT_MAGIC || tern_base_get_le(bytes + 4, 4) != TERN_SEGMENT_LAYOUT ||
            tern_base_get_le(bytes + 12, 4) != 0)
            return false;
        hs->node = (uint32_t)tern_base_get_le(bytes + 8, 4);
        memcpy(hs->node_random, bytes + 16, TERN_HANDSHAKE_RANDOM);
        memset(hs->hub_random, 0, TERN_HANDSHAKE_RANDOM);
    } else if (step == TERN_HANDSHAKE_IS_WELCOME) {
        memcpy(hs->hub_random, bytes, TERN_HANDSHAKE_RANDOM);
    }
    return tern_base_get_le(bytes + tag_at(step), TERN_HANDSHAKE_TAG) == tern_boot_handshake_tag(hs, step);
}

bool tern_boot_handshake_send(const struct tern_handshake *hs, enum tern_handshake_step step, int fd)
{
    uint8_t bytes[TERN_HANDSHAKE_HELLO];
    size_t  len = tern_boot_handshake_write(hs, step, bytes);

    return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

enum tern_handshake_result tern_boot_handshake_receive(struct tern_handshake *hs, enum tern_handshake_step step, int fd)
{
    size_t  whole = tag_at(step) + TERN_HANDSHAKE_TAG;
    ssize_t got = recv(fd, hs->buf + hs->len, whole - hs->len, MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return TERN_HANDSHAKE_CLOSED;
    hs->len += got > 0 ? (size_t)got : 0;
    if (hs->len < whole)
        return TERN_HANDSHAKE_PENDING;
    hs->len = 0;
    return tern_boot_handshake_read(hs, step, hs->buf) ? TERN_HANDSHAKE_VALID : TERN_HANDSHAKE_INVALID;
}

static void derive(const struct tern_handshake *hs, enum tern_handshake_step first, uint8_t key[TERN_SIPHASH_KEY])
{
    for (unsigned half = 0; half < 2; half++)
        tern_base_put_le(key + (size_t)8 * half, tern_boot_handshake_tag(hs, first + half), 8);
}

void tern_boot_handshake_keys(const struct tern_handshake *hs, bool is_hub, struct tern_frame_io_keys *keys)
{
    derive(hs, TERN_HANDSHAKE_IS_UP, is_hub ? keys->in : keys->out);
    derive(hs, TERN_HANDSHAKE_IS_DOWN, is_hub ? keys->out : keys->in);
}
