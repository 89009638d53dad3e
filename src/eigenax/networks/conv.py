"""Convolutions for images."""

import itertools
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.networks.base import ACTIVATIONS, Activation, HiddenLayer, Network
from eigenax.networks.block_sparse import Sparsity, initial_weights, mask


class Conv(Network):
    """Convolutions, one hidden layer and the outputs, with the paper's block sparsity across feature maps.

    Points are images (channels, height, width). The defaults are the paper's: three layers of 32 channels,
    5×5 kernels of stride 2, and 128 units. `image_gradients` is for those who want the gradients of every image and
    not their sum, as `SpIN` with `average="jacobian"` does: faster on a GPU then, and slower for all others.

    >>> import jax
    >>> Conv((2, 64, 64), 12, key=jax.random.key(0))(jnp.zeros((2, 64, 64))).shape
    (12,)
    """

    kernels: tuple[Float[Array, "outputs inputs h w"], ...]
    kernel_biases: tuple[Float[Array, " outputs"], ...]
    weights: tuple[Float[Array, "outputs inputs"], ...]
    biases: tuple[Float[Array, " outputs"], ...]
    stride: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    sparsity: Sparsity = eqx.field(static=True)
    image_gradients: bool = eqx.field(static=True, default=False)

    def __init__(
        self,
        shape: tuple[int, int, int],
        outputs: int,
        *,
        channels: tuple[int, ...] = (32, 32, 32),
        kernel: int = 5,
        stride: int = 2,
        width: int = 128,
        activation: Activation = "relu",
        sparsity: Sparsity = "isolated",
        image_gradients: bool = False,
        key: PRNGKeyArray,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}")
        self.stride, self.activation, self.sparsity = stride, activation, sparsity
        self.image_gradients = image_gradients
        layers, keys = len(channels) + 2, jax.random.split(key, len(channels) + 2)
        maps, kernels = shape[0], []
        for layer, count in enumerate(channels, start=1):
            allowed = mask(layer, layers, maps, count, outputs, sparsity)
            taps = jax.random.split(keys[layer - 1], kernel * kernel)
            weights = jax.vmap(lambda k, a=allowed: initial_weights(k, a, kernel * kernel))(taps)
            kernels.append(jnp.moveaxis(weights, 0, -1).reshape(count, maps, kernel, kernel))
            maps = count
        self.kernels = tuple(kernels)
        self.kernel_biases = tuple(jnp.zeros(count) for count in channels)
        height, width_out = (side_after(size, stride, len(channels)) for size in shape[1:])
        hidden, last = self._dense_masks(maps, height * width_out, width, outputs)
        self.weights = (initial_weights(keys[-2], hidden), initial_weights(keys[-1], last))
        self.biases = (jnp.zeros(width), jnp.zeros(outputs))

    @property
    def separate(self) -> bool:
        """The first layers are shared."""
        return False

    def last_hidden(self, x: Float[Array, "c h w"]) -> Float[Array, " width"]:
        """The values of the last hidden layer at one image."""
        act, layers = ACTIVATIONS[self.activation], len(self.kernels) + 2
        outputs = self.weights[1].shape[0]
        for layer, (kernel, bias) in enumerate(zip(self.kernels, self.kernel_biases, strict=True), start=1):
            allowed = mask(layer, layers, kernel.shape[1], kernel.shape[0], outputs, self.sparsity)
            x = convolved(x, kernel * allowed[:, :, None, None], self.stride, self.image_gradients)
            x = act(x + bias[:, None, None])
        allowed, _ = self._dense_masks(x.shape[0], x.shape[1] * x.shape[2], self.weights[0].shape[0], outputs)
        return act((self.weights[0] * allowed) @ x.ravel() + self.biases[0])

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, " k"]:
        """U at one image."""
        outputs, width = self.weights[1].shape
        layers = len(self.kernels) + 2
        allowed = mask(layers, layers, width, outputs, outputs, self.sparsity)
        return (self.weights[1] * allowed) @ self.last_hidden(x) + self.biases[1]

    def hidden(self) -> HiddenLayer:
        """The last hidden layer as functions of their own."""
        return HiddenLayer(self)

    def _dense_masks(self, maps: int, pixels: int, width: int, outputs: int) -> tuple:
        layers = len(self.kernels) + 2
        by_map = mask(layers - 1, layers, maps, width, outputs, self.sparsity)
        return by_map.repeat(pixels, axis=1), mask(layers, layers, width, outputs, outputs, self.sparsity)


