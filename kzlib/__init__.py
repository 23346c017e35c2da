"""KernelZero as a library: import the module you need by name (`from kzlib import ca_grpo`)."""
