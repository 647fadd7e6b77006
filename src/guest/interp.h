/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter that we are loaded into: its functions, looked up by name. */
#ifndef BELLJAR_GUEST_INTERP_H
#define BELLJAR_GUEST_INTERP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define FILE_INPUT 257 /* Py_file_input */

typedef void object;

/* Nothing of Python's is linked or assumed: all of these have been there since 3.8. */
extern struct interp {
	int (*PySys_AddAuditHook)(int (*)(const char *, object *, void *), void *);
	object *(*PyImport_ImportModule)(const char *);
	object *(*PyImport_AddModule)(const char *);
	object *(*PyImport_GetModuleDict)(void);
	object *(*PyModule_GetDict)(object *);
	int (*PyDict_SetItemString)(object *, const char *, object *);
	object *(*PyDict_GetItemString)(object *, const char *);
	int (*PyDict_DelItemString)(object *, const char *);
	object *(*PyDict_GetItem)(object *, object *);
	int (*PyDict_SetItem)(object *, object *, object *);
	int (*PyDict_Contains)(object *, object *);
	object *(*PyDict_New)(void);
	ssize_t (*PyDict_Size)(object *);
	int (*PyDict_DelItem)(object *, object *);
	object *(*PyDict_Copy)(object *);
	object *(*PyDict_Keys)(object *);
	int (*PyDict_Next)(object *, ssize_t *, object **, object **);
	void (*PyDict_Clear)(object *);
	object *(*PyObject_GetAttrString)(object *, const char *);
	object *(*PyObject_CallMethod)(object *, const char *, const char *, ...);
	object *(*PyObject_CallFunction)(object *, const char *, ...);
	int (*PyObject_IsInstance)(object *, object *);
	int (*PyObject_IsTrue)(object *);
	object *(*PyUnicode_DecodeFSDefault)(const char *);
	object *(*PyUnicode_AsUTF8String)(object *);
	object *(*PyObject_Str)(object *);
	char *(*PyBytes_AsString)(object *);
	object *(*PyBytes_FromString)(const char *);
	object *(*PyBytes_FromStringAndSize)(const char *, ssize_t);
	object *(*PyCFunction_NewEx)(void *, object *, object *);
	object *(*PyTuple_Pack)(ssize_t, ...);
	int (*PyArg_ParseTuple)(object *, const char *, ...);
	object *(*PyList_New)(ssize_t);
	int (*PyList_Append)(object *, object *);
	ssize_t (*PyList_Size)(object *);
	object *(*PyList_GetItem)(object *, ssize_t);
	int (*PyList_SetItem)(object *, ssize_t, object *);
	object *(*PySys_GetObject)(const char *);
	int (*PySys_SetObject)(const char *, object *);
	void (*PySys_WriteStderr)(const char *, ...);
	object *(*PyErr_Occurred)(void);
	void (*PyErr_Print)(void);
	void (*PyErr_Clear)(void);
	void (*PyErr_Fetch)(object **, object **, object **);
	void (*PyErr_NormalizeException)(object **, object **, object **);
	void (*PyErr_WriteUnraisable)(object *);
	int (*PyErr_ExceptionMatches)(object *);
	object *(*PyRun_FileExFlags)(FILE *, const char *, int, object *, object *, int, void *);
	object *(*Py_CompileString)(const char *, const char *, int);
	object *(*PyEval_EvalCode)(object *, object *, object *);
	int (*PyFile_WriteObject)(object *, object *, int);
	long (*PyLong_AsLong)(object *);
	long long (*PyLong_AsLongLongAndOverflow)(object *, int *);
	object *(*PyLong_FromLongLong)(long long);
	double (*PyFloat_AsDouble)(object *);
	object *(*PyFloat_FromDouble)(double);
	const char *(*PyUnicode_AsUTF8AndSize)(object *, ssize_t *);
	object *(*PyUnicode_DecodeUTF8)(const char *, ssize_t, const char *);
	ssize_t (*PyBytes_Size)(object *);
	object *(*PyTuple_New)(ssize_t);
	ssize_t (*PyTuple_Size)(object *);
	object *(*PyTuple_GetItem)(object *, ssize_t);
	int (*PyTuple_SetItem)(object *, ssize_t, object *);
	object *(*PyObject_CallFunctionObjArgs)(object *, ...);
	long (*PyImport_GetMagicNumber)(void);
	object *(*PyMarshal_ReadObjectFromString)(const char *, ssize_t);
	object *(*PyObject_Call)(object *, object *, object *);
	int (*PyErr_CheckSignals)(void);
	int (*PyException_SetTraceback)(object *, object *);
	object *(*PyWeakref_NewRef)(object *, object *);
	object *(*PyWeakref_GetObject)(object *);
	ssize_t (*PyGC_Collect)(void);
	void *(*PyObject_Malloc)(size_t);
	void (*PyOS_BeforeFork)(void);
	void (*PyOS_AfterFork_Child)(void);
	void (*Py_IncRef)(object *);
	void (*Py_DecRef)(object *);
	object **PyExc_SystemExit, **PyExc_KeyboardInterrupt;
	object *PyLong_Type, *PyFloat_Type, *PyBool_Type, *PyUnicode_Type, *PyBytes_Type, *PyList_Type, *PyTuple_Type, *PyDict_Type;
	object *_Py_NoneStruct, *_Py_TrueStruct, *_Py_FalseStruct;
} py;

/* Python's own structure for a function in C. */
struct method {
	const char *name;
	object *(*call)(object *, object *);
	int flags;
	const char *doc;
};

#define ARGS_TUPLE  1 /* METH_VARARGS */
#define ARGS_SINGLE 8 /* METH_O */
#define ARGS_FAST   0x80 /* METH_FASTCALL: an array, and how many */

/* In the process of an interpreter: finds all of them. NULL, or the name of one that it does not have. */
const char *interp_find(void);

static inline bool is_none(object *o)
{
	return o == py._Py_NoneStruct;
}

static inline void drop(object *o)
{
	if (o)
		py.Py_DecRef(o);
}

/* For what may fail and does not matter. */
static inline void drop_quietly(object *o)
{
	if (!o)
		py.PyErr_Clear();
	drop(o);
}

/* Whether this is the only thread of the process. */
bool interp_alone(void);
/* NULL, and no error is left. */
object *interp_compile(const char *text, const char *file);
/* What it raises, and no code at all, does not matter. */
void interp_run(object *code, object *globals, object *locals);
/* The names of a module that nobody finds. */
object *interp_names(const char *name);

#endif