def convolved(
    x: Float[Array, "c h w"], kernel: Float[Array, "o c kh kw"], stride: int, image_gradients: bool = False
) -> Float[Array, "o h2 w2"]:
    """A convolution that keeps the size but for the stride, in the way that is fastest where it runs.

    In the precision of the kernel: convolutions do not mix them.
    """
    elsewhere = _with_image_gradients if image_gradients else _by_convolution
    return jax.lax.platform_dependent(
        x.astype(kernel.dtype),
        kernel,
        cpu=lambda x, kernel: _on_a_processor(x, kernel, stride),
        default=lambda x, kernel: elsewhere(x, kernel, stride),
    )


def enlarged(
    x: Float[Array, "o h2 w2"], kernel: Float[Array, "o c kh kw"], stride: int, shape: tuple[int, int]
) -> Float[Array, "c h w"]:
    """The transpose of `convolved`, from its values to images (c, *shape)."""
    x = x.astype(kernel.dtype)
    image = jax.ShapeDtypeStruct((kernel.shape[1], *shape), x.dtype)

    def transpose(way: Convolution) -> Callable[[Array, Array], Array]:
        return lambda x, kernel: jax.linear_transpose(lambda y: way(y, kernel, stride), image)(x)[0]

    return jax.lax.platform_dependent(x, kernel, cpu=transpose(_by_products), default=transpose(_by_convolution))


def side_after(size: int, stride: int, times: int) -> int:
    """The side of an image after so many convolutions of a stride."""
    for _ in range(times):
        size = -(-size // stride)
    return size


# Pixels have few digits: what a GPU does fastest is good enough for them, whatever the rest of a step asks for.
FASTEST = jax.lax.Precision.DEFAULT


def _by_convolution(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    return jax.lax.conv_general_dilated(x[None], kernel, (stride, stride), "SAME", precision=FASTEST)[0]


def _in_last_axis(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    """With channels last, which is three times as fast as products on a processor; its transposes are not."""
    layout = ("NHWC", "HWIO", "NHWC")
    pixels, weights = x.transpose(1, 2, 0)[None], kernel.transpose(2, 3, 1, 0)
    return jax.lax.conv_general_dilated(
        pixels, weights, (stride, stride), "SAME", dimension_numbers=layout, precision=FASTEST
    )[0].transpose(2, 0, 1)


Convolution = Callable[[Array, Array, int], Array]


def _with_products(value: Convolution, change_by_x: Convolution) -> Convolution:
    """A convolution in which what the kernel changes is a product of matrices.

    The transpose of a product stays one, also for many images and cotangents at a time. That of a convolution becomes
    one with a group for each of them, and on a processor, inside a loop, is many times slower.
    """

    @partial(jax.custom_jvp, nondiff_argnums=(2,))
    def convolution(x: Array, kernel: Array, stride: int) -> Array:
        return value(x, kernel, stride)

    @convolution.defjvp
    def _changes(stride: int, point: tuple[Array, Array], change: tuple[Array, Array]) -> tuple[Array, Array]:
        (x, kernel), (by_x, by_kernel) = point, change
        changed = change_by_x(by_x, kernel, stride) + _by_products(x, by_kernel, stride)
        return value(x, kernel, stride), changed

    return convolution


def _by_products(x: Array, kernel: Array, stride: int) -> Float[Array, "o h2 w2"]:
    outputs, _, *sizes = kernel.shape
    counts = [side_after(size, stride, 1) for size in x.shape[1:]]
    spans = [(count - 1) * stride + 1 for count in counts]
    missing = [max(span + k - 1 - size, 0) for span, k, size in zip(spans, sizes, x.shape[1:], strict=True)]
    pixels = jnp.pad(x.transpose(1, 2, 0), (*((m // 2, m - m // 2) for m in missing), (0, 0)))
    places = itertools.product(*map(range, sizes))
    seen = [pixels[i : i + spans[0] : stride, j : j + spans[1] : stride] for i, j in places]
    weights = kernel.transpose(2, 3, 1, 0).reshape(-1, outputs)
    return jnp.matmul(jnp.concatenate(seen, -1), weights, precision=FASTEST).transpose(2, 0, 1)


_with_image_gradients = _with_products(_by_convolution, _by_convolution)
_on_a_processor = _with_products(_in_last_axis, _by_products)
