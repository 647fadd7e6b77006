/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter that we are loaded into: its functions, looked up by name. */
#include "guest/interp.h"

#include <dirent.h>
#include <dlfcn.h>

struct interp py;

#define NAME(n) { #n, (void **)&py.n }
static const struct {
	const char *name;
	void **at;
} names[] = {
	NAME(PySys_AddAuditHook), NAME(PyImport_ImportModule), NAME(PyImport_AddModule), NAME(PyImport_GetModuleDict), NAME(PyModule_GetDict),
	NAME(PyDict_SetItemString), NAME(PyDict_GetItemString), NAME(PyDict_DelItemString), NAME(PyDict_GetItem), NAME(PyDict_SetItem),
	NAME(PyDict_Contains), NAME(PyDict_New), NAME(PyDict_Size), NAME(PyDict_DelItem), NAME(PyDict_Copy), NAME(PyDict_Keys), NAME(PyDict_Next), NAME(PyDict_Clear), NAME(PyObject_GetAttrString), NAME(PyObject_CallMethod),
	NAME(PyObject_CallFunction), NAME(PyObject_IsInstance), NAME(PyObject_IsTrue), NAME(PyUnicode_DecodeFSDefault), NAME(PyUnicode_AsUTF8String),
	NAME(PyObject_Str), NAME(PyBytes_AsString), NAME(PyBytes_FromString), NAME(PyBytes_FromStringAndSize), NAME(PyCFunction_NewEx), NAME(PyTuple_Pack),
	NAME(PyArg_ParseTuple), NAME(PyList_New), NAME(PyList_Append), NAME(PyList_Size),
	NAME(PyList_GetItem), NAME(PyList_SetItem), NAME(PySys_GetObject), NAME(PySys_SetObject), NAME(PySys_WriteStderr), NAME(PyErr_Occurred),
	NAME(PyErr_Print), NAME(PyErr_Clear), NAME(PyErr_Fetch), NAME(PyErr_NormalizeException), NAME(PyErr_WriteUnraisable),
	NAME(PyErr_ExceptionMatches), NAME(PyRun_FileExFlags), NAME(Py_CompileString), NAME(PyEval_EvalCode), NAME(PyFile_WriteObject), NAME(PyLong_AsLong),
	NAME(PyWeakref_NewRef), NAME(PyWeakref_GetObject), NAME(PyGC_Collect), NAME(PyObject_Malloc), NAME(PyOS_BeforeFork),
	NAME(PyOS_AfterFork_Child), NAME(Py_IncRef), NAME(Py_DecRef), NAME(PyExc_SystemExit), NAME(PyExc_KeyboardInterrupt), NAME(PyLong_Type), NAME(_Py_NoneStruct),
	NAME(PyLong_AsLongLongAndOverflow), NAME(PyLong_FromLongLong), NAME(PyFloat_AsDouble), NAME(PyFloat_FromDouble), NAME(PyUnicode_AsUTF8AndSize),
	NAME(PyUnicode_DecodeUTF8), NAME(PyBytes_Size), NAME(PyTuple_New), NAME(PyTuple_Size), NAME(PyTuple_GetItem), NAME(PyTuple_SetItem),
	NAME(PyObject_CallFunctionObjArgs), NAME(PyObject_Call), NAME(PyImport_GetMagicNumber), NAME(PyMarshal_ReadObjectFromString), NAME(PyErr_CheckSignals),
	NAME(PyException_SetTraceback), NAME(PyFloat_Type), NAME(PyBool_Type), NAME(PyUnicode_Type), NAME(PyBytes_Type),
	NAME(PyList_Type), NAME(PyTuple_Type), NAME(PyDict_Type), NAME(_Py_TrueStruct), NAME(_Py_FalseStruct),
};

const char *interp_find(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*names[i].at = dlsym(RTLD_DEFAULT, names[i].name);
		if (!*names[i].at)
			return names[i].name;
	}
	return NULL;
}

object *interp_compile(const char *text, const char *file)
{
	object *code = py.Py_CompileString(text, file, FILE_INPUT);

	if (!code)
		py.PyErr_Clear();
	return code;
}

void interp_run(object *code, object *globals, object *locals)
{
	if (code)
		drop_quietly(py.PyEval_EvalCode(code, globals, locals));
}

object *interp_names(const char *name)
{
	object *dict = py.PyDict_New(), *text = py.PyUnicode_DecodeFSDefault(name);

	py.PyDict_SetItemString(dict, "__name__", text);
	py.PyDict_SetItemString(dict, "__builtins__", py.PyImport_AddModule("builtins"));
	drop(text);
	return dict;
}

bool interp_alone(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	int count = 0;

	while (dir && (d = readdir(dir)))
		count += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count == 1;
}
