/* notify_create.h: creating and freeing windows. */
#ifndef TERN_NOTIFY_CREATE_H
#define TERN_NOTIFY_CREATE_H

/* The key of the attribute that holds the record of a window. */
extern int tern_notify_keyval __attribute__((visibility("hidden")));

#endif
