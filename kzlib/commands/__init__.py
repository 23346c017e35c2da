"""Commands of `kz`: a module a command, found by `kzlib.cli`."""
