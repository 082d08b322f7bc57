/* wire.h: the format of the frames that the link tcp sends over a connection, and their decoder. Received bytes are
 * untrusted: tern_tcp_wire_decode() checks a head without any other state, and receive.c then checks it against what is
 * known of the connection.
 *
 * A connection carries a sequence of frames in each direction. They are executed in their order:
 *
 *   MESSAGE       a message of link/net, len bytes
 *   WRITE         len bytes, to be written to memory of the receiver
 *   WRITE_NOTIFY  a WRITE, after which the receiver is notified
 *   WRITE_RPC     a WRITE, after which the receiver serves a small RPC
 *   READ          asks for len bytes of the receiver's memory
 *   DATA          the len bytes that the oldest unanswered READ asked for
 *   REFUSED_READ  the receiver of the oldest unanswered READ refused it
 *   ACK           all WRITEs up to the given number are executed, or refused
 *   REFUSED_WRITE a WRITE was refused
 *
 * A put consists of one or more WRITEs; the last one may be a WRITE_NOTIFY or WRITE_RPC. If a WRITE is refused, the
 * receiver refuses the remaining WRITEs of the same put, so that it is not notified of data that it does not have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/net/wire.h"

#define TCP_WIRE_LAYOUT 2u /* must change with every change below */

enum tcp_kind {
    TCP_MESSAGE = 1,
    TCP_WRITE,
    TCP_WRITE_NOTIFY,
    TCP_READ,
    TCP_DATA,
    TCP_REFUSED_READ,
    TCP_ACK,
    TCP_REFUSED_WRITE,
    TCP_WRITE_RPC,
    TCP_KINDS
};

/* The start of every frame. Little-endian, like every machine that Tern supports. */
struct tcp_head {
    uint32_t kind; /* enum tcp_kind */
    uint32_t len;
    /* ACK: number of WRITEs, counted from the start of the connection. WRITE, WRITE_NOTIFY and WRITE_RPC: the number of
     * the put, chosen by the sender from 0 to TCP_WIRE_PUTS - 1, with TCP_WIRE_CONTINUES in every WRITE of the put but
     * the first. REFUSED_WRITE: the number of the put. */
    uint64_t number;
};
#define TCP_WIRE_PUTS (1ull << 24)
#define TCP_WIRE_CONTINUES (1ull << 63)
_Static_assert(sizeof(struct tcp_head) == 16, "a head has no padding");

/* Follows the head of READ and of all WRITEs: the memory of the receiver. */
struct tcp_remote {
    uint64_t key, offset;
};
_Static_assert(sizeof(struct tcp_remote) == 16, "a remote address has no padding");

/* Follows the remote address of WRITE_NOTIFY. */
struct tcp_notify {
    uint32_t tag, zero;
    uint64_t region; /* the owner's number of the region */
    uint64_t bytes;  /* of the whole put */
};
_Static_assert(sizeof(struct tcp_notify) == 24, "a notification has no padding");

/* Follows the remote address of WRITE_RPC. */
struct tcp_rpc {
    uint64_t      region; /* target region of the request, by its owner's name */
    uint32_t      len, zero;
    unsigned char request[TERN_LINK_PUT_RPC_MAX];
};
_Static_assert(sizeof(struct tcp_rpc) == 16 + TERN_LINK_PUT_RPC_MAX, "it has no padding");

#define TCP_WIRE_LONGEST (sizeof(struct tcp_head) + sizeof(struct tcp_remote) + sizeof(struct tcp_rpc))
#define TCP_WIRE_MESSAGE (NET_WIRE_HEAD + NET_WIRE_INLINE_MAX) /* the longest message of link/net */
#define TCP_WIRE_DATA (64u << 20)                              /* the most bytes of a WRITE or READ */

/* A decoded head. */
struct tcp_decoded {
    struct tcp_head   head;
    struct tcp_remote remote;
    struct tcp_notify notify;
    struct tcp_rpc    rpc;
    size_t            bytes; /* size of the head with remote, and notify or rpc; the data follow */
    size_t            data;  /* bytes of data that follow */
};

enum tcp_decode_result { TCP_DECODED, TCP_INCOMPLETE, TCP_INVALID };

/* Decode the head of a frame from the first len received bytes. */
enum tcp_decode_result tern_tcp_wire_decode(const void *bytes, size_t len, struct tcp_decoded *out);

/* Write the head of a frame, with remote, and notify or rpc, as its kind needs them. bytes has space for
 * TCP_WIRE_LONGEST. Returns the number of bytes. */
size_t tern_tcp_wire_encode(unsigned char *bytes, const struct tcp_head *head, const struct tcp_remote *remote,
                            const void *notify_or_rpc);
