/* notify_pmpi_late.c: notify_late.c with the names of MPI, which the library tern-notify-pmpi intercepts. */
#define FORM(name) MPI_##name
#define INTERCEPTED 1
#include "notify_late.c"
