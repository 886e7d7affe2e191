"""The lab in a small QEMU virtual machine: image, machine, snapshots, backend."""
