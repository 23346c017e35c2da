// The loader's half of abi.h: a small Python module, built once a machine, that makes a built extension's functions
// callable and serves its calls into Torch. It links nothing of Torch: the stable C functions come as addresses.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>

#include <initializer_list>

#include "abi.h"

namespace {

PyObject *torch_module, *tensor_type, *dtype_type, *device_type, *to_handle, *from_handle, *dtypes, *dtype_ids,
    *memory_formats;
kz_host host_table;

bool into(PyObject* o, kz_value& v);
PyObject* outof(kz_value& v);

void release(kz_value& v, bool borrowed) {
  if (v.kind == KZ_TENSOR && v.tensor) host_table.drop(v.tensor);
  if (v.kind == KZ_STRING && !borrowed) free(const_cast<char*>(v.text));
  if (v.kind == KZ_LIST || v.kind == KZ_TUPLE) {
    for (int64_t i = 0; i < v.length; ++i) release(v.items[i], borrowed);
    free(v.items);
  }
  v = kz_value{};
}

bool into_sequence(PyObject* o, kz_value& v) {
  v.kind = PyTuple_Check(o) ? KZ_TUPLE : KZ_LIST;
  PyObject* fast = PySequence_Fast(o, "a list or a tuple");
  if (!fast) return false;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
  v.items = static_cast<kz_value*>(calloc(size_t(n) + 1, sizeof(kz_value)));
  for (Py_ssize_t i = 0; i < n; ++i) {
    v.length = i + 1;
    if (!into(PySequence_Fast_GET_ITEM(fast, i), v.items[i])) {
      Py_DECREF(fast);
      return false;
    }
  }
  Py_DECREF(fast);
  return true;
}

// A Python object as a value; strings stay borrowed from the object.
bool into(PyObject* o, kz_value& v) {
  v = kz_value{};
  if (o == Py_None) return true;
  if (PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(tensor_type))) {
    PyObject* capsule = PyObject_CallOneArg(to_handle, o);
    if (!capsule) return false;
    v.tensor = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    Py_DECREF(capsule);
    v.kind = KZ_TENSOR;
    return v.tensor != nullptr;
  }
  if (PyBool_Check(o)) { v.kind = KZ_BOOL; v.i = o == Py_True; return true; }
  if (PyFloat_Check(o)) { v.kind = KZ_FLOAT; v.d = PyFloat_AS_DOUBLE(o); return true; }
  if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    v.text = PyUnicode_AsUTF8AndSize(o, &n);
    v.length = n;
    v.kind = KZ_STRING;
    return v.text != nullptr;
  }
  if (PyList_Check(o) || PyTuple_Check(o)) return into_sequence(o, v);
  if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(dtype_type)) {
    PyObject* id = PyDict_GetItem(dtype_ids, o);
    v.kind = KZ_DTYPE;
    v.i = id ? PyLong_AsLongLong(id) : 127;
    return true;
  }
  if (Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(device_type)) {
    PyObject* kind = PyObject_GetAttrString(o, "type");
    PyObject* index = PyObject_GetAttrString(o, "index");
    v.kind = KZ_DEVICE;
    v.i = kind && PyUnicode_CompareWithASCIIString(kind, "cuda") == 0;
    v.index = index && index != Py_None ? int32_t(PyLong_AsLong(index)) : -1;
    Py_XDECREF(kind);
    Py_XDECREF(index);
    return !PyErr_Occurred();
  }
  if (PyIndex_Check(o)) {
    PyObject* whole = PyNumber_Index(o);
    if (!whole) return false;
    v.kind = KZ_INT;
    v.i = PyLong_AsLongLong(whole);
    Py_DECREF(whole);
    return !PyErr_Occurred();
  }
  if (PyNumber_Check(o)) {
    v.kind = KZ_FLOAT;
    v.d = PyFloat_AsDouble(o);
    return !PyErr_Occurred();
  }
  PyErr_Format(PyExc_TypeError, "a %s cannot be passed to a CUDA extension", Py_TYPE(o)->tp_name);
  return false;
}

// Through the list form: the single form of PyTorch 2.13 never frees the handle.
PyObject* tensor_of(void* handle) {
  PyObject* capsule = PyCapsule_New(handle, nullptr, nullptr);
  PyObject* list = capsule ? PyList_New(1) : nullptr;
  if (!list) { Py_XDECREF(capsule); return nullptr; }
  PyList_SET_ITEM(list, 0, capsule);
  PyObject* tensors = PyObject_CallOneArg(from_handle, list);
  Py_DECREF(list);
  PyObject* tensor = tensors ? PySequence_GetItem(tensors, 0) : nullptr;
  Py_XDECREF(tensors);
  return tensor;
}

PyObject* device_of(const kz_value& v) {
  return v.index >= 0 ? PyObject_CallFunction(device_type, "si", v.i ? "cuda" : "cpu", int(v.index))
                      : PyObject_CallFunction(device_type, "s", v.i ? "cuda" : "cpu");
}

