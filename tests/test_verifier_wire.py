"""Values cross process borders unchanged, and nothing unexpected is believed."""

import contextlib
import json
import socket
import threading
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kzlib.verifier import wire

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20) | st.complex_numbers()
)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(0, 9), inner, max_size=4)
    ),
    max_leaves=12,
)


def there_and_back(value):
    tree, blobs = wire.encode(value)
    return wire.decode(json.loads(json.dumps(tree)), memoryview(b"".join(bytes(b) for b in blobs)))


@given(TREES)
def test_any_tree_of_plain_values_survives(value):
    assert repr(there_and_back(value)) == repr(value)


@given(
    hnp.arrays(
        dtype=st.sampled_from(["f4", "f8", "i8", "u1", "?", "c8"]), shape=hnp.array_shapes(max_dims=4, min_side=0)
    )
)
def test_any_tensor_survives_bit_for_bit(array):
    tensor = torch.from_numpy(array.copy())
    back = there_and_back([tensor])[0]
    assert back.dtype == tensor.dtype and back.shape == tensor.shape
    assert back.numpy().tobytes() == tensor.numpy().tobytes()


def test_strides_of_dense_tensors_survive_and_others_become_contiguous():
    x = torch.randn(2, 3, 4).permute(2, 0, 1)
    assert there_and_back(x).stride() == x.stride()
    assert torch.equal(there_and_back(x), x)
    wide = torch.randn(3, 1).expand(3, 5)
    assert there_and_back(wide).stride() == (5, 1)
    assert torch.equal(there_and_back(x[::2]), x[::2])


@pytest.mark.parametrize("value", [object(), lambda: 0, torch.nn.Linear(1, 1), torch.eye(2).to_sparse()])
def test_foreign_values_are_refused_by_name(value):
    with pytest.raises(wire.Foreign):
        wire.encode([value])


@pytest.mark.parametrize(
    "node",
    [
        {"t": "tensor", "dtype": "float32", "shape": [1 << 40], "stride": [1], "n": 4},
        {"t": "tensor", "dtype": "float32", "shape": [2], "stride": [0], "n": 8},
        {"t": "tensor", "dtype": "float32", "shape": [-1], "stride": [1], "n": 0},
        {"t": "tensor", "dtype": "object", "shape": [1], "stride": [1], "n": 8},
        {"t": "tensor", "dtype": "float32", "shape": [3], "stride": [1], "n": 12},
        {"t": "pickle", "v": "cos\nsystem"},
        {"v": 1},
        {"t": "dict", "v": [[1]]},
        {"t": "dict", "v": [[{"t": "list", "v": []}, 1]]},
    ],
)
def test_malformed_values_raise_one_kind_of_error(node):
    with pytest.raises(wire.WireError):
        wire.decode(node, memoryview(bytes(8)))


def test_bytes_left_over_are_an_error():
    with pytest.raises(wire.WireError):
        wire.decode(None, memoryview(b"x"))


@given(st.binary(max_size=64))
def test_noise_on_the_channel_never_hangs_or_escapes(noise):
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(noise)
        theirs.close()
        with pytest.raises(wire.WireError):
            wire.receive(ours, time.monotonic() + 5, limit=1 << 20)


def test_a_blob_over_the_limit_is_refused_before_it_is_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(
            target=lambda: _quietly(wire.send, theirs, torch.zeros(1 << 20), time.monotonic() + 2)
        )
        sender.start()
        with pytest.raises(wire.WireError, match="at most 1024"):
            wire.receive(ours, time.monotonic() + 5, limit=1024)
        ours.close()
        sender.join()


def _quietly(function, *args):
    with contextlib.suppress(wire.WireError, wire.Deadline):
        function(*args)


def test_a_silent_far_side_ends_at_the_deadline():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(wire.Deadline):
        wire.receive(ours, time.monotonic() + 0.05)


def test_a_channel_closed_on_this_side_reads_as_closed() -> None:
    near, far = socket.socketpair()
    near.close()
    with pytest.raises(wire.Closed):
        wire.send(near, {"late": True}, time.monotonic() + 1)
    far.close()
