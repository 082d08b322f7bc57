/* fompi_attribute.c: groups, names and attributes of windows. */
#include "fompi_fortran.h"

#define FIRST_KEYVAL 16 /* the numbers below are those of predefined attributes */

/* A keyval. Freed keyvals stay in the table until no window uses them. */
struct keyval {
    MPI_Win_delete_attr_function *delete_function;
    tern_fompi_delete_f          *delete_in_fortran; /* instead of delete_function; NULL: the keyval was created in C */
    void                         *extra;
    int                           users; /* windows with this attribute, and the program */
    bool                          freed;
};

/* An attribute of a window. */
struct tern_fompi_attribute {
    int                          keyval;
    void                        *value;
    struct tern_fompi_attribute *next;
};

static struct keyval *keyvals; /* [keyval_count] */
static int            keyval_count;

/* Return the keyval with this number, if the program may use it; otherwise NULL. */
static struct keyval *keyval_of(int number)
{
    int i = number - FIRST_KEYVAL;

    return number >= FIRST_KEYVAL && i < keyval_count && keyvals[i].users > 0 && !keyvals[i].freed ? &keyvals[i] : NULL;
}

static int bad_keyval(const char *call, int number)
{
    return tern_fompi_error(
        MPI_ERR_KEYVAL, call,
        number >= 0 && number <= foMPI_WIN_MODEL ? "the attribute %d is predefined" : "there is no keyval %d", number);
}