PyObject* looked_up(PyObject* table, int64_t key) {
  PyObject* k = PyLong_FromLongLong(key);
  PyObject* found = k ? PyDict_GetItem(table, k) : nullptr;
  Py_XDECREF(k);
  if (!found) PyErr_SetString(PyExc_TypeError, "this dtype or memory format is not known here");
  Py_XINCREF(found);
  return found;
}

// A value as a Python object; a tensor handle is consumed.
PyObject* outof(kz_value& v) {
  switch (v.kind) {
    case KZ_BOOL: return PyBool_FromLong(long(v.i));
    case KZ_INT: return PyLong_FromLongLong(v.i);
    case KZ_FLOAT: return PyFloat_FromDouble(v.d);
    case KZ_STRING: return PyUnicode_FromStringAndSize(v.text, v.length);
    case KZ_DTYPE: return looked_up(dtypes, v.i);
    case KZ_MEMORY_FORMAT: return looked_up(memory_formats, v.i);
    case KZ_DEVICE: return device_of(v);
    case KZ_TENSOR: {
      void* handle = v.tensor;
      v.kind = KZ_NONE;
      return tensor_of(handle);
    }
    case KZ_LIST:
    case KZ_TUPLE: {
      PyObject* out = v.kind == KZ_LIST ? PyList_New(v.length) : PyTuple_New(v.length);
      for (int64_t i = 0; out && i < v.length; ++i) {
        PyObject* one = outof(v.items[i]);
        if (!one) { Py_DECREF(out); return nullptr; }
        if (v.kind == KZ_LIST) PyList_SET_ITEM(out, i, one);
        else PyTuple_SET_ITEM(out, i, one);
      }
      return out;
    }
    default: Py_RETURN_NONE;
  }
}

// Handles in the arguments of a host call are borrowed: each is copied before Python takes one.
bool own(kz_value& v) {
  if (v.kind == KZ_TENSOR) {
    void* copied = nullptr;
    if (host_table.copy(v.tensor, &copied)) return false;
    v.tensor = copied;
  }
  if (v.kind == KZ_LIST || v.kind == KZ_TUPLE)
    for (int64_t i = 0; i < v.length; ++i)
      if (!own(v.items[i])) return false;
  return true;
}

PyObject* attribute(PyObject* base, const char* dotted) {
  Py_INCREF(base);
  char part[128];
  while (base && *dotted) {
    size_t n = strcspn(dotted, ".");
    if (n >= sizeof(part)) n = sizeof(part) - 1;
    memcpy(part, dotted, n);
    part[n] = 0;
    PyObject* next = PyObject_GetAttrString(base, part);
    Py_DECREF(base);
    base = next;
    dotted += n;
    if (*dotted == '.') ++dotted;
  }
  return base;
}

void error_text(char* error, int32_t size) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
  snprintf(error, size_t(size), "%s", utf8 ? utf8 : "an error inside Torch");
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
}

PyObject* invoke(const char* name, const kz_value* arguments, int32_t count, const char* const* names, int32_t keywords) {
  int32_t start = name[0] == '.' ? 1 : 0;
  PyObject* objects[24] = {};
  PyObject *function = nullptr, *result = nullptr, *positional = nullptr, *named = nullptr;
  int32_t made = 0;
  for (; made < count && made < 24; ++made) {
    kz_value v = arguments[made];
    if (!own(v) || !(objects[made] = outof(v))) goto done;
  }
  function = start ? PyObject_GetAttrString(objects[0], name + 1) : attribute(torch_module, name);
  positional = PyTuple_New(count - keywords - start);
  named = PyDict_New();
  if (!function || !positional || !named) goto done;
  for (int32_t i = start; i < count - keywords; ++i) {
    Py_INCREF(objects[i]);
    PyTuple_SET_ITEM(positional, i - start, objects[i]);
  }
  for (int32_t i = 0; i < keywords; ++i) PyDict_SetItemString(named, names[i], objects[count - keywords + i]);
  result = PyObject_Call(function, positional, named);
done:
  for (int32_t i = 0; i < made; ++i) Py_DECREF(objects[i]);
  Py_XDECREF(function);
  Py_XDECREF(positional);
  Py_XDECREF(named);
  return result;
}

void keep_text(kz_value& v) {
  if (v.kind == KZ_STRING) v.text = strdup(v.text);
  if (v.kind == KZ_LIST || v.kind == KZ_TUPLE)
    for (int64_t i = 0; i < v.length; ++i) keep_text(v.items[i]);
}

int32_t host_call(const char* name, const kz_value* arguments, int32_t count, const char* const* names, int32_t keywords,
                  kz_value* result, char* error, int32_t size) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject* out = invoke(name, arguments, count, names, keywords);
  bool good = out && into(out, *result);
  if (good) keep_text(*result);
  else error_text(error, size);
  Py_XDECREF(out);
  PyGILState_Release(state);
  return good ? 0 : 1;
}

