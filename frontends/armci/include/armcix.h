/* armcix.h: extensions of ARMCI-MPI: groups by colour, sets of mutexes, and hints about accesses. */
#ifndef TERN_ARMCIX_H
#define TERN_ARMCIX_H

#include <armci.h>
#include <stdint.h> /* programs rely on the header of ARMCI-MPI to include it */

#ifdef __cplusplus
extern "C" {
#endif

/* Groups from a group, collectively over the parent. A process with a negative colour is in no group. */
int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *new_group);
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *new_group);

/* The communicator of all ranks that the library uses, and that of a group. */
void         ARMCIX_Get_world_comm(armci_comm_t *comm);
armci_comm_t armci_group_comm(ARMCI_Group *group);

/* A set of mutexes, with count mutexes at this rank of the group. proc is a rank in the job. */
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;
armcix_mutex_hdl_t                 ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);
int                                ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);
void                               ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
int                                ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc); /* 0: locked */
void                               ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/* Hints about the accesses to an allocation, which old versions of ARMCI-MPI have: a combination of these modes. Tern
 * remembers the hint; it has no effect. ptr is an address of this rank in the allocation. ARMCIX_Mode_set is collective
 * over the group of the allocation, and returns 0. */
enum armcix_access_mode_e { ARMCIX_MODE_ALL = 1, ARMCIX_MODE_CONFLICT_FREE = 2, ARMCIX_MODE_NO_LOAD_STORE = 4 };
int ARMCIX_Mode_set(int new_mode, void *ptr, ARMCI_Group *group);
int ARMCIX_Mode_get(void *ptr);

/* Make progress. */
void ARMCIX_Progress(void);

#ifdef __cplusplus
}
#endif

#endif
