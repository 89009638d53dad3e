"""A two-dimensional convolution and its transpose, in the form that is fastest on the platform at hand."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

FASTEST = jax.lax.Precision.DEFAULT
"""The precision of all convolutions. Pixels have few significant digits, so the fastest mode of a GPU is good enough,
even where the rest of a step is computed more precisely."""


def conv2d(
    x: Float[Array, "c h w"], kernel: Float[Array, "o c kh kw"], stride: int, image_gradients: bool = False
) -> Float[Array, "o h2 w2"]:
    """A convolution whose output has the size of the image divided by the stride, rounded up.

    The image is first converted to the kernel's floating-point type, since JAX refuses convolutions of mixed types.
    """
    on_accelerator = _with_image_gradients if image_gradients else _by_blocks
    return jax.lax.platform_dependent(
        x.astype(kernel.dtype),
        kernel,
        cpu=lambda x, kernel: _on_cpu(x, kernel, stride),
        default=lambda x, kernel: on_accelerator(x, kernel, stride),
    )


def conv2d_transpose(
    x: Float[Array, "o h2 w2"], kernel: Float[Array, "o c kh kw"], stride: int, shape: tuple[int, int]
) -> Float[Array, "c h w"]:
    """The transpose of `conv2d`: from arrays like its output to images (c, *shape)."""
    return jax.lax.platform_dependent(
        x.astype(kernel.dtype),
        kernel,
        cpu=lambda x, kernel: _by_transposed_matmul(x, kernel, stride, shape),
        default=lambda x, kernel: _to_blocks(x, kernel, stride, shape),
    )


def side_after(size: int, stride: int, times: int) -> int:
    """The side length of an image after `times` convolutions with this stride."""
    for _ in range(times):
        size = -(-size // stride)
    return size


class _Blocks(NamedTuple):
    """How an image is cut, along one axis, into blocks of `stride` pixels, which become channels."""

    low: int
    """Zeros before the first pixel: the padding of the convolution, and `front` more that complete a block."""
    front: int
    """Zeros that complete the first block; the kernel gets as many before its first weight."""
    taps: int
    """Number of blocks that a kernel covers."""
    total: int
    """Number of pixels in all blocks."""

    @classmethod
    def along(cls, size: int, kernel: int, stride: int) -> "_Blocks":
        count = side_after(size, stride, 1)
        low = max((count - 1) * stride + kernel - size, 0) // 2
        front = -low % stride
        taps = -(-(kernel + front) // stride)
        return cls(low + front, front, taps, (count + taps - 1) * stride)


def _kernel_of_blocks(kernel: Array, stride: int, blocks: list[_Blocks]) -> Float[Array, "kh kw block o"]:
    """The kernel cut into the same blocks as the image, the pixels of a block joined with the channels."""
    outputs, channels, *sizes = kernel.shape
    around = [(b.front, b.taps * stride - b.front - size) for b, size in zip(blocks, sizes, strict=True)]
    whole = jnp.pad(kernel, ((0, 0), (0, 0), *around))
    taps = [part for b in blocks for part in (b.taps, stride)]
    whole = whole.reshape(outputs, channels, *taps).transpose(2, 4, 3, 5, 1, 0)
    return whole.reshape(blocks[0].taps, blocks[1].taps, -1, outputs)


def _stride_one(x: Array, kernel: Array, padding: str | list[tuple[int, int]]) -> Float[Array, "h w o"]:
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x[None], kernel, (1, 1), padding, dimension_numbers=layout, precision=FASTEST)[
        0
    ]


def _by_blocks(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    """As a convolution of stride 1 over blocks of pixels, channels last: a GPU computes its gradients fastest."""
    blocks = [_Blocks.along(size, k, stride) for size, k in zip(x.shape[1:], kernel.shape[2:], strict=True)]
    around = [(b.low, b.total - b.low - size, 0) for b, size in zip(blocks, x.shape[1:], strict=True)]
    pixels = jax.lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), *around))
    height, width = (b.total // stride for b in blocks)
    pixels = pixels.reshape(-1, height, stride, width, stride).transpose(1, 3, 2, 4, 0).reshape(height, width, -1)
    return _stride_one(pixels, _kernel_of_blocks(kernel, stride, blocks), "VALID").transpose(2, 0, 1)


def _to_blocks(x: Array, kernel: Array, stride: int, shape: tuple[int, int]) -> Float[Array, "c h w"]:
    """The transpose of `_by_blocks`, itself written as a convolution: a GPU supports the gradient by its kernel."""
    blocks = [_Blocks.along(size, k, stride) for size, k in zip(shape, kernel.shape[2:], strict=True)]
    turned = _kernel_of_blocks(kernel, stride, blocks)[::-1, ::-1].swapaxes(2, 3)
    pixels = _stride_one(x.transpose(1, 2, 0), turned, [(b.taps - 1, b.taps - 1) for b in blocks])
    height, width = (b.total // stride for b in blocks)
    pixels = pixels.reshape(height, width, stride, stride, -1).transpose(4, 0, 2, 1, 3)
    pixels = pixels.reshape(-1, blocks[0].total, blocks[1].total)
    around = [(-b.low, size + b.low - b.total, 0) for b, size in zip(blocks, shape, strict=True)]
    return jax.lax.pad(pixels, jnp.zeros((), x.dtype), ((0, 0, 0), *around))


def _channels_last(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    """With channels last: on a CPU three times as fast as matrix products, but its transposes are not."""
    layout = ("NHWC", "HWIO", "NHWC")
    pixels, weights = x.transpose(1, 2, 0)[None], kernel.transpose(2, 3, 1, 0)
    return jax.lax.conv_general_dilated(
        pixels, weights, (stride, stride), "SAME", dimension_numbers=layout, precision=FASTEST
    )[0].transpose(2, 0, 1)


Convolution = Callable[[Array, Array, int], Array]


def _with_matmul_gradient(value: Convolution, change_by_x: Convolution) -> Convolution:
    """A convolution whose derivative with respect to the kernel is a matrix product.

    The transpose of a matrix product is again one, even when vectorised over many images and cotangents. The transpose
    of a convolution then becomes a grouped convolution with one group for each of them, which is many times slower on
    a CPU inside a loop.
    """

    @partial(jax.custom_jvp, nondiff_argnums=(2,))
    def convolution(x: Array, kernel: Array, stride: int) -> Array:
        return value(x, kernel, stride)

    @convolution.defjvp
    def _changes(stride: int, point: tuple[Array, Array], change: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, kernel), (by_x, by_kernel) = point, change
        changed = change_by_x(by_x, kernel, stride) + _by_matmul(x, by_kernel, stride)
        return value(x, kernel, stride), changed

    return convolution


def _by_matmul(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    """As one matrix product of the weights with shifted copies of the image, joined along their channels."""
    outputs, _, *sizes = kernel.shape
    counts = [side_after(size, stride, 1) for size in x.shape[1:]]
    spans = [(count - 1) * stride + 1 for count in counts]
    missing = [max(span + k - 1 - size, 0) for span, k, size in zip(spans, sizes, x.shape[1:], strict=True)]
    pixels = jnp.pad(x.transpose(1, 2, 0), (*((m // 2, m - m // 2) for m in missing), (0, 0)))
    shifts = itertools.product(*map(range, sizes))
    shifted = [pixels[i : i + spans[0] : stride, j : j + spans[1] : stride] for i, j in shifts]
    weights = kernel.transpose(2, 3, 1, 0).reshape(-1, outputs)
    return jnp.matmul(jnp.concatenate(shifted, -1), weights, precision=FASTEST).transpose(2, 0, 1)


def _by_transposed_matmul(x: Array, kernel: Array, stride: int, shape: tuple[int, int]) -> Float[Array, "c h w"]:
    """The transpose of `_by_matmul`."""
    image = jax.ShapeDtypeStruct((kernel.shape[1], *shape), x.dtype)
    return jax.linear_transpose(lambda y: _by_matmul(y, kernel, stride), image)(x)[0]


_with_image_gradients = _with_matmul_gradient(_by_blocks, _by_blocks)
_on_cpu = _with_matmul_gradient(_channels_last, _by_matmul)