bool place_keywords(const kz_function* f, PyObject* kwargs, PyObject** slots) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs, &position, &key, &value)) {
    int32_t i = 0;
    while (i < f->keywords && PyUnicode_CompareWithASCIIString(key, f->names[i]) != 0) ++i;
    if (i == f->keywords || slots[i]) {
      PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: %U", f->name, key);
      return false;
    }
    slots[i] = value;
  }
  return true;
}

PyObject* call_function(PyObject* self, PyObject* args, PyObject* kwargs) {
  auto* f = static_cast<const kz_function*>(PyCapsule_GetPointer(self, "kz_function"));
  if (!f) return nullptr;
  PyObject* slots[64] = {};
  kz_value values[64] = {}, result = {};
  char error[1024] = "";
  Py_ssize_t given = PyTuple_GET_SIZE(args);
  int32_t n = given > f->arity || f->arity > 64 ? -1 : f->arity, status = 1;
  PyObject* out = nullptr;
  if (n < 0) {
    PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: %zd given, %d taken", f->name, given, int(f->arity));
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < given; ++i) slots[i] = PyTuple_GET_ITEM(args, i);
  if (kwargs && PyDict_GET_SIZE(kwargs) && !place_keywords(f, kwargs, slots)) return nullptr;
  int32_t filled = 0;
  for (; filled < n; ++filled) {
    if (slots[filled]) {
      if (!into(slots[filled], values[filled])) { ++filled; goto done; }
    } else if (filled < f->keywords && f->defaults[filled].index == 1) {
      values[filled] = f->defaults[filled];
      if (!own(values[filled])) goto done;
    } else {
      PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: argument %d is missing", f->name, int(filled));
      goto done;
    }
  }
  status = f->call(f->function, values, n, &result, error, int32_t(sizeof(error)));
  if (status) PyErr_Format(status == 2 ? PyExc_TypeError : PyExc_RuntimeError, status == 2 ? "%s(): %s" : "%.0s%s", f->name, error);
  else out = outof(result);
done:
  for (int32_t i = 0; i < filled; ++i) release(values[i], true);
  release(result, false);
  return out;
}

PyMethodDef function_definition = {"extension_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_function)),
                                   METH_VARARGS | METH_KEYWORDS, nullptr};

// setup(torch, Tensor, to_handle, from_handle, dtypes, dtype_ids, memory_formats, addresses)
PyObject* setup(PyObject*, PyObject* args) {
  PyObject* addresses;
  if (!PyArg_ParseTuple(args, "OOOOOOOO!", &torch_module, &tensor_type, &to_handle, &from_handle, &dtypes, &dtype_ids, &memory_formats,
                        &PyTuple_Type, &addresses))
    return nullptr;
  dtype_type = PyObject_GetAttrString(torch_module, "dtype");
  device_type = PyObject_GetAttrString(torch_module, "device");
  if (!dtype_type || !device_type) return nullptr;
  for (PyObject* o : {torch_module, tensor_type, to_handle, from_handle, dtypes, dtype_ids, memory_formats}) Py_INCREF(o);
  constexpr Py_ssize_t count = Py_ssize_t(sizeof(kz_host) / sizeof(void*)) - 1;
  if (PyTuple_GET_SIZE(addresses) != count) {
    PyErr_SetString(PyExc_ValueError, "setup() takes one address for each entry of kz_host but the last");
    return nullptr;
  }
  auto** table = reinterpret_cast<void**>(&host_table);
  for (Py_ssize_t i = 0; i < count; ++i) table[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
  host_table.call = host_call;
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NONE;
}

// load(path) -> {name: callable}
PyObject* load(PyObject*, PyObject* path) {
  const char* file = PyUnicode_AsUTF8(path);
  if (!file) return nullptr;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return PyErr_Format(PyExc_ImportError, "%s", dlerror());
  auto open = reinterpret_cast<decltype(&kz_open)>(dlsym(library, "kz_open"));
  if (!open) return PyErr_Format(PyExc_ImportError, "%s is not an extension built by the verifier", file);
  const kz_function* functions;
  int32_t count;
  char error[1024] = "";
  if (open(&host_table, &functions, &count, error, int32_t(sizeof(error)))) return PyErr_Format(PyExc_ImportError, "%s", error);
  PyObject* out = PyDict_New();
  for (int32_t i = 0; out && i < count; ++i) {
    PyObject* capsule = PyCapsule_New(const_cast<kz_function*>(functions + i), "kz_function", nullptr);
    PyObject* callable = capsule ? PyCFunction_New(&function_definition, capsule) : nullptr;
    Py_XDECREF(capsule);
    if (!callable || PyDict_SetItemString(out, functions[i].name, callable)) Py_CLEAR(out);
    Py_XDECREF(callable);
  }
  return out;
}

PyMethodDef methods[] = {{"setup", setup, METH_VARARGS, nullptr}, {"load", load, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kz_glue", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_kz_glue() { return PyModule_Create(&definition); }
