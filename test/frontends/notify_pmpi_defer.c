/* notify_pmpi_defer.c: notify_unusual_defer.c with the names of MPI, which the library tern-notify-pmpi intercepts. */
#define FORM(name) MPI_##name
#define INTERCEPTED 1
#include "notify_unusual_defer.c"
