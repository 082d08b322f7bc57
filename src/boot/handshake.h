/* handshake.h: how the two sides of a connection between nodes prove that they are of one job, as bytes.
 *
 *     node      HELLO      mark 4, layout 4, node 4, 0 4, the node's random bytes 16, tag 8
 *     rank 0    WELCOME    rank 0's random bytes 16, tag 8
 *     node      CONFIRM    tag 8
 *     rank 0    ACCEPTED   tag 8
 *
 * Numbers are in little endian. Each tag is SipHash-2-4 under the job's key, 64 bits, of all that both sides know by
 * then: which of the four messages it is, the layout, the node, both random parts (that of rank 0 is zero in HELLO),
 * and the address and port of rank 0's side of the connection, which each side takes from its own socket. So a tag
 * says nothing in another connection, from another side or at another step; and the tags of a node that was led to
 * another address than that which rank 0 was called at are refused. The address of the node's side is left out:
 * networks may translate it.
 *
 * HELLO keeps off who does not have the key. It can be replayed, so nothing follows from it: rank 0 takes a node for
 * proved after CONFIRM, a node takes rank 0 for proved after WELCOME and its own place for taken after ACCEPTED.
 * Both derive a key for each direction of the connection from the same facts (frame_mac.h). Reading is a pure
 * function of the bytes and the facts.
 * */
#ifndef TERN_BOOT_HANDSHAKE_H
#define TERN_BOOT_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/siphash.h"
#include "base/status.h"
#include "boot/frame_io.h"

#define TERN_HANDSHAKE_RANDOM 16
#define TERN_HANDSHAKE_HELLO (16 + TERN_HANDSHAKE_RANDOM + 8)
#define TERN_HANDSHAKE_WELCOME (TERN_HANDSHAKE_RANDOM + 8)
#define TERN_HANDSHAKE_TAG 8 /* CONFIRM, and ACCEPTED */

/* What the tags are over. */
struct tern_handshake {
    uint8_t  key[TERN_SIPHASH_KEY]; /* the job's */
    uint32_t node;
    uint32_t port;        /* of rank 0's side, */
    uint8_t  address[16]; /* and its address; of IPv4, the mapped one */
    uint8_t  node_random[TERN_HANDSHAKE_RANDOM], hub_random[TERN_HANDSHAKE_RANDOM];
};

enum tern_handshake_step {
    TERN_HANDSHAKE_IS_HELLO = 1,
    TERN_HANDSHAKE_IS_WELCOME,
    TERN_HANDSHAKE_IS_CONFIRM,
    TERN_HANDSHAKE_IS_ACCEPTED,
    TERN_HANDSHAKE_IS_UP,       /* the key of what the node says, two halves */
    TERN_HANDSHAKE_IS_DOWN = 7, /* the key of what rank 0 says */
};

/* Draw one of the random parts. */
tern_status tern_boot_handshake_draw(uint8_t random[TERN_HANDSHAKE_RANDOM]);

/* Set the address and port of rank 0's side; false: it is neither IPv4 nor IPv6. */
bool tern_boot_handshake_place(struct tern_handshake *greet, const struct sockaddr_storage *hub);

/* The tag of a step. */
uint64_t tern_boot_handshake_tag(const struct tern_handshake *greet, enum tern_handshake_step step);

/* Write HELLO; and read it, where it sets node and node_random and zeroes hub_random. False: it is none. */
void tern_boot_handshake_hello(const struct tern_handshake *greet, uint8_t out[TERN_HANDSHAKE_HELLO]);
bool tern_boot_handshake_read_hello(struct tern_handshake *greet, const uint8_t bytes[TERN_HANDSHAKE_HELLO]);

/* Write WELCOME; and read it, where it sets hub_random. False: it is none. */
void tern_boot_handshake_welcome(const struct tern_handshake *greet, uint8_t out[TERN_HANDSHAKE_WELCOME]);
bool tern_boot_handshake_read_welcome(struct tern_handshake *greet, const uint8_t bytes[TERN_HANDSHAKE_WELCOME]);

/* Write CONFIRM or ACCEPTED; and whether bytes are that. */
void tern_boot_handshake_say(const struct tern_handshake *greet, enum tern_handshake_step step,
                             uint8_t out[TERN_HANDSHAKE_TAG]);
bool tern_boot_handshake_is(const struct tern_handshake *greet, enum tern_handshake_step step,
                            const uint8_t bytes[TERN_HANDSHAKE_TAG]);

/* The keys of the connection, as rank 0 (is_hub) or the node has to use them. */
void tern_boot_handshake_keys(const struct tern_handshake *greet, bool is_hub, struct tern_frame_io_keys *keys);

#endif