int tern_fompi_create_keyval(MPI_Win_delete_attr_function *c, tern_fompi_delete_f *fortran, void *extra,
                             int *win_keyval, const char *call)
{
    struct keyval *more;
    int            i = 0;

    if (win_keyval == NULL)
        return tern_fompi_error(MPI_ERR_ARG, call, "the pointer to the keyval is NULL");
    while (i < keyval_count && keyvals[i].users > 0)
        i++;
    if (i == keyval_count) {
        more = realloc(keyvals, ((size_t)keyval_count + 1) * sizeof *more);
        if (more == NULL)
            return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for a keyval");
        keyvals = more;
        keyval_count++;
    }
    keyvals[i] = (struct keyval){ .delete_function = c, .delete_in_fortran = fortran, .extra = extra, .users = 1 };
    *win_keyval = FIRST_KEYVAL + i;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_create_keyval(MPI_Win_copy_attr_function   *win_copy_attr_fn,
                                         MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval,
                                         void *extra_state)
{
    (void)win_copy_attr_fn; /* windows are never copied */
    return tern_fompi_create_keyval(win_delete_attr_fn, NULL, extra_state, win_keyval, __func__);
}

FOMPI_EXPORT int foMPI_Win_free_keyval(int *win_keyval)
{
    struct keyval *keyval = win_keyval != NULL ? keyval_of(*win_keyval) : NULL;

    if (keyval == NULL)
        return bad_keyval(__func__, win_keyval != NULL ? *win_keyval : MPI_KEYVAL_INVALID);
    keyval->freed = true;
    keyval->users--;
    *win_keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* Return the place of an attribute in the list of a window, or the end of the list. */
static struct tern_fompi_attribute **find(struct tern_fompi_win *win, int keyval)
{
    struct tern_fompi_attribute **at = &win->attributes;

    while (*at != NULL && (*at)->keyval != keyval)
        at = &(*at)->next;
    return at;
}

/* Call a delete function of Fortran, whose arguments are copies. */
static int call_delete_in_fortran(const struct tern_fompi_attribute *attribute, const struct keyval *keyval)
{
    MPI_Fint win = MPI_Win_c2f(MPI_WIN_NULL), number = attribute->keyval, error = MPI_SUCCESS;
    MPI_Aint value = (MPI_Aint)attribute->value, extra = (MPI_Aint)keyval->extra;

    keyval->delete_in_fortran(&win, &number, &value, &extra, &error);
    return error;
}

/* Call the delete function of an attribute. */
static int call_delete(const struct tern_fompi_attribute *attribute)
{
    const struct keyval *keyval = &keyvals[attribute->keyval - FIRST_KEYVAL];

    if (keyval->delete_in_fortran != NULL)
        return call_delete_in_fortran(attribute, keyval);
    if (keyval->delete_function == NULL || keyval->delete_function == MPI_WIN_NULL_DELETE_FN)
        return MPI_SUCCESS;
    return keyval->delete_function(MPI_WIN_NULL, attribute->keyval, attribute->value, keyval->extra);
}

/* Delete the attribute at a place in the list. Returns the result of the delete function; the attribute stays if the
 * result is an error. */
static int drop(struct tern_fompi_attribute **at)
{
    struct tern_fompi_attribute *attribute = *at;
    int                          error = call_delete(attribute);

    if (error != MPI_SUCCESS)
        return error;
    keyvals[attribute->keyval - FIRST_KEYVAL].users--;
    *at = attribute->next;
    free(attribute);
    return MPI_SUCCESS;
}

int tern_fompi_drop_attributes(struct tern_fompi_win *win)
{
    int error = MPI_SUCCESS;

    while (win->attributes != NULL && error == MPI_SUCCESS)
        error = drop(&win->attributes);
    return error;
}

FOMPI_EXPORT int foMPI_Win_set_attr(foMPI_Win handle, int win_keyval, void *attribute_val)
{
    struct tern_fompi_win        *win = tern_fompi_win(handle);
    struct keyval                *keyval = keyval_of(win_keyval);
    struct tern_fompi_attribute **at;
    int                           error;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (keyval == NULL)
        return bad_keyval(__func__, win_keyval);
    at = find(win, win_keyval);
    if (*at != NULL) { /* the old value is deleted first */
        error = call_delete(*at);
        if (error == MPI_SUCCESS)
            (*at)->value = attribute_val;
        return error;
    }
    *at = calloc(1, sizeof **at);
    if (*at == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, __func__, "there is no memory for an attribute");
    (*at)->keyval = win_keyval;
    (*at)->value = attribute_val;
    keyval->users++;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_get_attr(foMPI_Win handle, int win_keyval, void *attribute_val, int *flag)
{
    struct tern_fompi_win       *win = tern_fompi_win(handle);
    struct tern_fompi_attribute *attribute;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (attribute_val == NULL || flag == NULL)
        return tern_fompi_error(MPI_ERR_ARG, __func__, "a pointer is NULL");
    *flag = 1;
    switch (win_keyval) {
    case foMPI_WIN_BASE: memcpy(attribute_val, &win->base, sizeof win->base); break;
    case foMPI_WIN_SIZE: memcpy(attribute_val, &win->bytes, sizeof win->bytes); break;
    case foMPI_WIN_DISP_UNIT: *(int *)attribute_val = (int)win->peers[win->rank].unit; break;
    case foMPI_WIN_CREATE_FLAVOR: *(int *)attribute_val = win->flavor; break;
    case foMPI_WIN_MODEL: *(int *)attribute_val = foMPI_WIN_UNIFIED; break;
    default:
        attribute = *find(win, win_keyval);
        *flag = attribute != NULL;
        if (attribute != NULL)
            memcpy(attribute_val, &attribute->value, sizeof attribute->value);
        else if (keyval_of(win_keyval) == NULL)
            return bad_keyval(__func__, win_keyval);
    }
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_delete_attr(foMPI_Win handle, int win_keyval)
{
    struct tern_fompi_win        *win = tern_fompi_win(handle);
    struct tern_fompi_attribute **at;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (keyval_of(win_keyval) == NULL)
        return bad_keyval(__func__, win_keyval);
    at = find(win, win_keyval);
    return *at != NULL ? drop(at) : MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_get_group(foMPI_Win handle, MPI_Group *group)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    MPI_Group              empty = MPI_GROUP_EMPTY;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (group == NULL)
        return tern_fompi_error(MPI_ERR_ARG, __func__, "the pointer to the group is NULL");
    return MPI_Group_union(win->group, empty, group); /* a copy, which the program frees */
}

FOMPI_EXPORT int foMPI_Win_set_name(foMPI_Win handle, const char *win_name)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (win_name == NULL)
        return tern_fompi_error(MPI_ERR_ARG, __func__, "the name is NULL");
    (void)snprintf(win->name, sizeof win->name, "%s", win_name);
    return strlen(win_name) < sizeof win->name
               ? MPI_SUCCESS
               : tern_fompi_error(foMPI_NAME_ABBREVIATED, __func__, "the name is cut off after %zu characters",
                                  sizeof win->name - 1);
}

FOMPI_EXPORT int foMPI_Win_get_name(foMPI_Win handle, char *win_name, int *resultlen)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (win_name == NULL || resultlen == NULL)
        return tern_fompi_error(MPI_ERR_ARG, __func__, "a pointer is NULL");
    *resultlen = (int)strlen(win->name);
    memcpy(win_name, win->name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}
