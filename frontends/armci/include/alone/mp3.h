/* mp3.h: the macros by which test programs of ARMCI start, end and query the messages of ARMCI, without MPI. */
#ifndef TERN_MP3_H
#define TERN_MP3_H

#include <message.h>

#define MP_INIT(argc, argv) armci_msg_init(&(argc), &(argv))
#define MP_FINALIZE() armci_msg_finalize()
#define MP_BARRIER() armci_msg_barrier()
#define MP_PROCS(size) (*(size) = armci_msg_nproc())
#define MP_MYID(rank) (*(rank) = armci_msg_me())
#define MP_TIMER armci_timer
#define MP_ASSERT(X) X /* evaluates a call; programs that define the macro themselves define it like this */

#define ARMCI_INIT(argc, argv) ARMCI_Init()

#endif
