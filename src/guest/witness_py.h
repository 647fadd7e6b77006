/* SPDX-License-Identifier: Apache-2.0 */
/* The part of CPython's interface that witness.c uses: functions and layouts that are the same in every CPython from 3.6 to 3.13 (release builds with a GIL,
 * 64 bits), so that one shared object serves all of them. Python's own headers would bind it to one version. */
#ifndef BELLJAR_GUEST_WITNESS_PY_H
#define BELLJAR_GUEST_WITNESS_PY_H

#include <stddef.h>
#include <sys/types.h>

typedef struct object {
	ssize_t refs;
	struct object *type;
} object;

typedef object *(*py_function)(object *self, object *args);
typedef int (*py_tracer)(object *self, object *frame, int what, object *arg);

struct py_method {
	const char *name;
	py_function call;
	int flags;
	const char *doc;
};

struct py_slot {
	int slot;
	void *value;
};

struct py_spec {
	const char *name;
	int size, item_size;
	unsigned flags;
	struct py_slot *slots;
};

struct py_module {
	object head;
	void *init;
	ssize_t index;
	object *copy;
	const char *name, *doc;
	ssize_t size;
	struct py_method *methods;
	struct py_slot *slots;
	void *traverse, *clear, *free;
};

enum { PY_VARARGS = 1, PY_NOARGS = 4, PY_ONE = 8 };
enum { PY_TP_DEALLOC = 52, PY_TP_ITER = 62, PY_TP_ITERNEXT = 63, PY_TP_METHODS = 64, PY_AM_AWAIT = 77 };
enum { PY_FLAGS_DEFAULT = 1 << 18 };
enum { PY_RETURN_EVENT = 3, PY_EVAL_INPUT = 258 };
enum { PY_CO_OPTIMIZED = 1, PY_CO_GENERATOR = 0x20, PY_CO_COROUTINE = 0x80 };

/* Places in a type and, before 3.9, in a frame. */
enum { PY_TYPE_FLAGS = 168, PY_TYPE_DICT = 264, PY_TYPE_MRO = 344, PY_TYPE_VERSION = 384, PY_FRAME_CODE = 32 };
#define PY_FIELD(o, place, kind) (*(kind *)((char *)(o) + (place)))
#define PY_IS_TYPE(o)		 (PY_FIELD((o)->type, PY_TYPE_FLAGS, unsigned long) >> 31 & 1)

void Py_IncRef(object *o);
void Py_DecRef(object *o);
object *PyObject_GetAttrString(object *o, const char *name);
object *PyObject_GenericGetAttr(object *o, object *name);
object *PyObject_Call(object *f, object *args, object *kwargs);
object *PyObject_CallFunctionObjArgs(object *f, ...);
int PyObject_RichCompareBool(object *a, object *b, int op);
object *PyFunction_GetCode(object *f);
object *PyFunction_GetDefaults(object *f);
object *PyFunction_GetKwDefaults(object *f);
object *PyFunction_GetGlobals(object *f);
object *PyMethod_Self(object *m);
object *PyMethod_Function(object *m);
object *PyTuple_Pack(ssize_t n, ...);
ssize_t PyTuple_Size(object *t);
object *PyTuple_GetItem(object *t, ssize_t i);
int PyDict_Next(object *d, ssize_t *at, object **key, object **value);
object *PyDict_GetItem(object *d, object *key);
ssize_t PyList_Size(object *l);
object *PyList_GetItem(object *l, ssize_t i);
object *PyModule_GetDict(object *m);
const char *PyUnicode_AsUTF8(object *s);
object *PyUnicode_FromString(const char *s);
long PyLong_AsLong(object *n);
int PyBytes_AsStringAndSize(object *b, char **data, ssize_t *n);
object *PyBytes_FromStringAndSize(const char *data, ssize_t n);
int PyArg_ParseTuple(object *args, const char *format, ...);
object *PyType_FromSpec(struct py_spec *spec);
object *_PyObject_New(object *type);
void PyObject_Free(void *o);
object *PyModuleDef_Init(struct py_module *def);
object *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Fetch(object **type, object **value, object **tb);
void PyErr_Restore(object *type, object *value, object *tb);
int PyErr_ExceptionMatches(object *e);
void PyErr_SetString(object *e, const char *text);
void PyEval_SetProfile(py_tracer f, object *arg);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);
extern object _Py_NoneStruct, PyFunction_Type, PyCFunction_Type, PyFloat_Type, PyMethod_Type, PyCode_Type, PyDict_Type, PyUnicode_Type;
extern object *PyExc_StopIteration, *PyExc_RuntimeError;

#endif
